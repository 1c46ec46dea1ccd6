/**
 * One sealed row: `secretbox(record key, nonce, format || mark || n || value)`, where the mark is a keyed hash of the name. Its
 * beginning is the number of the slot that the row lies in, and the mark inside binds the value to its place. `n` is the number
 * of the change that wrote it. Format 1, from before changes had numbers: format, mark, value.
 */

import { utf8ToBytes } from '@noble/hashes/utils.js'
import { wipe } from '../base/secret.ts'
import { createMac } from '../crypto/mac.ts'
import type { Random } from '../crypto/random.ts'
import { deriveSealKey, seal, unseal } from '../crypto/seal.ts'
import type { Row, StoredRecord } from './store.ts'

const FORMAT = 2
const FORMAT_WITHOUT_NUMBER = 1
const MARK_BYTES = 16
const NUMBER_OFFSET = 1 + MARK_BYTES
const VALUE_OFFSET = NUMBER_OFFSET + 8
const OLD_VALUE_OFFSET = NUMBER_OFFSET

/** A row that was opened: its record, and the mark of its name. */
export interface OpenedRow {
  mark: Uint8Array
  /** The slot where it belongs. */
  place: bigint
  n: number
  value: Uint8Array
}

/** The keys of one table. */
export interface RowSealer {
  markOf(name: string): Uint8Array
  seal(mark: Uint8Array, n: number, value: Uint8Array): Uint8Array
  /** Null when the bytes are damaged. What it gives lies in `room`, where that is given and large enough. */
  open(sealed: Uint8Array, room?: Uint8Array): OpenedRow | null
  /** Wipes the keys. */
  close(): void
}

export function createRowSealer(table: string, secret: Uint8Array, random: Random): RowSealer {
  const recordKey = deriveSealKey(secret, `coffer ${table} records`)
  const nameKey = deriveSealKey(secret, `coffer ${table} names`)
  const names = createMac(nameKey)
  return {
    markOf: (name) => new Uint8Array(names.of(utf8ToBytes(name)).buffer.slice(0, MARK_BYTES)),
    seal(mark, n, value) {
      const plain = new Uint8Array(VALUE_OFFSET + value.length)
      try {
        plain[0] = FORMAT
        plain.set(mark, 1)
        new DataView(plain.buffer).setBigUint64(NUMBER_OFFSET, BigInt(n))
        plain.set(value, VALUE_OFFSET)
        return seal(recordKey, plain, random)
      } finally {
        wipe(plain)
      }
    },
    open(sealed, room) {
      const plain = unseal(recordKey, sealed, room)
      if (plain === null || plain.length < OLD_VALUE_OFFSET) return null
      const isOld = plain[0] === FORMAT_WITHOUT_NUMBER
      if (!isOld && (plain[0] !== FORMAT || plain.length < VALUE_OFFSET)) return null
      return {
        mark: plain.subarray(1, 1 + MARK_BYTES),
        place: slotIn(plain, 1),
        n: isOld ? 0 : uint32(plain, NUMBER_OFFSET) * 2 ** 32 + uint32(plain, NUMBER_OFFSET + 4),
        value: plain.subarray(isOld ? OLD_VALUE_OFFSET : VALUE_OFFSET),
      }
    },
    close() {
      names.close()
      wipe(recordKey, nameKey)
    },
  }
}

/** 63 bits: what SQLite's row numbers hold without a sign. */
export const slotOf = (mark: Uint8Array): bigint => slotIn(mark, 0)

const eightBytes = new DataView(new ArrayBuffer(8)) // one view for all: to make one for each of 100,000 rows takes its time

function slotIn(bytes: Uint8Array, at: number): bigint {
  eightBytes.setUint32(0, uint32(bytes, at))
  eightBytes.setUint32(4, uint32(bytes, at + 4))
  return eightBytes.getBigUint64(0) >> 1n
}

const uint32 = (bytes: Uint8Array, at: number): number =>
  (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0

/** Reads rows without their table: those of a backup, or of a snapshot. */
interface RowReader {
  /** Null when the row is damaged or not in its place. */
  open(row: Row): StoredRecord | null
  slotOf(name: string): bigint
  /** Wipes the keys. */
  close(): void
}

export function createRowReader(table: string, secret: Uint8Array): RowReader {
  const sealer = createRowSealer(table, secret, () => {
    throw new Error('A reader seals nothing')
  })
  return {
    open({ slot, sealed }) {
      const opened = sealer.open(sealed)
      return opened !== null && opened.place === slot ? { slot, n: opened.n, value: opened.value } : null
    },
    slotOf: (name) => slotOf(sealer.markOf(name)),
    close: sealer.close,
  }
}
