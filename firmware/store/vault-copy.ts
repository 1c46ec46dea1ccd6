/**
 * The vault as a copy of records that several nodes share: what this node decides on is drafted, not made, and every change, its own
 * or another's, is adopted once all have agreed on it. A change brings the head that it leaves, and is refused as a whole where the
 * records here do not come to the same sets.
 */

import { defined } from '../base/defined.ts'
import { CofferError } from '../base/error.ts'
import { wipe } from '../base/secret.ts'
import { equalBytes } from '../crypto/seal.ts'
import type { ChangeOutcome, Decide } from './change-queue.ts'
import type { CollectionTable } from './collection-table.ts'
import { type Head, type HeadRow, setOf } from './head.ts'
import type { Inspection } from './inspection.ts'
import { areSameSets, type RecordSet } from './record-set.ts'
import type { Replacement } from './sealed-table.ts'
import type { Row, StoredRecord, StoreFile } from './store.ts'

/** One row that comes, or goes where `sealed` is null. */
export interface Step {
  collection: string
  slot: bigint
  sealed: Uint8Array | null
  /** Its record, if this node decided on the change. */
  record: StoredRecord | null
}

export interface ChangeDraft {
  /** Outcomes of the first decisions, as many as were taken. */
  outcomes: readonly ChangeOutcome[]
  /** In their order: a slot may come twice. */
  steps: readonly Step[]
  /** After all of them. */
  head: Head
}

/** `withinTransaction`: what else changes in the same transaction, in which all of it is there. */
interface SnapshotInstall {
  head: Head
  withinTransaction: () => void
}

export interface VaultCopy {
  head(): Head
  /**
   * Decides on what lies here and changes nothing; who follows is told of every step, and that it is taken back. Throws `busy` where a
   * damaged row would be replaced: nobody else could adopt that.
   */
  draft(decisions: readonly Decide[]): ChangeDraft
  /** Rows differ from the head or cannot be opened; true until all were compared. */
  readonly isDamaged: boolean
  /** Why it is not even to be read, or null. */
  readonly distrust: string | null
  /** Every row of every collection, as it lies here while nothing changes. Throws `storage` at one that is damaged. */
  rows(): Generator<{ collection: string; row: Row }>
  /** Summarizes rows of another node. */
  weigh(): Weighing
  /**
   * All or nothing. Throws `invalid` for a row that is not intact and for other sets, `storage` where the disk failed, `busy` as `draft`
   * does.
   */
  adopt(steps: readonly Step[], adoption: SnapshotInstall): void
  /**
   * Begins to compare all that lies here with all that lies elsewhere. Nothing is adopted until it has ended; or, `inPieces`, where
   * nobody relies on what lies here before it has, some records after others.
   */
  compare(inPieces?: boolean): CopyComparison
}

interface Weighing {
  /** Throws `invalid` for a row that is not intact, and when slots of a collection do not come in their order. */
  add(collection: string, row: Row): void
  /** Number of the newest change that has written one of them, and their sets. */
  readonly head: Head
}

/**
 * Everything that lies elsewhere, at one moment. What differs is kept in memory until all of it has come, but for pieces. Both go on
 * step by step, between which others get their turn while nothing changes here: base/slices.ts.
 */
export interface CopyComparison {
  /** Throws `invalid` when slots of a collection do not come in their order, or it is unknown. */
  add(collection: string, row: Row): Generator<void>
  /**
   * Makes what lies here the same, in several transactions where much differs. Throws as the vault does; `invalid`, and whatever
   * ends the first transaction, has changed nothing. `partly`: what else changes in those before the last.
   */
  adopt(adoption: SnapshotInstall & { generation: string; partly: () => void }): Generator<void>
}

export interface Made {
  collection: string
  replacement: Replacement
}

/** Collections of which a row that could not be opened was replaced. */
export const damagedIn = (made: readonly Made[]): ReadonlySet<string> =>
  new Set(made.filter(({ replacement: { before } }) => before?.record === null).map(({ collection }) => collection))

interface VaultParts {
  store: StoreFile
  tables: ReadonlyMap<string, CollectionTable>
  head: HeadRow
  inspection: Inspection
  decideAll(decisions: readonly Decide[], current: Head, made: Made[]): ChangeOutcome[]
  /** Notes what reached the disk, and takes back the rest. */
  making<T>(make: (made: Made[]) => T): T
  /** Call within a transaction. */
  putGeneration(generation: string): void
  /** It is on disk. */
  noteGeneration(generation: string): void
}

const PIECE_ROWS = 100 // in one turn: 2 ms of processor time, now and then 15
const PIECE_BYTES = 1024 * 1024

/** Its records refer to those of others: they come after them, and go before them. */
const REFERRING = 'keys'

const ROLLBACK = Symbol('nothing is to be kept')

export function createVaultCopy(parts: VaultParts): VaultCopy {
  const { store, tables, head, inspection, decideAll, making } = parts

  const tableOf = (collection: string): CollectionTable => {
    const table = tables.get(collection)
    if (table === undefined) throw new CofferError('invalid', 'Records came of a collection that this software lacks')
    return table
  }

  function draft(decisions: readonly Decide[]): ChangeDraft {
    const steps: Step[] = []
    const current = inspection.head()
    let outcomes: readonly ChangeOutcome[] = []
    try {
      making((made) =>
        store.adopt(() => {
          outcomes = decideAll(decisions, current, made)
          expectNoDamage(made)
          if (outcomes.some((outcome) => 'withinTransaction' in outcome))
            throw new Error('What is of one node changes alone')
          for (const { collection, replacement } of made) steps.push(stepOf(collection, replacement))
          throw ROLLBACK
        }),
      )
    } catch (error) {
      if (error !== ROLLBACK) throw error
    }
    return { outcomes, steps, head: current }
  }

  /** A set from which a damaged row was taken matches that of no other node. */
  function expectNoDamage(made: readonly Made[]): void {
    if (damagedIn(made).size === 0) return
    inspection.noteDamage()
    throw new CofferError('busy', 'A stored record is damaged and comes from the others first, try again')
  }

  function put(steps: readonly Step[], made: Made[], sets: Head): void {
    for (const { collection, slot, sealed, record } of steps)
      made.push({ collection, replacement: tableOf(collection).replace(slot, sealed, record, setOf(sets, collection)) })
  }

  /** Its head tells of what lies here, with the number of before: nothing older is taken for what is to come. */
  function putPiece(steps: readonly Step[], partly = (): void => {}): void {
    change(steps, (made) => {
      const current = inspection.head()
      put(steps, made, current)
      head.put(current)
      partly()
    })
  }

  /** Throws `invalid` for one that is not intact. */
  function* expectIntact(steps: Iterable<Step>): Generator<void> {
    for (const { collection, slot, sealed } of steps) {
      if (sealed !== null) wipe(openedOf(collection, { slot, sealed }).value)
      yield
    }
  }

  const openedOf = (collection: string, row: Row): StoredRecord => {
    const record = tableOf(collection).table.opened(row)
    if (record === null)
      throw new CofferError('invalid', `A record of ${collection} that came is damaged or not in its place`)
    return record
  }

  /** Runs this in a transaction; opened records are wiped after it, but for those that this node has decided on. */
  function change(steps: readonly Step[], make: (made: Made[]) => void): void {
    const own = new Set(steps.map(({ record }) => record))
    making((made) => {
      store.adopt(() => make(made))
      for (const { after } of made.map(({ replacement }) => replacement))
        if (after?.record && !own.has(after.record)) wipe(after.record.value)
    })
  }

  return {
    head: () => inspection.head(),
    get isDamaged() {
      return inspection.isDamaged
    },
    get distrust() {
      return inspection.distrust
    },
    draft,
    *rows() {
      for (const [collection, { table }] of tables) {
        for (const { slot, sealed, record } of table.rows()) {
          if (record === null) throw new CofferError('storage', `A stored record of ${collection} is damaged`)
          yield { collection, row: { slot, sealed } }
        }
      }
    },
    weigh() {
      const weighed: Head = { n: 0, sets: new Map() }
      const inOrder = createOrder()
      return {
        head: weighed,
        add(collection, row) {
          inOrder(collection, row.slot)
          const { n, value } = openedOf(collection, row)
          wipe(value)
          weighed.n = Math.max(weighed.n, n)
          tableOf(collection).hash.add(setOf(weighed, collection), row.slot, row.sealed)
        },
      }
    },
    adopt(steps, { head: next, withinTransaction }) {
      change(steps, (made) => {
        const current = inspection.head()
        put(steps, made, current)
        expectNoDamage(made)
        expectSets(current.sets, next.sets)
        head.put(next)
        withinTransaction()
      })
    },
    compare(inPieces = false) {
      const comparison = createComparison(tableOf, [...tables.keys()])
      return {
        *add(collection, row) {
          yield* comparison.add(collection, row)
          if (inPieces && isPiece(comparison.rows, comparison.bytes)) putPiece(comparison.take())
        },
        *adopt({ head: next, generation, withinTransaction, partly }) {
          const { steps, found } = yield* comparison.end()
          expectSets(found.sets, next.sets)
          if (comparison.rows > 1) yield* expectIntact(steps())
          let last: readonly Step[] = []
          for (const piece of piecesOf(steps())) {
            if (last.length > 0) {
              putPiece(last, partly)
              yield
            }
            last = piece
          }
          change(last, (made) => {
            put(last, made, inspection.head()) // whose own sets may tell of damage that now goes
            head.put(next)
            parts.putGeneration(generation)
            withinTransaction()
          })
          inspection.noteRepair()
          parts.noteGeneration(generation)
        },
      }
    },
  }
}

const isPiece = (rows: number, bytes: number): boolean => rows >= PIECE_ROWS || bytes >= PIECE_BYTES

const stepOf = (collection: string, { slot, after }: Replacement): Step => ({
  collection,
  slot,
  sealed: after?.sealed ?? null,
  record: after?.record ?? null,
})

function expectSets(found: ReadonlyMap<string, RecordSet>, expected: ReadonlyMap<string, RecordSet>): void {
  if (!areSameSets(found, expected))
    throw new CofferError('invalid', 'The records that came are not those of their head')
}

function* piecesOf(steps: Iterable<Step>): Generator<readonly Step[]> {
  let piece: Step[] = []
  let bytes = 0
  for (const step of steps) {
    piece.push(step)
    bytes += step.sealed?.length ?? 0
    if (!isPiece(piece.length, bytes)) continue
    yield piece
    piece = []
    bytes = 0
  }
  if (piece.length > 0) yield piece
}

/** A record that others refer to is added first and removed last. */
const rankOf = ({ collection, sealed }: Step): number =>
  collection === REFERRING ? (sealed === null ? 2 : 1) : sealed === null ? 3 : 0

/** Throws `invalid` unless slots of a collection come one after the other. */
function createOrder(): (collection: string, slot: bigint) => void {
  const last = new Map<string, bigint>()
  return (collection, slot) => {
    const before = last.get(collection)
    if (before !== undefined && slot <= before)
      throw new CofferError('invalid', 'The records that came are not in their order')
    last.set(collection, slot)
  }
}

/** Both sides come in the order of their slots. */
function createComparison(tableOf: (collection: string) => CollectionTable, collections: readonly string[]) {
  const found: Head = { n: 0, sets: new Map() }
  let ranks: Step[][] = [[], [], [], []]
  let rows = 0
  let bytes = 0
  const cursors = new Map<string, { next: Row | undefined }>()
  const inOrder = createOrder()

  const cursorOf = (collection: string) => {
    const cursor = cursors.get(collection) ?? { next: tableOf(collection).table.rowAfter(null) }
    cursors.set(collection, cursor)
    return cursor
  }

  /** Removes rows below a slot that were not among those received. */
  function* dropBelow(collection: string, slot: bigint | null): Generator<void> {
    const cursor = cursorOf(collection)
    const { table } = tableOf(collection)
    while (cursor.next !== undefined && (slot === null || cursor.next.slot < slot)) {
      push({ collection, slot: cursor.next.slot, sealed: null, record: null })
      cursor.next = table.rowAfter(cursor.next.slot)
      yield
    }
  }

  const push = (step: Step): void => {
    defined(ranks[rankOf(step)]).push(step)
    rows++
    bytes += step.sealed?.length ?? 0
  }

  function* steps(): Generator<Step> {
    for (const some of ranks) yield* some
  }

  return {
    get rows() {
      return rows
    },
    get bytes() {
      return bytes
    },
    /** The differences found so far. */
    take(): readonly Step[] {
      const taken = ranks.flat()
      ranks = [[], [], [], []]
      rows = 0
      bytes = 0
      return taken
    },
    *add(collection: string, { slot, sealed }: Row): Generator<void> {
      const { hash, table } = tableOf(collection)
      const cursor = cursorOf(collection)
      inOrder(collection, slot)
      hash.add(setOf(found, collection), slot, sealed)
      yield* dropBelow(collection, slot)
      const present = cursor.next?.slot === slot ? cursor.next : undefined
      if (present === undefined || !equalBytes(present.sealed, sealed)) push({ collection, slot, sealed, record: null })
      if (present !== undefined) cursor.next = table.rowAfter(slot)
      yield
    },
    *end(): Generator<void, { steps: () => Iterable<Step>; found: Head }> {
      for (const collection of collections) yield* dropBelow(collection, null)
      return { steps, found }
    },
  }
}
