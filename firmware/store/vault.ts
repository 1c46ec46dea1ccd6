/** The records of the domain, opened with the domain key: exists only while the appliance is Operational. */

import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { type ChangeOutcome, type Commit, createChangeQueue, type Decide } from './change-queue.ts'
import { type CollectionTable, createCollectionTable } from './collection-table.ts'
import { onDisk } from './failure.ts'
import { adoptGeneration, readGeneration } from './generation.ts'
import { type Head, openHead, setOf } from './head.ts'
import { createInspection } from './inspection.ts'
import { databaseOf } from './sqlite/file.ts'
import type { Decision, RecordStore, StoreFile } from './store.ts'
import { createVaultCopy, damagedIn, type Made, type VaultCopy } from './vault-copy.ts'

const BATCH_BYTES = 100 * 1024 // of values in one transaction: bounds the time that everything else waits
const BATCH_ROWS = 500 // of all of its changes

export interface Vault extends RecordStore {
  readonly domainKey: Uint8Array
  /** True if records were found that cannot be opened, or are not those of the last change. */
  readonly hasDamage: boolean
  /** Makes every change that waits, now. */
  settle(): void
  /** The same before `close`: nobody who claimed the store stops it. */
  settleLast(): void
  /** From now on changes are made by this, and reach the records through the copy that they are of. */
  replicate(change: <T>(decide: () => Decision<T>) => Promise<T>): VaultCopy
  /** Undoes `replicate`: changes are made here again. */
  standAlone(): void
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
  let isClosing = false
  let generation = onDisk(() => readGeneration(databaseOf(store)))
  const inspection = createInspection({ store, tables, head, onDamage })

  /** Call within a transaction. Makes the first of these decisions, as many as it takes at once, one on what the other left. */
  function decideAll(decisions: readonly Decide[], current: Head, made: Made[]): ChangeOutcome[] {
    const outcomes: ChangeOutcome[] = []
    let bytes = 0
    for (const decide of decisions) {
      if (bytes >= BATCH_BYTES || made.length >= BATCH_ROWS) break
      const outcome = refusable(() => {
        inspection.assertTrusted()
        return decide()
      })
      outcomes.push(outcome)
      if (outcome instanceof Error) continue
      if (outcome.changes.length > 0) current.n++
      for (const { collection, name, value } of outcome.changes) {
        made.push({
          collection,
          replacement: tableOf(collection).put(name, value, current.n, setOf(current, collection)),
        })
        bytes += value?.length ?? 0
      }
    }
    return outcomes
  }

  /** Notes the changes that reached the disk and takes back the others. */
  function making<T>(make: (made: Made[]) => T): T {
    const made: Made[] = []
    try {
      const result = make(made)
      for (const { collection, replacement } of made) inspection.note(collection, replacement)
      return result
    } catch (error) {
      for (const { collection, replacement } of made.reverse()) tableOf(collection).takeBack(replacement)
      throw error
    }
  }

  const commit: Commit = (decisions) => {
    const transaction = isClosing ? store.lastTransaction : store.transaction
    let outcomes: ChangeOutcome[] = []
    making((made) =>
      transaction(() => {
        const current = inspection.head()
        const lastN = current.n
        outcomes = decideAll(decisions, current, made)
        for (const outcome of outcomes) if (!(outcome instanceof Error)) outcome.withinTransaction?.()
        for (const collection of damagedIn(made)) inspection.takeAsItIs(collection, current)
        if (current.n !== lastN) head.put(current)
      }),
    )
    if (outcomes.some((outcome) => 'isBulk' in outcome && outcome.isBulk)) store.checkpoint()
    return outcomes
  }

  const queue = createChangeQueue(commit)
  let change: RecordStore['change'] = queue.add

  return {
    domainKey,
    get hasDamage() {
      return inspection.isDamaged
    },
    get generation() {
      return generation
    },
    get: (collection, name) => tableOf(collection).table.get(name),
    list: (collection) => tableOf(collection).table.list(),
    isDamaged: (collection, name) => tableOf(collection).table.isDamaged(name),
    slotOf: (collection, name) => tableOf(collection).table.slotOf(name),
    change: (decide) => change(decide),
    follow(collection, applied) {
      inspection.admit(collection, (record) => applied(null, record, record.slot))
      tableOf(collection).applied = applied
    },
    settle: queue.settle,
    settleLast() {
      isClosing = true
      queue.settle()
    },
    replicate(through) {
      queue.settle()
      change = through
      inspection.isCopy = true
      return createVaultCopy({
        ...{ store, tables, head, inspection, decideAll, making },
        putGeneration: (next) => adoptGeneration(databaseOf(store), next),
        noteGeneration(next) {
          generation = next
        },
      })
    },
    standAlone() {
      change = queue.add
      inspection.isCopy = false
    },
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
