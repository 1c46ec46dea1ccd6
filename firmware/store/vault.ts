/** The records of the domain, opened with the domain key: exists only while the appliance is Operational. */

import { CofferError } from '../base/error.ts'
import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { onDisk } from './failure.ts'
import { createSealedTable, type SealedTable } from './sealed-table.ts'
import { databaseOf } from './sqlite/file.ts'
import type { StoreFile } from './store.ts'
import { type Change, COLLECTIONS, type Collection, type RecordStore } from './store.ts'

export interface Vault extends RecordStore {
  readonly domainKey: Uint8Array
  /** Wipes every key; what still runs fails with `unavailable` and writes nothing. */
  close(): void
}

/** Takes over the domain key: it is wiped on close. */
export function openVault(
  store: StoreFile,
  domainKey: Uint8Array,
  random: Random,
  onDamage: (message: string) => void,
): Vault {
  const tables = Object.fromEntries(
    COLLECTIONS.map((collection) => [collection, createSealedTable(store, collection, domainKey, random, onDamage)]),
  ) as Record<Collection, SealedTable>
  let open = true

  return {
    domainKey,
    get: (collection, name) => tables[collection].get(name),
    list: (collection) => tables[collection].list(),
    isDamaged: (collection, name) => tables[collection].isDamaged(name),
    commit(changes) {
      if (!open) throw new CofferError('unavailable', 'Service not available')
      if (changes.length > 0) store.transaction(() => applyChanges(tables, changes))
    },
    close() {
      open = false
      for (const table of Object.values(tables)) table.close()
      wipe(domainKey)
    },
  }
}

/** True when records of a domain lie in the store, openable or not. */
export const holdsRecords = (store: StoreFile): boolean => {
  const database = databaseOf(store)
  return onDisk(() =>
    COLLECTIONS.some((collection) => database.prepare(`SELECT 1 FROM "${collection}" LIMIT 1`).get() !== undefined),
  )
}

function applyChanges(tables: Record<Collection, SealedTable>, changes: readonly Change[]): void {
  for (const { collection, name, value } of changes) {
    if (value === null) tables[collection].remove(name)
    else tables[collection].put(name, value)
  }
}
