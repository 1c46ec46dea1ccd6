/**
 * One table of sealed records: `secretbox(record key, nonce, format || slot || value)` under a slot that is a keyed hash
 * of the name. The slot inside binds the value to its place. What the file shows is how many records of which sizes a
 * table has.
 */

import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import type { Database, Statement } from 'better-sqlite3'
import type { Random } from '../crypto/random.ts'
import { deriveSealKey, equalBytes, seal, unseal, wipe } from '../crypto/seal.ts'
import { CofferError } from '../error.ts'
import { onDisk } from './failure.ts'

const FORMAT = 1 // of the sealed bytes
const SLOT_BYTES = 16 // two names share a slot with a chance of 2^-64 at 2^32 records
const VALUE_OFFSET = 1 + SLOT_BYTES
const PAGE_ROWS = 512 // rows read at once when listing: bounds memory and keeps the database free for other statements

type Damage = 'damaged' | 'not in its place'

interface Row {
  slot: Uint8Array
  sealed: Uint8Array
}

export interface SealedTable {
  /** The value, or null. Throws `storage` when it is damaged or not in its place. */
  get(name: string): Uint8Array | null
  /** Every intact value, in no order. */
  list(): Generator<Uint8Array>
  isDamaged(name: string): boolean
  /** True also for a damaged record. */
  has(name: string): boolean
  /** Call within a transaction. */
  put(name: string, value: Uint8Array): void
  /** Call within a transaction. */
  remove(name: string): void
  /** Wipes the keys; every later call throws. */
  close(): void
}

/** `onDamage` hears of each damaged row that is met while listing. */
export function createSealedTable(
  database: Database,
  table: string,
  secret: Uint8Array,
  random: Random,
  onDamage: (message: string) => void,
): SealedTable {
  const recordKey = deriveSealKey(secret, `coffer ${table} records`)
  const nameKey = deriveSealKey(secret, `coffer ${table} names`)
  const names = hmac.create(sha256, nameKey)
  const select: Statement<[Uint8Array], Row> = database.prepare(`SELECT slot, sealed FROM "${table}" WHERE slot = ?`)
  const selectNext: Statement<[Uint8Array], Row> = database.prepare(
    `SELECT slot, sealed FROM "${table}" WHERE slot > ? ORDER BY slot LIMIT ${PAGE_ROWS}`,
  )
  const upsert = database.prepare(
    `INSERT INTO "${table}" (slot, sealed) VALUES (?, ?) ON CONFLICT (slot) DO UPDATE SET sealed = excluded.sealed`,
  )
  const drop = database.prepare(`DELETE FROM "${table}" WHERE slot = ?`)

  /** Slots, in hex, whose record lies elsewhere. Complete once `surveyed`. */
  const displaced = new Set<string>()
  const reported = new Set<string>()
  let surveyed = false
  let open = true

  const expectOpen = (): void => {
    if (!open) throw new CofferError('unavailable', 'Service not available')
  }

  const slotOf = (name: string): Uint8Array => {
    expectOpen()
    return names.clone().update(utf8ToBytes(name)).digest().subarray(0, SLOT_BYTES)
  }

  const openRow = ({ slot, sealed }: Row): Uint8Array | Damage => {
    const plain = unseal(recordKey, sealed)
    if (plain === null || plain.length < VALUE_OFFSET || plain[0] !== FORMAT) return 'damaged'
    const place = plain.subarray(1, VALUE_OFFSET)
    if (equalBytes(place, slot)) return plain.subarray(VALUE_OFFSET)
    // A record whose row name was edited is missing where it belongs; only it knows where that is.
    displaced.add(place.toHex())
    wipe(plain)
    return 'not in its place'
  }

  const report = (slot: Uint8Array, damage: Damage): void => {
    const row = slot.toHex()
    if (reported.has(row)) return
    reported.add(row)
    onDamage(`a stored record of ${table} is ${damage}`)
  }

  function* list(): Generator<Uint8Array> {
    let rows: Row[]
    let after: Uint8Array = new Uint8Array()
    do {
      expectOpen()
      rows = onDisk(() => selectNext.all(after))
      for (const row of rows) {
        expectOpen()
        after = row.slot
        const opened = openRow(row)
        if (typeof opened === 'string') report(row.slot, opened)
        else yield opened
      }
    } while (rows.length === PAGE_ROWS)
    surveyed = true
  }

  /** What is wrong with a slot that has no row. */
  const damageOfMissing = (slot: Uint8Array): Damage | null => {
    if (!surveyed) for (const value of list()) wipe(value)
    return displaced.has(slot.toHex()) ? 'not in its place' : null
  }

  const read = (name: string): Uint8Array | Damage | null => {
    const slot = slotOf(name)
    const row = onDisk(() => select.get(slot))
    return row === undefined ? damageOfMissing(slot) : openRow(row)
  }

  const inspect = (name: string): 'intact' | 'damaged' | 'missing' => {
    const value = read(name)
    if (value instanceof Uint8Array) wipe(value)
    return value === null ? 'missing' : typeof value === 'string' ? 'damaged' : 'intact'
  }

  return {
    get(name) {
      const value = read(name)
      if (typeof value === 'string') throw new CofferError('storage', `A stored record of ${table} is ${value}`)
      return value
    },
    list,
    isDamaged: (name) => inspect(name) === 'damaged',
    has: (name) => inspect(name) !== 'missing',
    put(name, value) {
      const slot = slotOf(name)
      const plain = new Uint8Array(VALUE_OFFSET + value.length)
      try {
        plain[0] = FORMAT
        plain.set(slot, 1)
        plain.set(value, VALUE_OFFSET)
        upsert.run(slot, seal(recordKey, plain, random))
      } finally {
        wipe(plain)
      }
    },
    remove(name) {
      drop.run(slotOf(name))
    },
    close() {
      open = false
      names.destroy()
      wipe(recordKey, nameKey)
    },
  }
}
