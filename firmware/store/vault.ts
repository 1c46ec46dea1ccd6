/** The records of the domain, opened with the domain key: exists only while the appliance is Operational. */

import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { type Commit, createChangeQueue, type Outcome } from './change-queue.ts'
import { type CollectionTable, createCollectionTable } from './collection-table.ts'
import { onDisk } from './failure.ts'
import { readGeneration } from './generation.ts'
import { openHead, setOf } from './head.ts'
import { createInspection } from './inspection.ts'
import type { Replacement } from './sealed-table.ts'
import { databaseOf } from './sqlite/file.ts'
import type { RecordStore, StoreFile } from './store.ts'

const BATCH_BYTES = 100 * 1024 // of values in one transaction: bounds the time that everything else waits

export interface Vault extends RecordStore {
  readonly domainKey: Uint8Array
  /** Makes every change that waits, now. */
  settle(): void
  /**
   * Called once all who follow have been told: looks at the other records, in slices. Where one of those is missing or older than
   * it should be, no change is taken any more. Ends when all of them were seen.
   */
  watch(): Promise<void>
  /** Wipes every key; what still runs fails with `unavailable` and writes nothing. */
  close(): void
}

/** Takes over the domain key: it is wiped on close. `onDamage` is told whatever is not as it was written. */
export function openVault(
  store: StoreFile,
  domainKey: Uint8Array,
  random: Random,
  onDamage: (message: string) => void,
  collections: readonly string[],
): Vault {
  const tables = new Map(
    collections.map((collection) => [
      collection,
      createCollectionTable(store, collection, domainKey, random, onDamage),
    ]),
  )
  const tableOf = (collection: string): CollectionTable => {
    const table = tables.get(collection)
    if (table === undefined) throw new Error(`No such collection: ${collection}`)
    return table
  }
  const head = openHead(store, domainKey, random)
  const generation = onDisk(() => readGeneration(databaseOf(store)))
  const inspection = createInspection({ store, tables, head, onDamage })

  const commit: Commit = (decisions) => {
    const made: [string, Replacement][] = []
    const outcomes: Outcome[] = []
    try {
      store.transaction(() => {
        const current = inspection.head()
        const lastN = current.n
        let bytes = 0
        for (const decide of decisions) {
          if (bytes >= BATCH_BYTES) break
          const outcome = refusable(() => {
            inspection.assertTrusted()
            return decide()
          })
          outcomes.push(outcome)
          if (outcome instanceof Error) continue
          if (outcome.changes.length > 0) current.n++
          for (const { collection, name, value } of outcome.changes) {
            made.push([collection, tableOf(collection).put(name, value, current.n, setOf(current, collection))])
            bytes += value?.length ?? 0
          }
          outcome.alongside?.()
        }
        if (current.n !== lastN) head.put(current)
      })
    } catch (error) {
      for (const [collection, replacement] of made.reverse()) tableOf(collection).takeBack(replacement)
      throw error
    }
    for (const [collection, replacement] of made) inspection.note(collection, replacement)
    if (outcomes.some((outcome) => 'isBulk' in outcome && outcome.isBulk)) store.checkpoint()
    return outcomes
  }

  const queue = createChangeQueue(commit)

  return {
    domainKey,
    generation,
    get: (collection, name) => tableOf(collection).table.get(name),
    list: (collection) => tableOf(collection).table.list(),
    isDamaged: (collection, name) => tableOf(collection).table.isDamaged(name),
    slotOf: (collection, name) => tableOf(collection).table.slotOf(name),
    change: queue.add,
    follow(collection, applied) {
      inspection.admit(collection, (record) => applied(null, record))
      tableOf(collection).applied = applied
    },
    settle: queue.settle,
    watch: inspection.begin,
    close() {
      queue.close()
      inspection.close()
      head.close()
      for (const table of tables.values()) table.close()
      wipe(domainKey)
    },
  }
}

/** True when records of a domain lie in the store, openable or not. */
export const holdsRecords = (store: StoreFile, collections: readonly string[]): boolean => {
  const database = databaseOf(store)
  return onDisk(() =>
    collections.some((collection) => database.prepare(`SELECT 1 FROM "${collection}" LIMIT 1`).get() !== undefined),
  )
}

function refusable<T>(act: () => T): T | Error {
  try {
    return act()
  } catch (error) {
    if (error instanceof Error) return error
    throw error
  }
}
