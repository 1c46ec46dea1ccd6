/** The state of the audit log as a whole: its end, and a ring for each kind of line. */

import { defined } from '../base/defined.ts'
import { type AuditBlock, BLOCK_LINES_MAX, type Blocks } from './blocks.ts'
import { type AuditHead, type AuditLineKind, hashLine, KINDS, ORIGIN } from './chain.ts'

export interface Ring {
  /** How many lines there have been. */
  count: number
  /** Number and hash (hex) of the newest line; 0 while there is none. */
  sequence: number
  hash: string
  /** The oldest line that is on disk, and its number within the ring. */
  first: number
  firstNumber: number
  /** How many lines are to be kept. */
  lines: number
}

export interface LogState {
  /** Number and hash (hex) of the newest line. */
  sequence: number
  hash: string
  rings: Record<AuditLineKind, Ring>
  /** Whether uses are refused where they would overwrite lines that were not exported. */
  refuseUses: boolean
  /** Number within its ring of the newest use that was exported. */
  exportedUses: number
  /** Number of the newest line that a log server has confirmed, as all before it that are kept. */
  confirmed: number
}

/** The state of a log from before there were rings. */
export interface OldState {
  sequence: number
  hash: string
  first: number
  lines: number
}

/** A line that waits to be written: its text has its number and its kind. */
export interface WaitingLine {
  kind: AuditLineKind
  text: string
}

const emptyRing = (lines: number, hash = ORIGIN): Ring => ({
  count: 0,
  sequence: 0,
  hash,
  first: 0,
  firstNumber: 1,
  lines,
})

export const emptyState = (lines: number): LogState => ({
  sequence: 0,
  hash: ORIGIN,
  rings: { change: emptyRing(lines), refusal: emptyRing(lines), use: emptyRing(lines) },
  refuseUses: false,
  exportedUses: 0,
  confirmed: 0,
})

/** Lines written before there were rings begin all of them, and stay until changes overwrite them. */
export function upgradeState({ sequence, hash, first, lines }: OldState): LogState {
  const state = emptyState(lines)
  if (sequence === 0) return state
  const change = { count: sequence, sequence, hash, first, firstNumber: first, lines }
  const rings = { change, refusal: emptyRing(lines, hash), use: emptyRing(lines, hash) }
  return { ...state, sequence, hash, rings }
}

/** With rings that can be changed. */
export function copyState(state: LogState): LogState {
  const { change, refusal, use } = state.rings
  return { ...state, rings: { change: { ...change }, refusal: { ...refusal }, use: { ...use } } }
}

/** Adds lines to the state and in rows to the blocks. Call within a transaction. */
export function append(state: LogState, waiting: readonly WaitingLine[], blocks: Blocks): void {
  for (let at = 0; at < waiting.length; at += BLOCK_LINES_MAX) {
    const rows: Partial<Record<AuditLineKind, AuditBlock & { last: number }>> = {}
    for (const { kind, text } of waiting.slice(at, at + BLOCK_LINES_MAX)) {
      const ring = state.rings[kind]
      const first = state.sequence + 1
      rows[kind] ??= { kind, first, number: ring.count + 1, previousOfKind: ring.hash, texts: [], last: 0 }
      const row = rows[kind]
      row.texts.push(row.last === state.sequence && row.texts.length > 0 ? text : state.hash + text)
      row.last = first
      state.hash = hashLine(state.hash, ring.hash, text)
      state.sequence = first
      ring.hash = state.hash
      ring.sequence = first
      ring.count++
      if (ring.count === 1) ring.first = first
    }
    for (const kind of KINDS) if (rows[kind] !== undefined) blocks.append(rows[kind])
  }
}

/** Within its ring, of the newest line that may go where this many are to be kept. */
export function newestBeyond(state: LogState, kind: AuditLineKind, lines = state.rings[kind].lines): number {
  const beyond = state.rings[kind].count - lines
  return kind === 'use' && state.refuseUses ? Math.min(beyond, state.exportedUses) : beyond
}

/** Bytes that the log takes more once the rings hold as many lines as these, beyond the first `linesReserved` of each. */
export function growthBytes(
  { rings }: LogState,
  lines: Readonly<Record<AuditLineKind, number>>,
  linesReserved: number,
): number {
  return KINDS.reduce((sum, kind) => {
    const stored = rings[kind].count + 1 - rings[kind].firstNumber
    return sum + Math.max(0, lines[kind] - Math.max(stored, linesReserved)) * LINE_BYTES
  }, 0)
}

/** A line with long names takes this much on disk, one with short names half of it. */
const LINE_BYTES = 512

/** The largest share of a ring that lines fill which no log server has confirmed; more than 1 where such lines were removed. */
export function unconfirmedShare(state: LogState, blocks: Pick<Blocks, 'before'>): number {
  const shares = KINDS.map((kind) => {
    const { count, lines } = state.rings[kind]
    return (count - confirmedNumber(state, kind, blocks)) / lines
  })
  return Math.max(...shares)
}

/** Within its ring, of the newest line that a log server has confirmed. */
function confirmedNumber({ rings, confirmed }: LogState, kind: AuditLineKind, blocks: Pick<Blocks, 'before'>): number {
  const { sequence, count, firstNumber } = rings[kind]
  if (sequence <= confirmed) return count
  const row = blocks.before(kind, confirmed)
  if (row === null) return firstNumber - 1
  return row.number - 1 + (row.lines ?? []).filter((line) => line.sequence <= confirmed).length
}

/** Within its ring, of the oldest line that is shown: rows are removed whole. */
export const firstNumberShown = (state: LogState, kind: AuditLineKind): number =>
  Math.max(state.rings[kind].firstNumber, newestBeyond(state, kind) + 1)

/** Numbers of the oldest lines that are shown, 0 where there is none. */
export function headOf(state: LogState, blocks: Blocks): Omit<AuditHead, 'time' | 'key' | 'signature'> {
  const { sequence, hash, rings } = state
  const ringHead = (kind: AuditLineKind) => {
    const { sequence, hash } = rings[kind]
    return { first: firstShown(state, kind, blocks), sequence, hash }
  }
  const heads = { change: ringHead('change'), refusal: ringHead('refusal'), use: ringHead('use') }
  const firsts = KINDS.map((kind) => heads[kind].first).filter((first) => first > 0)
  return { first: firsts.length === 0 ? 1 : Math.min(...firsts), sequence, hash, rings: heads }
}

/** Where the row that holds it is damaged or missing, it is said to begin where that row should: readers see the gap. */
function firstShown(state: LogState, kind: AuditLineKind, blocks: Blocks): number {
  const ring = state.rings[kind]
  const number = firstNumberShown(state, kind)
  if (number === ring.firstNumber) return ring.first
  const row = blocks.holding(kind, number)
  if (row === null) return ring.first
  return row.lines === null
    ? row.first
    : (row.lines[number - row.number]?.sequence ?? defined(row.lines.at(-1)).sequence + 1)
}
