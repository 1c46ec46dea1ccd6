/** Scans for the messages of a narrow, from an id in one direction. */

import { setImmediate } from 'node:timers/promises'
import { createBatchSize, threadMs } from '../../base/batch-size.ts'
import { defined } from '../../base/defined.ts'
import { createFairQueue, type FairQueue } from '../../base/fair-queue.ts'
import type { ChatStore } from '../store/store.ts'
import { type AccessPath, type Candidate, type Direction, farthest, readAccessPath, WINDOW } from './access-path.ts'
import type { Narrow } from './narrow.ts'

const SLICE = { least: 32, first: 256, max: 1024 } as const // messages per time slice: a few milliseconds
const WINDOW_MS = 10 // per query of the full-text index
const SLICES_FREE = 3 // nearly all scans finish within these
const WAITING_MAX = 200 // queued scans; above it the account with most of them is refused

/** Long scans take turns, slice by slice and account by account. */
const queues = new WeakMap<ChatStore, FairQueue>()

function queueOf(store: ChatStore): FairQueue {
  const queue = queues.get(store) ?? createFairQueue(WAITING_MAX)
  queues.set(store, queue)
  return queue
}

interface Scanned {
  found: number[]
  /** True if no messages remain in that direction. */
  isEnd: boolean
}

/**
 * Finds at most `count` messages beyond `bound`. Other requests run between time slices, so `narrow` is called again before each: every
 * match was readable when it was checked. `account` determines the place in the fair queue: for a bot its owner. Throws `busy`.
 */
export async function scan(
  store: ChatStore,
  narrow: () => Narrow,
  direction: Direction,
  bound: number,
  count: number,
  account: number | null,
): Promise<Scanned> {
  const found: number[] = []
  if (count === 0) return { found, isEnd: false }
  const end = store.messages.maxId() // later messages are not part of the scan
  let from = Math.min(bound, end + 1)
  let size: number = Math.min(Math.max(count, SLICE.least), SLICE.first) // with a good access path nearly all messages match
  const window = createBatchSize({ start: WINDOW.first, max: WINDOW.max, targetMs: WINDOW_MS })
  let looked = 0

  /** Null if the scan must continue. */
  function look(): Scanned | null {
    const { lead, holds, readsText } = narrow()
    const far = farthest(lead, direction, from, Math.max(window.value, WINDOW.least))
    const beganMs = threadMs()
    const slice = readAccessPath(store, lead, direction, { bound: from, far }, size, readsText)
    window.took(threadMs() - beganMs)
    for (const message of slice) {
      if (!holds(message)) continue
      found.push(message.id)
      if (found.length === count) return { found, isEnd: false }
    }
    const isThrough = slice.length < size
    if (isThrough && (far <= 0 || far > end)) return { found, isEnd: true }
    from = isThrough ? far : defined(slice.at(-1)).id
    looked += slice.length
    const missing = (count - found.length) * (looked / Math.max(found.length, 1))
    size = Math.ceil(Math.min(Math.max(missing, size), size * 4, SLICE.max))
    return null
  }

  const place = { rank: 'known', prefix: String(account) } as const
  for (let slices = 0; ; slices++) {
    const walked = slices < SLICES_FREE ? look() : await queueOf(store).run(place, async () => look())
    if (walked !== null) return walked
    await setImmediate()
  }
}

export function select(store: ChatStore, narrow: Narrow, ids: readonly number[]): number[] {
  const ascending = [...new Set(ids)].sort((a, b) => a - b)
  const lead: AccessPath = { ids: ascending }
  const rows: Candidate[] = readAccessPath(
    store,
    lead,
    'newer',
    { bound: -1, far: Number.MAX_SAFE_INTEGER },
    ascending.length,
    narrow.readsText,
  )
  return rows.filter(narrow.holds).map(({ id }) => id)
}
