/**
 * One table of sealed records: `secretbox(record key, nonce, format || mark || value)`, where the mark is a keyed hash of
 * the name. Its beginning is the number of the slot the record lies in, and the mark inside binds the value to its
 * place. What the file shows is how many records of which sizes a table has.
 */

import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import type { Statement } from 'better-sqlite3'
import { CofferError } from '../base/error.ts'
import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { deriveSealKey, equalBytes, seal, unseal } from '../crypto/seal.ts'
import { onDisk } from './failure.ts'
import { databaseOf } from './sqlite/file.ts'
import type { Row, StoreFile } from './store.ts'

const FORMAT = 1 // of the sealed bytes
const MARK_BYTES = 16
const VALUE_OFFSET = 1 + MARK_BYTES
const PAGE_ROWS = 64 // read at once when listing: bounds memory where records are large, leaves the database free between
/** Below every slot: an edited one may be negative. */
export const BEFORE_FIRST = -(2n ** 63n)

type Damage = 'damaged' | 'not in its place'

export interface SealedTable {
  /** The value, or null. Throws `storage` when it is damaged or not in its place. */
  get(name: string): Uint8Array | null
  /** Every intact value, in no order. */
  list(): Generator<Uint8Array>
  isDamaged(name: string): boolean
  /** True also for a damaged record. */
  has(name: string): boolean
  /** Call within a transaction. Throws `storage` when another name has the slot. */
  put(name: string, value: Uint8Array): void
  /** Call within a transaction. */
  remove(name: string): void
  /** Wipes the keys; every later call throws. */
  close(): void
}

/** `onDamage` hears of each damaged row that is met while listing. */
export function createSealedTable(
  store: StoreFile,
  table: string,
  secret: Uint8Array,
  random: Random,
  onDamage: (message: string) => void,
): SealedTable {
  const database = databaseOf(store)
  const recordKey = recordKeyOf(secret, table)
  const nameKey = nameKeyOf(secret, table)
  const names = hmac.create(sha256, nameKey)
  const select: Statement<[bigint], Row> = database
    .prepare<[bigint], Row>(`SELECT slot, sealed FROM "${table}" WHERE slot = ?`)
    .safeIntegers()
  const selectNext: Statement<[bigint], Row> = database
    .prepare<[bigint], Row>(`SELECT slot, sealed FROM "${table}" WHERE slot > ? ORDER BY slot LIMIT ${PAGE_ROWS}`)
    .safeIntegers()
  const upsert = database.prepare(
    `INSERT INTO "${table}" (slot, sealed) VALUES (?, ?) ON CONFLICT (slot) DO UPDATE SET sealed = excluded.sealed`,
  )
  const drop = database.prepare(`DELETE FROM "${table}" WHERE slot = ?`)

  /** Slots whose record lies elsewhere. Complete once `surveyed`. */
  const displaced = new Set<bigint>()
  const reported = new Set<bigint>()
  let surveyed = false
  let open = true

  const expectOpen = (): void => {
    if (!open) throw new CofferError('unavailable', 'Service not available')
  }

  const markOf = (name: string): Uint8Array => {
    expectOpen()
    return names.clone().update(utf8ToBytes(name)).digest().subarray(0, MARK_BYTES)
  }

  /** The plaintext of a row that is intact and in its place. */
  const openRow = ({ slot, sealed }: Row): Uint8Array | Damage => {
    const plain = unsealRow(recordKey, sealed)
    if (plain === null) return 'damaged'
    const place = slotOf(markIn(plain))
    if (place === slot) return plain
    // A record whose slot was edited is missing where it belongs; only it knows where that is.
    displaced.add(place)
    wipe(plain)
    return 'not in its place'
  }

  const report = (slot: bigint, damage: Damage): void => {
    if (reported.has(slot)) return
    reported.add(slot)
    onDamage(`a stored record of ${table} is ${damage}`)
  }

  function* list(): Generator<Uint8Array> {
    let rows: Row[]
    let after = BEFORE_FIRST
    do {
      expectOpen()
      rows = onDisk(() => selectNext.all(after))
      for (const row of rows) {
        expectOpen()
        after = row.slot
        const plain = openRow(row)
        if (typeof plain === 'string') report(row.slot, plain)
        else yield plain.subarray(VALUE_OFFSET)
      }
    } while (rows.length === PAGE_ROWS)
    surveyed = true
  }

  /** What is wrong with a slot that has no row. */
  const damageOfMissing = (slot: bigint): Damage | null => {
    if (!surveyed) for (const value of list()) wipe(value)
    return displaced.has(slot) ? 'not in its place' : null
  }

  const read = (mark: Uint8Array): Uint8Array | Damage | null => {
    const slot = slotOf(mark)
    const row = onDisk(() => select.get(slot))
    if (row === undefined) return damageOfMissing(slot)
    const plain = openRow(row)
    if (typeof plain === 'string') return plain
    if (equalBytes(markIn(plain), mark)) return plain.subarray(VALUE_OFFSET)
    wipe(plain)
    return null // another name has the same slot
  }

  /** Two names want the same slot: at a million records a chance of 10^-7. */
  const isTaken = (mark: Uint8Array, slot: bigint): boolean => {
    const row = select.get(slot)
    const plain = row && openRow(row)
    if (!(plain instanceof Uint8Array)) return false
    const taken = !equalBytes(markIn(plain), mark)
    wipe(plain)
    return taken
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
    isDamaged: (name) => inspect(name) === 'damaged',
    has: (name) => inspect(name) !== 'missing',
    put(name, value) {
      const mark = markOf(name)
      const slot = slotOf(mark)
      if (isTaken(mark, slot)) throw new CofferError('storage', 'No place for a record of this name, use another name')
      const plain = new Uint8Array(VALUE_OFFSET + value.length)
      try {
        plain[0] = FORMAT
        plain.set(mark, 1)
        plain.set(value, VALUE_OFFSET)
        upsert.run(slot, seal(recordKey, plain, random))
      } finally {
        wipe(plain)
      }
    },
    remove(name) {
      const mark = markOf(name)
      const slot = slotOf(mark)
      if (!isTaken(mark, slot)) drop.run(slot)
    },
    close() {
      open = false
      names.destroy()
      wipe(recordKey, nameKey)
    },
  }
}

const recordKeyOf = (secret: Uint8Array, table: string): Uint8Array => deriveSealKey(secret, `coffer ${table} records`)

const nameKeyOf = (secret: Uint8Array, table: string): Uint8Array => deriveSealKey(secret, `coffer ${table} names`)

function unsealRow(recordKey: Uint8Array, sealed: Uint8Array): Uint8Array | null {
  const plain = unseal(recordKey, sealed)
  return plain === null || plain.length < VALUE_OFFSET || plain[0] !== FORMAT ? null : plain
}

/** Reads rows without their table: those of a backup, or of a snapshot. */
export interface RowReader {
  /** The value, or null when it is damaged or not in its place. */
  open(row: Row): Uint8Array | null
  slotOf(name: string): bigint
  /** Wipes the keys. */
  close(): void
}

export function createRowReader(table: string, secret: Uint8Array): RowReader {
  const recordKey = recordKeyOf(secret, table)
  const nameKey = nameKeyOf(secret, table)
  return {
    open({ slot, sealed }) {
      const plain = unsealRow(recordKey, sealed)
      return plain !== null && slotOf(markIn(plain)) === slot ? plain.subarray(VALUE_OFFSET) : null
    },
    slotOf: (name) => slotOf(hmac(sha256, nameKey, utf8ToBytes(name))),
    close: () => wipe(recordKey, nameKey),
  }
}

const markIn = (plain: Uint8Array): Uint8Array => plain.subarray(1, VALUE_OFFSET)

/** 63 bits: what SQLite's row numbers hold without a sign. */
const slotOf = (mark: Uint8Array): bigint => new DataView(mark.buffer, mark.byteOffset).getBigUint64(0) >> 1n
