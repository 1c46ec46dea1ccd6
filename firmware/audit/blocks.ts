/**
 * The audit log on disk: many lines of a kind to a sealed row, which lies under the number of its first line. Sealed by a
 * key derived from the device key, so that lines can be written in every state; what is inside a row binds it to its
 * place.
 *
 * Row: format, slot, ring (one byte), number within the ring; then texts on lines of their own, the first of which is the
 * hash of the line of this kind before the row. A text has the hash of the line before it in front where that is not the
 * one before it in the row. Format 1, from before there were rings: format, slot; the hash before the row as bytes, and
 * texts of all kinds, each of which follows the one before it.
 */

import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { deriveSealKey, seal, unseal } from '../crypto/seal.ts'
import { onDisk } from '../store/sqlite/failure.ts'
import type { StoreFile } from '../store/sqlite/file.ts'
import { type AuditLine, HASH_BYTES, KINDS, type Kind, showLine } from './chain.ts'
import type { LogState, OldState } from './state.ts'

const FORMAT = 2 // of the sealed bytes
const FORMAT_WITHOUT_RINGS = 1
const SLOT_BYTES = 8
const OLD_VALUE_OFFSET = 1 + SLOT_BYTES
const RING_OFFSET = OLD_VALUE_OFFSET
const VALUE_OFFSET = RING_OFFSET + 1 + SLOT_BYTES
const STATE_SLOT = 0 // lines are numbered from 1
const CUT_ROWS_MAX = 1000 // at once: a smaller limit must not stop everything else while it takes effect

/** Lines in a row, and numbers from its first to its last: opening one takes a few milliseconds at most. */
export const BLOCK_LINES_MAX = 256

/** A row to be written. */
export interface Block {
  kind: Kind
  /** Number of the first line, and its number within the ring. */
  first: number
  number: number
  /** Hash of the line of this kind before, in hex. */
  previousOfKind: string
  /** JSON texts, oldest first, each with the hash before it (hex) in front unless that is the one of the text before. */
  texts: string[]
}

/** A row that was read. */
export interface Row {
  /** Number of the first line, and its number within the ring. */
  first: number
  number: number
  /** Oldest first; null when it cannot be opened: how many lines were in it, nobody knows. */
  lines: AuditLine[] | null
}

/** Where a row lies: the number of its first line, and that within its ring. */
export type Place = Pick<Row, 'first' | 'number'>

export interface Blocks {
  /** Null when there is none, `damaged` when it cannot be opened. */
  readState(): LogState | OldState | null | 'damaged'
  /** Call within a transaction. */
  putState(state: LogState): void
  /** Call within a transaction. */
  append(block: Block): void
  /** The last row of a ring that begins at this line or before. */
  before(kind: Kind, sequence: number): Row | null
  /** The first row of a ring that begins at this line or after. */
  after(kind: Kind, sequence: number): Row | null
  /** The row of a ring that holds its line of this number within the ring, if none is missing. */
  holding(kind: Kind, number: number): Row | null
  /**
   * Removes rows of a ring that hold no line from this number within the ring on, some at a time. `oldest` is the row
   * that is left, null when nothing was removed. Call within a transaction.
   */
  cut(kind: Kind, number: number): { oldest: Place | null; isDone: boolean }
  /** Wipes the key. */
  close(): void
}

export function openBlocks({ database }: StoreFile, deviceKey: Uint8Array, random: Random): Blocks {
  const key = deriveSealKey(deviceKey, 'coffer audit records')
  type Stored = { slot: number; ring: number; number: number; sealed: Uint8Array }
  const number = 'coalesce(number, slot)' // rows of before count as they are numbered
  const columns = `slot, ring, ${number} AS number, sealed`
  const ofRing = `ring = ? AND slot > ${STATE_SLOT}`
  const select = (rest: string) => database.prepare<[number, number], Stored>(`SELECT ${columns} FROM audit ${rest}`)
  const last = select(`WHERE ${ofRing} AND slot <= ? ORDER BY slot DESC LIMIT 1`)
  const next = select(`WHERE ${ofRing} AND slot >= ? ORDER BY slot LIMIT 1`)
  const state = database.prepare<[], Stored>(`SELECT ${columns} FROM audit WHERE slot = ${STATE_SLOT}`)
  const places = database.prepare<[number], Place>(
    `SELECT slot AS first, ${number} AS number FROM audit WHERE ${ofRing} ORDER BY slot`,
  )
  const insert = database.prepare('INSERT INTO audit (slot, ring, number, sealed) VALUES (?, ?, ?, ?)')
  const upsert = database.prepare(
    'INSERT INTO audit (slot, sealed) VALUES (?, ?) ON CONFLICT (slot) DO UPDATE SET sealed = excluded.sealed',
  )
  const drop = database.prepare(`DELETE FROM audit WHERE ${ofRing} AND slot < ?`)

  /** The oldest rows of a ring up to the one that may hold this number, which are few: those before it are removed. */
  const placesUpTo = (kind: Kind, number: number, rowsMax: number): Place[] => {
    const found: Place[] = []
    for (const place of places.iterate(KINDS.indexOf(kind))) {
      if (place.number > number || found.length === rowsMax) break
      found.push(place)
    }
    return found
  }

  /** What was sealed behind this header, or null. */
  const openRow = (sealed: Uint8Array, header: Uint8Array): Uint8Array | null => {
    const plain = unseal(key, sealed)
    if (plain === null || plain.length < header.length) return null
    return Buffer.compare(plain.subarray(0, header.length), header) === 0 ? plain.subarray(header.length) : null
  }

  const readRow = (row: Stored | undefined): Row | null => {
    if (row === undefined) return null
    const { slot: first, ring, number, sealed } = row
    const value = openRow(sealed, headerOf(first, ring, number))
    if (value !== null) return { first, number, lines: linesOf(value) }
    const old = ring === 0 ? openRow(sealed, oldHeaderOf(first)) : null
    return { first, number, lines: old && oldLinesOf(old) }
  }

  return {
    readState() {
      const row = onDisk(() => state.get())
      if (row === undefined) return null
      const value = openRow(row.sealed, oldHeaderOf(STATE_SLOT))
      return value === null ? 'damaged' : (JSON.parse(new TextDecoder().decode(value)) as LogState | OldState)
    },
    putState: (state) =>
      void upsert.run(STATE_SLOT, seal(key, concatBytes(oldHeaderOf(STATE_SLOT), jsonBytes(state)), random)),
    append({ kind, first, number, previousOfKind, texts }) {
      const ring = KINDS.indexOf(kind)
      const value = utf8ToBytes(`${previousOfKind}\n${texts.join('\n')}`)
      insert.run(first, ring, number, seal(key, concatBytes(headerOf(first, ring, number), value), random))
    },
    before: (kind, sequence) => readRow(onDisk(() => last.get(KINDS.indexOf(kind), sequence))),
    after: (kind, sequence) => readRow(onDisk(() => next.get(KINDS.indexOf(kind), sequence))),
    holding: (kind, number) => {
      const place = onDisk(() => placesUpTo(kind, number, Number.POSITIVE_INFINITY)).at(-1)
      return place === undefined ? null : readRow(onDisk(() => last.get(KINDS.indexOf(kind), place.first)))
    },
    cut(kind, number) {
      const rows = placesUpTo(kind, number, CUT_ROWS_MAX + 1)
      const oldest = rows.at(-1) // it may hold that line, what is before it does not
      if (oldest === undefined || rows.length === 1) return { oldest: null, isDone: true }
      drop.run(KINDS.indexOf(kind), oldest.first)
      return { oldest, isDone: rows.length <= CUT_ROWS_MAX }
    },
    close: () => wipe(key),
  }
}

const jsonBytes = (value: object): Uint8Array => utf8ToBytes(JSON.stringify(value))

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

function linesOf(value: Uint8Array): AuditLine[] {
  const [link, ...texts] = new TextDecoder().decode(value).split('\n')
  let [previous, previousOfKind] = ['', link!]
  return texts.map((text) => {
    const start = text.startsWith('{') ? 0 : 2 * HASH_BYTES
    if (start > 0) previous = text.slice(0, start)
    const line = showLine(text.slice(start), previous, previousOfKind)
    previous = line.hash
    previousOfKind = line.hash
    return line
  })
}

function oldLinesOf(value: Uint8Array): AuditLine[] {
  const texts = new TextDecoder().decode(value.subarray(HASH_BYTES)).split('\n')
  let previous = bytesToHex(value.subarray(0, HASH_BYTES))
  return texts.map((text) => {
    const line = showLine(text, previous, '')
    previous = line.hash
    return line
  })
}
