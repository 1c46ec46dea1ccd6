/** Tasks that run one at a time, and whose turn is next where unauthenticated clients wait beside the owner. Contract section 7.1. */

import { defined } from './defined.ts'
import { CofferError } from './error.ts'
import { deleteOldest } from './iteration.ts'
import { bindToRequest } from './request-authorization.ts'

/** In the order in which they are served: the console, clients that were right before, and everybody else. */
const RANKS = ['console', 'known', 'unknown'] as const

export interface QueuePriority {
  rank: (typeof RANKS)[number]
  /** Clients of one prefix (see login-limiter.ts) share its turns. */
  prefix: string
}

/** Nothing is known of the client, not even its address. */
export const ANYBODY: QueuePriority = { rank: 'unknown', prefix: '' }

/** For what only those may ask for who have been let in already. */
export const INSIDE: QueuePriority = { rank: 'known', prefix: 'inside' }

export interface FairQueue {
  /**
   * Settles as the task does. Among those of one rank, the prefix that had no turn for the longest time has the next. When
   * too many wait, the last in line is refused, `busy`: of the prefix from which most wait.
   */
  run<T>(place: QueuePriority, task: () => Promise<T>): Promise<T>
}

interface Waiting {
  place: QueuePriority
  begin: () => Promise<unknown>
  refuse: (error: CofferError) => void
}

/** Prefixes remembered with their last turn: minutes of derivations. */
const PREFIXES_MAX = 4096

export function createFairQueue(waitingMax: number): FairQueue {
  const waiting: Waiting[] = [] // in order of arrival
  const lastTurns = new Map<string, number>() // by prefix, oldest first
  let turn = 0
  let isRunning = false

  /** Only the oldest of each rank and prefix: with thousands waiting, sorting them all would take longer than the task. */
  function first(): Waiting | undefined {
    const seen = new Set<string>()
    let best: { one: Waiting; order: readonly number[] } | undefined
    for (const one of waiting) {
      const { rank, prefix } = one.place
      const key = `${rank} ${prefix}`
      if (seen.has(key)) continue
      seen.add(key)
      const order = [RANKS.indexOf(rank), lastTurns.get(prefix) ?? 0]
      if (best === undefined || compare(order, best.order) < 0) best = { one, order }
    }
    return best?.one
  }

  /** In the order of their turns, unless others come. */
  function line(): Waiting[] {
    const counts = new Map<string, number>()
    return waiting
      .map((one) => {
        const { rank, prefix } = one.place
        const key = `${rank} ${prefix}`
        const before = counts.get(key) ?? 0
        counts.set(key, before + 1)
        return { one, order: [RANKS.indexOf(rank), before, lastTurns.get(prefix) ?? 0] }
      })
      .sort((a, b) => compare(a.order, b.order))
      .map(({ one }) => one)
  }

  async function next(): Promise<void> {
    const one = first()
    if (one === undefined) return
    take(one)
    lastTurns.delete(one.place.prefix)
    lastTurns.set(one.place.prefix, ++turn)
    if (lastTurns.size > PREFIXES_MAX) deleteOldest(lastTurns)
    isRunning = true
    await one.begin()
    isRunning = false
    void next()
  }

  function take(one: Waiting): void {
    waiting.splice(waiting.indexOf(one), 1)
  }

  return {
    run: <T>(place: QueuePriority, task: () => Promise<T>): Promise<T> => {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      const begin = async () => {
        try {
          resolve(await task())
        } catch (error) {
          reject(error)
        }
      }
      waiting.push({ place, begin: bindToRequest(begin), refuse: reject })
      if (!isRunning) void next()
      else if (waiting.length > waitingMax) {
        const last = defined(line().at(-1))
        take(last)
        last.refuse(new CofferError('busy', 'Too many requests of this kind, try again'))
      }
      return promise
    },
  }
}

/** By the first number that differs. */
function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, number] of a.entries()) {
    const other = b[index] ?? 0
    if (number !== other) return number - other
  }
  return 0
}
