/** Where the audit log goes on after a start, also when somebody has been at it. */

import { BLOCK_LINES_MAX, type Block, type Blocks, type Damaged, type LogState } from './blocks.ts'
import { hashLine, ORIGIN } from './chain.ts'

/**
 * The state as it was stored. Where that is damaged, missing or older than the rows, the log goes on behind the last row,
 * so that no row is overwritten; a row that cannot be opened leaves a gap that every reader sees.
 */
export function restoreState(blocks: Blocks, linesDefault: number, report: (message: string) => void): LogState {
  const stored = blocks.readState()
  const last = blocks.before(Number.MAX_SAFE_INTEGER)
  const state = stored === 'damaged' ? null : stored
  if (last === null) {
    if (stored === 'damaged' || (state !== null && state.sequence > 0)) report('the audit log is damaged: it is empty')
    return state ?? { ...EMPTY, lines: linesDefault }
  }
  const end = endOf(last)
  if (state !== null && state.sequence >= (end?.sequence ?? last.first)) {
    if (state.sequence !== end?.sequence) report('the audit log is damaged: its newest lines are missing')
    return state
  }
  report('the audit log is damaged: it goes on behind its last row')
  return {
    sequence: last.first + BLOCK_LINES_MAX - 1,
    hash: ORIGIN,
    ...end,
    first: Math.min(state?.first ?? Number.MAX_SAFE_INTEGER, blocks.after(1)!.first),
    lines: state?.lines ?? linesDefault,
  }
}

const EMPTY = { sequence: 0, hash: ORIGIN, first: 1 }

/** The last line of a row; null when it cannot be opened. */
function endOf(row: Block | Damaged): { sequence: number; hash: string } | null {
  if (row.texts === undefined) return null
  const { first, previous, texts } = row
  return { sequence: first + texts.length - 1, hash: texts.reduce(hashLine, previous) }
}
