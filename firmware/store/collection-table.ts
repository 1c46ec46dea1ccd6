/** One collection of the vault: its rows, the hash of its set, and who follows it. */

import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { createSetHash, type RecordSet, type SetHash } from './record-set.ts'
import { createSealedTable, type Replacement, type SealedTable } from './sealed-table.ts'
import type { Applied, StoredRecord, StoreFile } from './store.ts'

export interface CollectionTable {
  readonly table: SealedTable
  readonly hash: SetHash
  applied: Applied | null
  /** Call within a transaction. Followers are told at once, since the next decision reads what they hold. */
  put(name: string, value: Uint8Array | null, n: number, set: RecordSet): Replacement
  /** The same with a row as somebody else has sealed it: sealed-table.ts. */
  replace(slot: bigint, sealed: Uint8Array | null, record: StoredRecord | null, set: RecordSet): Replacement
  /** Undoes what followers were told: it did not reach the disk. */
  takeBack(replacement: Replacement): void
  /** Wipes the keys. */
  close(): void
}

export function createCollectionTable(
  store: StoreFile,
  collection: string,
  domainKey: Uint8Array,
  random: Random,
  onDamage: (message: string) => void,
): CollectionTable {
  const table = createSealedTable(store, collection, domainKey, random, onDamage)
  const hash = createSetHash(collection, domainKey)
  const notify = (slot: bigint, from: Replacement['before'], to: Replacement['after']): void => {
    if (self.applied === null || (from === null && to === null)) return
    self.applied(from?.record ?? null, to?.record ?? null, slot)
  }
  /** `set` then matches the disk, and so do the followers. */
  const noted = (replacement: Replacement, set: RecordSet): Replacement => {
    const { slot, before, after } = replacement
    if (before !== null) hash.remove(set, slot, before.sealed)
    if (after !== null) hash.add(set, slot, after.sealed)
    notify(slot, before, after)
    if (self.applied === null && before?.record) wipe(before.record.value)
    return replacement
  }
  const self: CollectionTable = {
    table,
    hash,
    applied: null,
    put(name, value, n, set) {
      return noted(value === null ? table.remove(name) : table.put(name, value, n), set)
    },
    replace: (slot, sealed, record, set) => noted(table.replace(slot, sealed, record), set),
    takeBack: ({ slot, before, after }) => notify(slot, after, before),
    close() {
      table.close()
      hash.close()
    },
  }
  return self
}
