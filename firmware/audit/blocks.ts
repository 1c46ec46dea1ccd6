/**
 * The audit log on disk: many lines of a kind to a row of a sealed log, which lies under the number of its first line. The
 * log is sealed by a key derived from the device key, so that lines can be written in every state.
 *
 * Value of a row: texts on lines of their own, the first of which is the hash of the line of this kind before the row. A
 * text has the hash of the line before it in front where that is not the one before it in the row. From before there were
 * rings: the hash before the row as bytes, and texts of all kinds, each of which follows the one before it.
 */

import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import type { Random } from '../crypto/random.ts'
import { deriveSealKey } from '../crypto/seal.ts'
import { type LogRow, openSealedLog } from '../store/sealed-log.ts'
import type { StoreFile } from '../store/store.ts'
import { type AuditLine, type AuditLineKind, HASH_BYTES, KINDS, showLine } from './chain.ts'
import type { LogState, OldState } from './state.ts'

/** Lines in a row, and numbers from its first to its last: opening one takes a few milliseconds at most. */
export const BLOCK_LINES_MAX = 256

/** A row to be written. */
export interface AuditBlock {
  kind: AuditLineKind
  /** Number of the first line, and its number within the ring. */
  first: number
  number: number
  /** Hash of the line of this kind before, in hex. */
  previousOfKind: string
  /** JSON texts, oldest first, each with the hash before it (hex) in front unless that is the one of the text before. */
  texts: string[]
}

/** A row that was read. */
export interface AuditRow {
  /** Number of the first line, and its number within the ring. */
  first: number
  number: number
  /** Oldest first; null when it cannot be opened: how many lines were in it, nobody knows. */
  lines: AuditLine[] | null
}

/** Where a row lies: the number of its first line, and that within its ring. */
type RowPosition = Pick<AuditRow, 'first' | 'number'>

export interface Blocks {
  /** Null when there is none, `damaged` when it cannot be opened. */
  readState(): LogState | OldState | null | 'damaged'
  /** Call within a transaction. */
  putState(state: LogState): void
  /** Call within a transaction. */
  append(block: AuditBlock): void
  /** The last row of a ring that begins at this line or before. */
  before(kind: AuditLineKind, sequence: number): AuditRow | null
  /** The first row of a ring that begins at this line or after. */
  after(kind: AuditLineKind, sequence: number): AuditRow | null
  /** The row of a ring that holds its line of this number within the ring, if none is missing. */
  holding(kind: AuditLineKind, number: number): AuditRow | null
  /**
   * Removes rows of a ring that hold no line from this number within the ring on, some at a time. `oldest` is the row
   * that is left, null when nothing was removed. Call within a transaction.
   */
  cut(kind: AuditLineKind, number: number): { oldest: RowPosition | null; isDone: boolean }
  /** Wipes the key. */
  close(): void
}

export function openBlocks(store: StoreFile, deviceKey: Uint8Array, random: Random): Blocks {
  const log = openSealedLog(store, 'audit', deriveSealKey(deviceKey, 'coffer audit records'), random)
  const ringOf = (kind: AuditLineKind): number => KINDS.indexOf(kind)

  const readRow = (row: LogRow | null): AuditRow | null => {
    if (row === null) return null
    const { slot: first, number, value, isOld } = row
    return { first, number, lines: value && (isOld ? oldLinesOf(value) : linesOf(value)) }
  }

  return {
    readState() {
      const value = log.readState()
      return value instanceof Uint8Array ? (JSON.parse(new TextDecoder().decode(value)) as LogState | OldState) : value
    },
    putState: (state) => log.putState(jsonBytes(state)),
    append: ({ kind, first, number, previousOfKind, texts }) =>
      log.append(ringOf(kind), { slot: first, number }, utf8ToBytes(`${previousOfKind}\n${texts.join('\n')}`)),
    before: (kind, sequence) => readRow(log.before(ringOf(kind), sequence)),
    after: (kind, sequence) => readRow(log.after(ringOf(kind), sequence)),
    holding: (kind, number) => readRow(log.holding(ringOf(kind), number)),
    cut(kind, number) {
      const { oldest, isDone } = log.cut(ringOf(kind), number)
      return { oldest: oldest && { first: oldest.slot, number: oldest.number }, isDone }
    },
    close: () => log.close(),
  }
}

const jsonBytes = (value: object): Uint8Array => utf8ToBytes(JSON.stringify(value))

function linesOf(value: Uint8Array): AuditLine[] {
  const [link = '', ...texts] = new TextDecoder().decode(value).split('\n')
  let [previous, previousOfKind] = ['', link]
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
