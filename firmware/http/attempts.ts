/** The limit on failed attempts: one per second for a client address and a name. Contract section 7.1. */

import { CofferError } from '../error.ts'

/** A failure blocks its pair for this long. */
const WINDOW_MS = 1000

/** About 4 MiB of names at their longest; when full, the oldest failure is forgotten first. */
const PAIRS_MAX = 10_000

/** Attempts that wait for an earlier one of the same pair; more are refused as if the limit were hit. */
const WAITING_MAX = 4096

/** The pseudo user of `/unlock` and of the console prompt. */
export const UNLOCK_USER = '_unlock'

type Verify<T> = () => T | null | Promise<T | null>

export interface AttemptLimiter {
  /** Throws `tooManyAttempts` while a failure of this pair is younger than a second. */
  check(address: string, user: string): void
  /** Records a failure. */
  fail(address: string, user: string): void
  /**
   * Checks, verifies, and records a failure when `verify` gives null. Attempts of one pair run one after the other: a
   * wrong guess blocks those that arrived with it, and right ones all succeed. Nobody waits for what `verify` knows at once.
   */
  attempt<T>(address: string, user: string, verify: Verify<T>): Promise<T | null>
  /** Pairs remembered at the moment. */
  readonly size: number
}

/** `nowMs` must never jump: a monotonic clock, not the appliance's. */
export function createAttemptLimiter(nowMs: () => number = () => performance.now()): AttemptLimiter {
  const failures = new Map<string, number>() // in order of time, oldest first
  const queues = new Map<string, { last: Promise<unknown>; length: number }>()

  const pair = (address: string, user: string) => `${address} ${user}`

  function check(address: string, user: string): void {
    const failed = failures.get(pair(address, user))
    if (failed !== undefined && nowMs() - failed < WINDOW_MS) throw tooManyAttempts()
  }

  function fail(address: string, user: string): void {
    const now = nowMs()
    for (const [key, failed] of failures) {
      if (now - failed < WINDOW_MS && failures.size < PAIRS_MAX) break
      failures.delete(key)
    }
    const key = pair(address, user)
    failures.delete(key)
    failures.set(key, now)
  }

  async function attempt<T>(address: string, user: string, verify: Verify<T>): Promise<T | null> {
    check(address, user)
    const counted = (result: T | null): T | null => {
      if (result === null) fail(address, user)
      return result
    }
    const key = pair(address, user)
    let queue = queues.get(key)
    let turn: Promise<T | null>
    if (queue === undefined) {
      const result = verify()
      if (!(result instanceof Promise)) return counted(result)
      queue = { last: Promise.resolve(), length: 0 }
      queues.set(key, queue)
      turn = result.then(counted)
    } else {
      if (queue.length >= WAITING_MAX) throw tooManyAttempts()
      turn = queue.last.then(async () => {
        check(address, user)
        return counted(await verify())
      })
    }
    queue.length++
    queue.last = turn.catch(() => {})
    try {
      return await turn
    } finally {
      if (--queue.length === 0) queues.delete(key)
    }
  }

  return {
    check,
    fail,
    attempt,
    get size() {
      return failures.size
    },
  }
}

const tooManyAttempts = () => new CofferError('tooManyAttempts', 'Too many failed attempts, wait a second')
