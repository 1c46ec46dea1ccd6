/** A walk through the rows of a collection in slices, beside which requests are served and changes go on. */

import { defined } from '../base/defined.ts'
import { wipe } from '../base/secret.ts'
import type { CollectionTable } from './collection-table.ts'
import { emptySet, type RecordSet } from './record-set.ts'
import type { Replacement } from './sealed-table.ts'

const SLICE_MS = 5 // of work, in which nothing else is served
const PAUSE_MS = 45 // 200,000 records take about a second of work: ten in all

interface CollectionWalk {
  /** Gives the set of all rows as they are at its end. One at a time; never ends once it is closed. */
  through(collection: string): Promise<RecordSet>
  /** How many rows cannot be opened. */
  countDamaged(collection: string): Promise<number>
  /** A change is on disk. */
  note(collection: string, replacement: Replacement): void
  close(): void
}

interface Position {
  collection: string
  set: RecordSet
  /** The last slot that was looked at. */
  at: bigint
}

export function createWalk(tables: ReadonlyMap<string, CollectionTable>): CollectionWalk {
  let walk: Position | null = null
  let isOpen = true

  async function through(collection: string): Promise<RecordSet> {
    const { table, hash } = defined(tables.get(collection))
    const set = emptySet()
    let until = 0
    for (let row = table.rowAfter(null); row !== undefined; row = table.rowAfter(walk.at)) {
      hash.add(set, row.slot, row.sealed)
      walk = { collection, set, at: row.slot }
      if (performance.now() > until) until = await pause()
    }
    walk = null
    return set
  }

  async function countDamaged(collection: string): Promise<number> {
    let damaged = 0
    let until = 0
    for (const { record } of defined(tables.get(collection)).table.rows()) {
      if (record === null) damaged++
      else wipe(record.value)
      if (performance.now() > until) until = await pause()
    }
    return damaged
  }

  /** Gives when the next slice is over; never ends once the vault is closed. */
  const pause = (): Promise<number> =>
    new Promise((resolve) => {
      setTimeout(() => {
        if (isOpen) resolve(performance.now() + SLICE_MS)
      }, PAUSE_MS).unref()
    })

  return {
    through,
    countDamaged,
    note(collection, { slot, before, after }) {
      if (walk?.collection !== collection || slot > walk.at) return
      const { hash } = defined(tables.get(collection))
      if (before !== null) hash.remove(walk.set, slot, before.sealed)
      if (after !== null) hash.add(walk.set, slot, after.sealed)
    },
    close() {
      isOpen = false
    },
  }
}
