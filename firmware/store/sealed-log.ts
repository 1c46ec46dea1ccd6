/**
 * A table of sealed rows in the order of their numbers: a log, in rings. A row lies under a number of its own, grows by one
 * ring at its end, and is removed from a ring's beginning. Every row is sealed, and what is inside it binds it to its place:
 * format, slot, ring (one byte), number within the ring; then the value. Format 1, from before there were rings: format, slot.
 *
 * Slot 0 holds the state of the log, of whatever its owner makes it.
 */

import { concatBytes } from '@noble/hashes/utils.js'
import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { seal, unseal } from '../crypto/seal.ts'
import { onDisk } from './failure.ts'
import { databaseOf } from './sqlite/file.ts'
import type { StoreFile } from './store.ts'

const FORMAT = 2 // of the sealed bytes
const FORMAT_WITHOUT_RINGS = 1
const SLOT_BYTES = 8
const OLD_VALUE_OFFSET = 1 + SLOT_BYTES
const RING_OFFSET = OLD_VALUE_OFFSET
const VALUE_OFFSET = RING_OFFSET + 1 + SLOT_BYTES
const STATE_SLOT = 0 // rows are numbered from 1
const CUT_ROWS_MAX = 1000 // at once: a smaller limit must not stop everything else while it takes effect

/** Where a row lies, and its number within its ring: those of the first of what it holds. */
interface LogPlace {
  slot: number
  number: number
}

export interface LogRow extends LogPlace {
  /** Null when it cannot be opened. */
  value: Uint8Array | null
  /** True of a row in the format from before there were rings. */
  isOld: boolean
}

interface SealedLog {
  /** Null when there is none, `damaged` when it cannot be opened. */
  readState(): Uint8Array | null | 'damaged'
  /** Call within a transaction. */
  putState(value: Uint8Array): void
  /** Call within a transaction. */
  append(ring: number, place: LogPlace, value: Uint8Array): void
  /** The last row of a ring in this slot or before. */
  before(ring: number, slot: number): LogRow | null
  /** The first row of a ring in this slot or after. */
  after(ring: number, slot: number): LogRow | null
  /** The last row of a ring whose number is this one or less: it holds this number, if none is missing. */
  holding(ring: number, number: number): LogRow | null
  /**
   * Removes rows of a ring that hold nothing from this number within the ring on, some at a time. `oldest` is the row
   * that is left, null when nothing was removed. Call within a transaction.
   */
  cut(ring: number, number: number): { oldest: LogPlace | null; isDone: boolean }
  /** Wipes the key. */
  close(): void
}

/** Takes over the key: it is wiped on close. */
export function openSealedLog(store: StoreFile, table: string, key: Uint8Array, random: Random): SealedLog {
  const database = databaseOf(store)
  type Stored = { slot: number; ring: number; number: number; sealed: Uint8Array }
  const number = 'coalesce(number, slot)' // rows of before count as they are numbered
  const columns = `slot, ring, ${number} AS number, sealed`
  const ofRing = `ring = ? AND slot > ${STATE_SLOT}`
  const select = (rest: string) =>
    database.prepare<[number, number], Stored>(`SELECT ${columns} FROM "${table}" ${rest}`)
  const last = select(`WHERE ${ofRing} AND slot <= ? ORDER BY slot DESC LIMIT 1`)
  const next = select(`WHERE ${ofRing} AND slot >= ? ORDER BY slot LIMIT 1`)
  const state = database.prepare<[], Stored>(`SELECT ${columns} FROM "${table}" WHERE slot = ${STATE_SLOT}`)
  const places = database.prepare<[number], LogPlace>(
    `SELECT slot, ${number} AS number FROM "${table}" WHERE ${ofRing} ORDER BY slot`,
  )
  const insert = database.prepare(`INSERT INTO "${table}" (slot, ring, number, sealed) VALUES (?, ?, ?, ?)`)
  const upsert = database.prepare(
    `INSERT INTO "${table}" (slot, sealed) VALUES (?, ?) ON CONFLICT (slot) DO UPDATE SET sealed = excluded.sealed`,
  )
  const drop = database.prepare(`DELETE FROM "${table}" WHERE ${ofRing} AND slot < ?`)

  /** The oldest rows of a ring up to the one that may hold this number, which are few: those before it are removed. */
  const placesUpTo = (ring: number, number: number, rowsMax: number): LogPlace[] => {
    const found: LogPlace[] = []
    for (const place of places.iterate(ring)) {
      if (place.number > number || found.length === rowsMax) break
      found.push(place)
    }
    return found
  }

  const openBehind = (sealed: Uint8Array, header: Uint8Array): Uint8Array | null => {
    const plain = unseal(key, sealed)
    if (plain === null || plain.length < header.length) return null
    return Buffer.compare(plain.subarray(0, header.length), header) === 0 ? plain.subarray(header.length) : null
  }

  const openRow = (row: Stored | undefined): LogRow | null => {
    if (row === undefined) return null
    const { slot, ring, number, sealed } = row
    const value = openBehind(sealed, headerOf(slot, ring, number))
    if (value !== null) return { slot, number, value, isOld: false }
    return { slot, number, value: ring === 0 ? openBehind(sealed, oldHeaderOf(slot)) : null, isOld: true }
  }

  return {
    readState() {
      const row = onDisk(() => state.get())
      return row === undefined ? null : (openBehind(row.sealed, oldHeaderOf(STATE_SLOT)) ?? 'damaged')
    },
    putState: (value) => void upsert.run(STATE_SLOT, seal(key, concatBytes(oldHeaderOf(STATE_SLOT), value), random)),
    append: (ring, { slot, number }, value) =>
      void insert.run(slot, ring, number, seal(key, concatBytes(headerOf(slot, ring, number), value), random)),
    before: (ring, slot) => openRow(onDisk(() => last.get(ring, slot))),
    after: (ring, slot) => openRow(onDisk(() => next.get(ring, slot))),
    holding: (ring, number) => {
      const place = onDisk(() => placesUpTo(ring, number, Number.POSITIVE_INFINITY)).at(-1)
      return place === undefined ? null : openRow(onDisk(() => last.get(ring, place.slot)))
    },
    cut(ring, number) {
      const rows = placesUpTo(ring, number, CUT_ROWS_MAX + 1)
      const oldest = rows.at(-1) // it may hold that number, what is before it does not
      if (oldest === undefined || rows.length === 1) return { oldest: null, isDone: true }
      drop.run(ring, oldest.slot)
      return { oldest, isDone: rows.length <= CUT_ROWS_MAX }
    },
    close: () => wipe(key),
  }
}

function headerOf(slot: number, ring: number, number: number): Uint8Array {
  const header = new DataView(new ArrayBuffer(VALUE_OFFSET))
  header.setUint8(0, FORMAT)
  header.setBigUint64(1, BigInt(slot))
  header.setUint8(RING_OFFSET, ring)
  header.setBigUint64(RING_OFFSET + 1, BigInt(number))
  return new Uint8Array(header.buffer)
}

function oldHeaderOf(slot: number): Uint8Array {
  const header = new DataView(new ArrayBuffer(OLD_VALUE_OFFSET))
  header.setUint8(0, FORMAT_WITHOUT_RINGS)
  header.setBigUint64(1, BigInt(slot))
  return new Uint8Array(header.buffer)
}
