/** Where the audit log goes on after a start, also when somebody has been at it. */

import { defined } from '../base/defined.ts'
import { type AuditRow, BLOCK_LINES_MAX, type Blocks } from './blocks.ts'
import { KINDS, ORIGIN } from './chain.ts'
import { copyState, emptyState, type LogState, type Ring, upgradeState } from './state.ts'

/**
 * The state as it was stored. Where that is damaged, missing or older than the rows, the log goes on behind the last
 * rows, so that no row is overwritten; a row that cannot be opened leaves a gap that every reader sees.
 */
export function restoreState(blocks: Blocks, linesDefault: number, report: (message: string) => void): LogState {
  const stored = readState(blocks)
  const state = stored === 'damaged' ? null : stored
  const last = KINDS.map((kind) => ({ kind, row: blocks.before(kind, Number.MAX_SAFE_INTEGER) }))
  if (last.every(({ row }) => row === null)) {
    if (stored === 'damaged' || (state !== null && state.sequence > 0)) report('the audit log is damaged: it is empty')
    return state ?? emptyState(linesDefault)
  }
  if (state !== null && last.every(({ kind, row }) => row === null || state.rings[kind].sequence >= leastEnd(row))) {
    if (last.some(({ kind, row }) => state.rings[kind].sequence !== (row === null ? 0 : endOf(row)?.sequence)))
      report('the audit log is damaged: its newest lines are missing')
    return state
  }
  report('the audit log is damaged: new lines continue after its last row')
  const restored = copyState(state ?? emptyState(linesDefault))
  for (const { kind, row } of last) {
    if (row === null) continue
    const ring = ringBehind(row, restored.rings[kind])
    if (state === null) {
      const oldest = defined(blocks.after(kind, 1))
      restored.rings[kind] = { ...ring, first: oldest.first, firstNumber: oldest.number }
    } else restored.rings[kind] = ring
  }
  const newest = KINDS.map((kind) => restored.rings[kind]).reduce((a, b) => (a.sequence > b.sequence ? a : b))
  if (newest.sequence < restored.sequence) return restored
  return { ...restored, sequence: newest.sequence, hash: newest.hash }
}

function readState(blocks: Blocks): LogState | null | 'damaged' {
  const stored = blocks.readState()
  if (stored === null || stored === 'damaged') return stored
  return 'rings' in stored ? { ...stored, confirmed: stored.confirmed ?? 0 } : upgradeState(stored)
}

/** The ring with this as its last row, unless it is known to reach further. */
function ringBehind(row: AuditRow, ring: Ring): Ring {
  const end = endOf(row) ?? {
    sequence: row.first + BLOCK_LINES_MAX - 1,
    hash: ORIGIN,
    count: row.number + BLOCK_LINES_MAX - 1,
  }
  if (ring.sequence >= end.sequence) return ring
  return ring.count === 0 ? { ...ring, ...end, first: row.first, firstNumber: row.number } : { ...ring, ...end }
}

const leastEnd = (row: AuditRow): number => endOf(row)?.sequence ?? row.first

/** The last line of a row; null when it cannot be opened. */
function endOf({ lines, number }: AuditRow): { sequence: number; hash: string; count: number } | null {
  const line = lines?.at(-1)
  if (lines === null || line === undefined) return null
  return { sequence: line.sequence, hash: line.hash, count: number + lines.length - 1 }
}
