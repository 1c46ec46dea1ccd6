/**
 * Finds out whether the store holds the records of its last change, and no older ones. Collections with a follower are read
 * while the follower is told of their records, the others afterwards in slices. A row that cannot be opened is damaged: it is
 * reported, and the other rows of its collection are used. If every row can be opened and the set still differs from that of the
 * head, a record was removed or an older copy put back, and the collection is refused.
 */

import { defined } from '../base/defined.ts'
import { CofferError } from '../base/error.ts'
import type { CollectionTable } from './collection-table.ts'
import { createWalk } from './collection-walk.ts'
import { type Head, type HeadRow, setOf } from './head.ts'
import { differenceOf, emptySet, isSameSet, merge, type RecordSet } from './record-set.ts'
import type { Replacement } from './sealed-table.ts'
import type { StoredRecord, StoreFile } from './store.ts'

export interface Inspection {
  /** As it is stored; made from what there is where there is none. */
  head(): Head
  /** Tells of every intact record. Throws `storage` when the collection is not that of the last change. */
  admit(collection: string, load: (record: StoredRecord) => void): void
  /** Throws `storage` once records were found that are not those of the last change. */
  assertTrusted(): void
  /** Puts down what was found so far, but of a copy, and looks at the collections that were not admitted. Ends when it has seen all. */
  begin(): Promise<void>
  /** Records were found that cannot be opened, or are not those of the last change. */
  readonly isDamaged: boolean
  /** Why what lies here is not to be believed, or null. */
  readonly distrust: string | null
  /** The records lie elsewhere, too: those that are damaged, or not to be believed, are told of and will be replaced. */
  isCopy: boolean
  /** A change has replaced a row that could not be opened, and leaves this head. Call within its transaction; not of a copy. */
  takeAsItIs(collection: string, current: Head): void
  /** A row was met that cannot be opened. */
  noteDamage(): void
  /** All that lies there was replaced by what is intact. */
  noteRepair(): void
  /** A change is on disk. */
  note(collection: string, replacement: Replacement): void
  close(): void
}

interface InspectionServices {
  store: StoreFile
  tables: ReadonlyMap<string, CollectionTable>
  head: HeadRow
  onDamage: (message: string) => void
}

export function createInspection({ store, tables, head, onDamage }: InspectionServices): Inspection {
  const admitted = new Set<string>()
  /** By how much sets with damaged rows differ from what the head says. */
  const residues = new Map<string, RecordSet>()
  let trustsWhatIsThere = false
  const walk = createWalk(tables)
  let distrust: string | null = null
  let isOpen = true
  let isDamaged = false
  let isCopy = false
  let repairs = 0

  const tableOf = (collection: string): CollectionTable => defined(tables.get(collection))

  /** A store from before there were heads, or the backup of one: what lies there is taken as it is. */
  function computeHead(): Head {
    const computed: Head = { n: 0, sets: new Map() }
    for (const collection of tables.keys()) addRows(collection, setOf(computed, collection))
    return computed
  }

  function addRows(collection: string, set: RecordSet): void {
    const { table, hash } = tableOf(collection)
    for (let row = table.rowAfter(null); row !== undefined; row = table.rowAfter(row.slot))
      hash.add(set, row.slot, row.sealed)
  }

  function admit(collection: string, load: (record: StoredRecord) => void): void {
    const stored = head.read()
    if (stored === null) trustsWhatIsThere = true
    const set = emptySet()
    let damaged = 0
    const { table, hash } = tableOf(collection)
    for (const { slot, sealed, record } of table.rows()) {
      hash.add(set, slot, sealed)
      if (record === null) damaged++
      else {
        if (stored === null && record.n > 0 && distrust === null)
          refuse(collection, 'what says which there must be is missing')
        load(record)
      }
    }
    admitted.add(collection)
    if (damaged > 0) isDamaged = true // also where the head has it as it lies there
    if (stored !== null) judge(collection, setOf(stored, collection), set, damaged)
  }

  /** Throws `storage` where these are the only ones. */
  function judge(collection: string, expected: RecordSet, found: RecordSet, damaged: number): void {
    if (isSameSet(expected, found)) return
    if (damaged === 0) {
      const missing = expected.count - found.count
      refuse(collection, missing > 0 ? `${missing} of them missing` : 'an older copy was put back')
      return
    }
    isDamaged = true
    residues.set(collection, differenceOf(found, expected))
    onDamage(untold(collection))
  }

  function refuse(collection: string, why: string): void {
    distrust = `The stored records of ${collection} are not those of the last change: ${why}`
    onDamage(distrust)
    if (!isCopy) throw new CofferError('storage', distrust)
  }

  /**
   * Damage that cannot be told apart any further is accepted from now on, so that later changes can be followed. Not in a copy,
   * whose head is the one that all nodes have: it reports the damage until the damaged rows were replaced.
   */
  function settle(): void {
    if (isCopy || (!trustsWhatIsThere && residues.size === 0)) return
    store.transaction(() => {
      const current = head.read() ?? computeHead()
      for (const [collection, residue] of residues) merge(setOf(current, collection), residue)
      head.put(current)
    })
    trustsWhatIsThere = false
    residues.clear()
  }

  /** The hash of a row before its damage is lost and cannot be taken from the set: the set is computed anew from the rows that are there. */
  function takeAsItIs(collection: string, current: Head): void {
    const expected = setOf(current, collection)
    const found = emptySet()
    addRows(collection, found)
    residues.delete(collection)
    if (isSameSet(expected, found)) return // it was damaged when it was admitted
    merge(expected, differenceOf(found, expected))
    onDamage(untold(collection))
  }

  async function inspectRest(): Promise<void> {
    for (const collection of tables.keys()) if (!admitted.has(collection)) await inspect(collection)
  }

  async function inspect(collection: string): Promise<void> {
    const found = await walk.through(collection)
    const expected = setOf(head.read() ?? computeHead(), collection)
    if (isSameSet(expected, found)) return
    const residue = differenceOf(found, expected)
    const before = repairs
    const damaged = await walk.countDamaged(collection)
    if (repairs > before) return inspect(collection) // none are left, and none are missing
    judge(collection, emptySet(), residue, damaged)
    settle()
  }

  function trySettling(): void {
    try {
      settle()
    } catch (error) {
      noteFailure(error)
    }
  }

  function noteFailure(error: unknown): void {
    if (!(error instanceof CofferError)) throw error
    if (distrust === null && isOpen) onDamage(`looking at the stored records: ${error.message}`)
  }

  return {
    head: () => head.read() ?? computeHead(),
    admit,
    assertTrusted() {
      if (distrust !== null) throw new CofferError('storage', distrust)
    },
    begin() {
      trySettling()
      return inspectRest().catch(noteFailure)
    },
    get isDamaged() {
      return isDamaged || distrust !== null
    },
    get distrust() {
      return distrust
    },
    get isCopy() {
      return isCopy
    },
    set isCopy(is) {
      isCopy = is
      trySettling() // what was found while it was one
    },
    takeAsItIs,
    noteDamage() {
      isDamaged = true
    },
    noteRepair() {
      repairs++
      isDamaged = false
      distrust = null
      residues.clear()
    },
    note: walk.note,
    close() {
      isOpen = false
      walk.close()
    },
  }
}

const untold = (collection: string): string =>
  `since records of ${collection} are damaged, it cannot be told whether others of them are the latest`
