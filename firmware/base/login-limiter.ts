/** The limit on failed attempts: one per second for the prefix of a client's address and a name. Contract section 7.1. */

import { CofferError } from './error.ts'
import type { QueuePriority } from './fair-queue.ts'
import { deleteOldest } from './iteration.ts'

/** A failure blocks its pair for this long. */
const WINDOW_MS = 1000

/** About 4 MiB of names at their longest; when full, the oldest failure, or success, is forgotten first. */
const PAIRS_MAX = 10_000

/** Attempts that wait for an earlier one of the same pair; more are refused as if the limit were hit. */
const WAITING_MAX = 4096
const WAITING_TO_UNLOCK_MAX = 1 // nobody has reason to send two

/** The pseudo user of `/unlock` and of the console prompt. */
export const UNLOCK_USER = '_unlock'

/** `place` is the one that the attempt has wherever it must wait. */
type Verify<T> = (place: QueuePriority) => T | null | Promise<T | null>

export interface LoginLimiter {
  /** Throws `tooManyAttempts` while a failure of this pair is younger than a second. */
  check(address: string, user: string): void
  fail(address: string, user: string): void
  /** Forgets the failures of a user from every address. */
  forgive(user: string): void
  /**
   * Checks, verifies, and records a failure when `verify` gives null. Attempts of one pair run one after the other: a
   * wrong guess blocks those that arrived with it, and right ones all succeed. Nobody waits for what `verify` knows at once.
   */
  attempt<T>(address: string, user: string, verify: Verify<T>): Promise<T | null>
  /**
   * As `attempt`, but returns what `recall` gives, at once, for a user who was right before from the same prefix: the user neither waits
   * for others there nor is blocked by them. From another prefix the user is: `recall` would answer guesses as fast as they come.
   */
  recallOrAttempt<T>(address: string, user: string, recall: () => T | null, verify: Verify<T>): T | Promise<T | null>
  /** Pairs remembered at the moment for their failure. */
  readonly size: number
}

/** `nowMs` must never jump: a monotonic clock, not the appliance's. */
export function createLoginLimiter(nowMs: () => number = () => performance.now()): LoginLimiter {
  const failures = new Map<string, number>() // in order of time, oldest first
  const successes = new Set<string>() // oldest first
  const queues = new Map<string, { last: Promise<unknown>; length: number }>()

  const pair = (address: string, user: string) => `${prefixOf(address)} ${user}`

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

  function forgive(user: string): void {
    for (const key of failures.keys()) if (key.slice(key.indexOf(' ') + 1) === user) failures.delete(key)
  }

  /** Who logged in from there may be the one who unlocks. */
  function succeed(address: string, user: string): void {
    for (const key of [pair(address, UNLOCK_USER), pair(address, user)]) {
      successes.delete(key)
      if (successes.size >= PAIRS_MAX) deleteOldest(successes)
      successes.add(key)
    }
  }

  function recallOrAttempt<T>(
    address: string,
    user: string,
    recall: () => T | null,
    verify: Verify<T>,
  ): T | Promise<T | null> {
    const recalled = successes.has(pair(address, user)) ? recall() : null
    return recalled ?? attempt(address, user, verify)
  }

  async function attempt<T>(address: string, user: string, verify: Verify<T>): Promise<T | null> {
    const key = pair(address, user)
    const isKnown = successes.has(key)
    check(address, user)
    const counted = (result: T | null): T | null => {
      if (result === null) fail(address, user)
      else succeed(address, user)
      return result
    }
    const place: QueuePriority = { rank: isKnown ? 'known' : 'unknown', prefix: prefixOf(address) }
    let queue = queues.get(key)
    let turn: Promise<T | null>
    if (queue === undefined) {
      const result = verify(place)
      if (!(result instanceof Promise)) return counted(result)
      queue = { last: Promise.resolve(), length: 0 }
      queues.set(key, queue)
      turn = result.then(counted)
    } else {
      const waitingMax = user === UNLOCK_USER ? WAITING_TO_UNLOCK_MAX : WAITING_MAX
      if (queue.length > waitingMax) throw tooManyAttempts()
      turn = queue.last.then(async () => {
        check(address, user)
        return counted(await verify(place))
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
    forgive,
    attempt,
    recallOrAttempt,
    get size() {
      return failures.size
    },
  }
}

const NETWORK_GROUPS = 4 // of the eight of an IPv6 address; the others are its host's to choose

/** The part of an address that one client has for itself: an IPv4 address, or the /64 of an IPv6 address. RFC 4291 section 2.2. */
export function prefixOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.replace(/%.*$/s, '').split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':')
    while (groups.length + last.length < 8) groups.push('0')
    groups.push(...last)
  }
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`
}

const tooManyAttempts = () => new CofferError('tooManyAttempts', 'Too many failed attempts, wait a second')
