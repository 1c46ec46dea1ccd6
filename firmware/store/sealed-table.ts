/** One table of sealed records, see sealed-row.ts. What the file shows is how many records of which sizes a table has. */

import type { Statement } from 'better-sqlite3'
import { CofferError, wrongState } from '../base/error.ts'
import { newSecret, wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { equalBytes } from '../crypto/seal.ts'
import { onDisk } from './failure.ts'
import { createRowSealer, type OpenedRow, type RowSealer, slotOf } from './sealed-row.ts'
import { databaseOf } from './sqlite/file.ts'
import type { Row, StoredRecord, StoreFile } from './store.ts'

const ROOM_BYTES = 4096 // of records that are borrowed; longer ones are rare
const PAGE_ROWS = 64 // read at once when listing: bounds memory where records are large, leaves the database free between
/** Below every slot: an edited one may be negative. */
export const BEFORE_FIRST = -(2n ** 63n)

type Damage = 'damaged' | 'not in its place'

/** A slot before and after a change. */
export interface Replacement {
  slot: bigint
  before: SealedRecord | null
  after: SealedRecord | null
}

/** A record and the bytes it lies on disk as; null for one that is damaged. */
interface SealedRecord {
  sealed: Uint8Array
  record: StoredRecord | null
}

export interface SealedTable {
  /** The value, or null. Throws `storage` when it is damaged or not in its place. */
  get(name: string): Uint8Array | null
  /** Every intact value, in no order. */
  list(): Generator<Uint8Array>
  /** Every row, in the order of their slots. Each record is valid until the next one. */
  rows(): Generator<SealedRecord & { slot: bigint }>
  /** The first row, or the next one after a slot, as it lies there. */
  rowAfter(slot: bigint | null): Row | undefined
  isDamaged(name: string): boolean
  /** True also for a damaged record. */
  has(name: string): boolean
  /** Call within a transaction. Throws `storage` when another name has the slot. `n`: of the change, where they are numbered. */
  put(name: string, value: Uint8Array, n?: number): Replacement
  /** Call within a transaction. */
  remove(name: string): Replacement
  /**
   * Puts a row as somebody else with the same keys has sealed it, or removes what lies there. Call within a transaction. Throws
   * `invalid` when it is not intact, or belongs elsewhere. `record`: what it holds, where that is known.
   */
  replace(slot: bigint, sealed: Uint8Array | null, record: StoredRecord | null): Replacement
  /** The record in a row of another store; null when the row is damaged or belongs to another slot. */
  opened(row: Row): StoredRecord | null
  slotOf(name: string): bigint
  /** Wipes the keys; every later call throws. */
  close(): void
}

/** `onDamage` is called for each damaged row that is met while listing. */
export function createSealedTable(
  store: StoreFile,
  table: string,
  secret: Uint8Array,
  random: Random,
  onDamage: (message: string) => void,
): SealedTable {
  const rows = createRows(store, table)
  const sealer = createRowSealer(table, secret, random)
  let open = true

  const expectOpen = (): void => {
    if (!open) throw wrongState()
  }
  const { survey, borrow, read, former, at, openedOf } = createReadings({ rows, sealer, table, onDamage, expectOpen })

  const markOf = (name: string): Uint8Array => {
    expectOpen()
    return sealer.markOf(name)
  }

  function* list(): Generator<Uint8Array> {
    expectOpen()
    for (const { record } of survey()) {
      if (record !== null) yield record.value
      expectOpen()
    }
  }

  const inspect = (name: string): 'intact' | 'damaged' | 'missing' => {
    const value = read(markOf(name))
    if (value instanceof Uint8Array) wipe(value)
    return value === null ? 'missing' : typeof value === 'string' ? 'damaged' : 'intact'
  }

  return {
    get(name) {
      const value = read(markOf(name))
      if (typeof value === 'string') throw new CofferError('storage', `A stored record of ${table} is ${value}`)
      return value
    },
    list,
    rows: borrow,
    rowAfter(slot) {
      expectOpen()
      return onDisk(() => rows.after(slot ?? BEFORE_FIRST))
    },
    isDamaged: (name) => inspect(name) === 'damaged',
    has: (name) => inspect(name) !== 'missing',
    put(name, value, n = 0) {
      const mark = markOf(name)
      const slot = slotOf(mark)
      const before = former(mark, slot)
      if (before === 'taken')
        throw new CofferError('storage', 'There is no room for a record of this name: use another name')
      const sealed = sealer.seal(mark, n, value)
      rows.put(slot, sealed)
      return { slot, before, after: { sealed, record: { slot, n, value } } }
    },
    remove(name) {
      const mark = markOf(name)
      const slot = slotOf(mark)
      const before = former(mark, slot)
      if (before === 'taken') return { slot, before: null, after: null }
      if (before !== null) rows.drop(slot)
      return { slot, before, after: null }
    },
    replace(slot, sealed, record) {
      expectOpen()
      const before = at(slot)
      if (sealed === null) {
        if (before !== null) rows.drop(slot)
        return { slot, before, after: null }
      }
      const known = record ?? openedOf({ slot, sealed })
      if (known === null)
        throw new CofferError('invalid', `A record of ${table} that came is damaged or not in its place`)
      rows.put(slot, sealed)
      return { slot, before, after: { sealed, record: known } }
    },
    opened(row) {
      expectOpen()
      return openedOf(row)
    },
    slotOf: (name) => slotOf(markOf(name)),
    close() {
      open = false
      sealer.close()
    },
  }
}

/** Records as they lie on disk, intact or not. */
interface Readings {
  /** Every row; each that is damaged is reported once. */
  survey(): Generator<SealedRecord & { slot: bigint }>
  /** The same without memory for each: every record is valid until the next one. */
  borrow(): Generator<SealedRecord & { slot: bigint }>
  /** The value of a name, what is wrong with it, or null. */
  read(mark: Uint8Array): Uint8Array | Damage | null
  /** The record in the slot of this name; `taken` by another name: at a million records a chance of 10^-7. */
  former(mark: Uint8Array, slot: bigint): SealedRecord | null | 'taken'
  at(slot: bigint): SealedRecord | null
  /** Null when the row is damaged or not in its place. */
  openedOf(row: Row): StoredRecord | null
}

interface ReadingsOptions {
  rows: Rows
  sealer: RowSealer
  table: string
  onDamage: (message: string) => void
  expectOpen: () => void
}

function createReadings({ rows, sealer, table, onDamage, expectOpen }: ReadingsOptions): Readings {
  /** Slots whose record lies elsewhere. Complete once `surveyed`. */
  const displaced = new Set<bigint>()
  const reported = new Set<bigint>()
  let surveyed = false

  const openRow = ({ slot, sealed }: Row, room?: Uint8Array): OpenedRow | Damage => {
    const opened = sealer.open(sealed, room)
    if (opened === null) return 'damaged'
    if (opened.place === slot) return opened
    // A record whose slot was edited is missing where it belongs; only it knows where that is.
    displaced.add(opened.place)
    wipe(opened.value)
    return 'not in its place'
  }

  const report = (slot: bigint, damage: Damage): void => {
    if (reported.has(slot)) return
    reported.add(slot)
    onDamage(`a stored record of ${table} is ${damage}`)
  }

  /** Intact records are opened into `room`, if it is given and large enough. */
  function* surveyIn(room: Uint8Array | undefined): Generator<SealedRecord & { slot: bigint }> {
    try {
      for (const page of rows.pages())
        for (const row of page) {
          expectOpen()
          const { slot, sealed } = row
          const opened = openRow(row, room)
          if (typeof opened === 'string') {
            report(slot, opened)
            yield { slot, sealed, record: null }
          } else yield { slot, sealed, record: { slot, n: opened.n, value: opened.value } }
        }
      surveyed = true
    } finally {
      wipe(room)
    }
  }

  const survey = () => surveyIn(undefined)
  const borrow = () => surveyIn(newSecret(ROOM_BYTES))

  const damageOfMissing = (slot: bigint): Damage | null => {
    if (!surveyed) for (const { record } of survey()) if (record !== null) wipe(record.value)
    return displaced.has(slot) ? 'not in its place' : null
  }

  const read = (mark: Uint8Array): Uint8Array | Damage | null => {
    const slot = slotOf(mark)
    const row = onDisk(() => rows.at(slot))
    if (row === undefined) return damageOfMissing(slot)
    const opened = openRow(row)
    if (typeof opened === 'string') return opened
    if (equalBytes(opened.mark, mark)) return opened.value
    wipe(opened.value)
    return null // another name has the same slot
  }

  const former = (mark: Uint8Array, slot: bigint): SealedRecord | null | 'taken' => {
    const row = rows.at(slot)
    if (row === undefined) return null
    const opened = openRow(row)
    if (typeof opened === 'string') return { sealed: row.sealed, record: null }
    if (equalBytes(opened.mark, mark)) return { sealed: row.sealed, record: { slot, n: opened.n, value: opened.value } }
    wipe(opened.value)
    return 'taken'
  }

  const openedOf = (row: Row): StoredRecord | null => {
    const opened = openRow(row)
    return typeof opened === 'string' ? null : { slot: row.slot, n: opened.n, value: opened.value }
  }

  const at = (slot: bigint): SealedRecord | null => {
    const row = rows.at(slot)
    return row === undefined ? null : { sealed: row.sealed, record: openedOf(row) }
  }

  return { survey, borrow, read, former, at, openedOf }
}

interface Rows {
  at(slot: bigint): Row | undefined
  after(slot: bigint): Row | undefined
  /** In the order of their slots, some at once: the table may be changed meanwhile. */
  pages(): Generator<Row[]>
  put(slot: bigint, sealed: Uint8Array): void
  drop(slot: bigint): void
}

function createRows(store: StoreFile, table: string): Rows {
  const database = databaseOf(store)
  const select: Statement<[bigint], Row> = database
    .prepare<[bigint], Row>(`SELECT slot, sealed FROM "${table}" WHERE slot = ?`)
    .safeIntegers()
  const selectNext: Statement<[bigint, number], Row> = database
    .prepare<[bigint, number], Row>(`SELECT slot, sealed FROM "${table}" WHERE slot > ? ORDER BY slot LIMIT ?`)
    .safeIntegers()
  const upsert = database.prepare<[bigint, Uint8Array]>(
    `INSERT INTO "${table}" (slot, sealed) VALUES (?, ?) ON CONFLICT (slot) DO UPDATE SET sealed = excluded.sealed`,
  )
  const drop = database.prepare<[bigint]>(`DELETE FROM "${table}" WHERE slot = ?`)
  return {
    at: (slot) => select.get(slot),
    after: (slot) => selectNext.get(slot, 1),
    *pages() {
      let after = BEFORE_FIRST
      for (;;) {
        const page = onDisk(() => selectNext.all(after, PAGE_ROWS))
        yield page
        const last = page.at(-1)
        if (last === undefined || page.length < PAGE_ROWS) return
        after = last.slot
      }
    },
    put: (slot, sealed) => void upsert.run(slot, sealed),
    drop: (slot) => void drop.run(slot),
  }
}
