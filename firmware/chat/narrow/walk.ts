/** Looking for the messages of a narrow, from an id in one direction. */

import { setImmediate } from 'node:timers/promises'
import type { ChatStore } from '../store/store.ts'
import { type Candidate, type Direction, type Lead, readLead } from './lead.ts'
import type { Narrow } from './narrow.ts'

const SLICE = { first: 256, max: 2048 } as const // messages looked at in one turn: few milliseconds

export interface Walked {
  /** Nearest first. */
  found: number[]
  /** There are no more on that side. */
  isEnd: boolean
}

/**
 * At most `count` messages beyond `bound`. Requests go on between slices, so `narrow` is asked for anew before each: what is
 * found was in it, and his to read, when it was looked at.
 */
export async function walk(
  store: ChatStore,
  narrow: () => Narrow,
  direction: Direction,
  bound: number,
  count: number,
): Promise<Walked> {
  const found: number[] = []
  if (count === 0) return { found, isEnd: false }
  let size: number = SLICE.first
  for (let from = bound; ; size = Math.min(size * 2, SLICE.max)) {
    const { lead, holds, readsText } = narrow()
    const slice = readLead(store, lead, direction, from, size, readsText)
    for (const message of slice) {
      if (!holds(message)) continue
      found.push(message.id)
      if (found.length === count) return { found, isEnd: false }
    }
    if (slice.length < size) return { found, isEnd: true }
    from = slice.at(-1)!.id
    await setImmediate()
  }
}

/** Of these ids those in the narrow, ascending. */
export function select(store: ChatStore, narrow: Narrow, ids: readonly number[]): number[] {
  const ascending = [...new Set(ids)].sort((a, b) => a - b)
  const lead: Lead = { ids: ascending }
  const rows: Candidate[] = readLead(store, lead, 'newer', -1, ascending.length, narrow.readsText)
  return rows.filter(narrow.holds).map(({ id }) => id)
}
