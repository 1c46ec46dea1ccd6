/**
 * The audit log on disk: many lines to a sealed row, which lies under the number of its first line. Sealed by a key
 * derived from the device key, so that lines can be written in every state; what is inside a row binds it to its place.
 */

import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import type { Random } from '../crypto/random.ts'
import { deriveSealKey, seal, unseal, wipe } from '../crypto/seal.ts'
import { onDisk } from '../store/failure.ts'
import type { StoreFile } from '../store/store-file.ts'
import { HASH_BYTES } from './chain.ts'

const FORMAT = 1 // of the sealed bytes
const SLOT_BYTES = 8
const VALUE_OFFSET = 1 + SLOT_BYTES
const STATE_SLOT = 0 // lines are numbered from 1
const CUT_ROWS_MAX = 1000 // at once: a smaller limit must not stop everything else while it takes effect

/** Lines in a row: opening one takes a few milliseconds at most. */
export const BLOCK_LINES_MAX = 256

export interface Block {
  /** Number of the first line. */
  first: number
  /** Hash before the first line, in hex. */
  previous: string
  /** JSON texts, oldest first. */
  texts: readonly string[]
}

/** A row that cannot be opened; how many lines were in it, nobody knows. */
export type Damaged = Pick<Block, 'first'> & { texts?: undefined }

/** What is known of the log as a whole. */
export interface LogState {
  /** Number and hash (hex) of the newest line. */
  sequence: number
  hash: string
  /** The oldest line that is kept. */
  first: number
  /** How many lines are to be kept. */
  lines: number
}

export interface Blocks {
  /** Null when there is none, `damaged` when it cannot be opened. */
  readState(): LogState | null | 'damaged'
  /** Call within a transaction. */
  putState(state: LogState): void
  /** Call within a transaction. */
  append(block: Block): void
  /** The last row that begins at this line or before. */
  before(sequence: number): Block | Damaged | null
  /** The first row that begins at this line or after. */
  after(sequence: number): Block | Damaged | null
  /**
   * Removes rows that hold no line from `sequence` on, some at a time. `first` is the first line that is left, null when
   * nothing was removed. Call within a transaction.
   */
  cut(sequence: number): { first: number | null; isDone: boolean }
  /** Wipes the key. */
  close(): void
}

export function openBlocks({ database }: StoreFile, deviceKey: Uint8Array, random: Random): Blocks {
  const key = deriveSealKey(deviceKey, 'coffer audit records')
  type Row = { slot: number; sealed: Uint8Array }
  const select = database.prepare<[number], Row>('SELECT slot, sealed FROM audit WHERE slot = ?')
  const last = database.prepare<[number], Row>(
    `SELECT slot, sealed FROM audit WHERE slot > ${STATE_SLOT} AND slot <= ? ORDER BY slot DESC LIMIT 1`,
  )
  const next = database.prepare<[number], Row>(
    `SELECT slot, sealed FROM audit WHERE slot > ${STATE_SLOT} AND slot >= ? ORDER BY slot LIMIT 1`,
  )
  const slots = database
    .prepare<[number], number>(
      `SELECT slot FROM audit WHERE slot > ${STATE_SLOT} AND slot <= ? ORDER BY slot LIMIT ${CUT_ROWS_MAX + 1}`,
    )
    .pluck()
  const insert = database.prepare('INSERT INTO audit (slot, sealed) VALUES (?, ?)')
  const upsert = database.prepare(
    'INSERT INTO audit (slot, sealed) VALUES (?, ?) ON CONFLICT (slot) DO UPDATE SET sealed = excluded.sealed',
  )
  const drop = database.prepare(`DELETE FROM audit WHERE slot > ${STATE_SLOT} AND slot < ?`)

  const sealRow = (slot: number, value: Uint8Array): Uint8Array => seal(key, concatBytes(headerOf(slot), value), random)

  /** What was sealed for this slot, or null. */
  const openRow = ({ slot, sealed }: Row): Uint8Array | null => {
    const plain = unseal(key, sealed)
    if (plain === null || plain.length < VALUE_OFFSET) return null
    return Buffer.compare(plain.subarray(0, VALUE_OFFSET), headerOf(slot)) === 0 ? plain.subarray(VALUE_OFFSET) : null
  }

  const readBlock = (row: Row | undefined): Block | Damaged | null => {
    if (row === undefined) return null
    const value = openRow(row)
    if (value === null) return { first: row.slot }
    const texts = new TextDecoder().decode(value.subarray(HASH_BYTES)).split('\n')
    return { first: row.slot, previous: bytesToHex(value.subarray(0, HASH_BYTES)), texts }
  }

  return {
    readState() {
      const row = onDisk(() => select.get(STATE_SLOT))
      if (row === undefined) return null
      const value = openRow(row)
      return value === null ? 'damaged' : (JSON.parse(new TextDecoder().decode(value)) as LogState)
    },
    putState: (state) => void upsert.run(STATE_SLOT, sealRow(STATE_SLOT, utf8ToBytes(JSON.stringify(state)))),
    append: ({ first, previous, texts }) =>
      void insert.run(first, sealRow(first, concatBytes(hexToBytes(previous), utf8ToBytes(texts.join('\n'))))),
    before: (sequence) => readBlock(onDisk(() => last.get(sequence))),
    after: (sequence) => readBlock(onDisk(() => next.get(sequence))),
    cut(sequence) {
      const oldest = slots.all(sequence)
      const first = oldest.at(-1) // it may hold `sequence`, what is before it does not
      if (first === undefined || oldest.length === 1) return { first: null, isDone: true }
      drop.run(first)
      return { first, isDone: oldest.length <= CUT_ROWS_MAX }
    },
    close: () => wipe(key),
  }
}

function headerOf(slot: number): Uint8Array {
  const header = new DataView(new ArrayBuffer(VALUE_OFFSET))
  header.setUint8(0, FORMAT)
  header.setBigUint64(1, BigInt(slot))
  return new Uint8Array(header.buffer)
}
