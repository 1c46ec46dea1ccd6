/** Rate limits per name, in fixed windows that begin with the first call. Contract section 1.5. */

import { ChatError } from '../base/error.ts'

interface Rate {
  calls: number
  withinMs: number
}

export interface RateLimits {
  account: Rate
  address: Rate
  media: Rate
  /** Audited changes per account. */
  changes: Rate
}

export const RATE_LIMITS: RateLimits = {
  account: { calls: 200, withinMs: 60_000 },
  address: { calls: 100, withinMs: 60_000 },
  media: { calls: 2000, withinMs: 60_000 }, // a page of messages shows dozens of pictures, and an office shares an address
  changes: { calls: 100, withinMs: 3_600_000 },
}

const NAMES_MAX = 20_000 // clients can use any number of addresses; when full, the oldest window is dropped

/** Has the same headers as an answer within the limit. */
export class RateLimitHit extends ChatError {
  readonly headers: Readonly<Record<string, string>>

  constructor(secondsLeft: number, headers: Readonly<Record<string, string>>) {
    super('RATE_LIMIT_HIT', 'API usage exceeded rate limit', { 'retry-after': secondsLeft })
    this.headers = headers
  }
}

interface RateLimiter {
  /** Returns headers for the answer. Throws `RateLimitHit`. */
  take(name: string): Readonly<Record<string, string>>
}

/** `nowMs`: monotonic clock; `timeS`: wall clock, for the header. */
export function createRateLimiter({ calls, withinMs }: Rate, nowMs: () => number, timeS: () => number): RateLimiter {
  const windows = new Map<string, { used: number; endsMs: number }>() // oldest first

  function windowOf(name: string, now: number): { used: number; endsMs: number } {
    const known = windows.get(name)
    if (known !== undefined && known.endsMs > now) return known
    windows.delete(name)
    for (const [other, { endsMs }] of windows) {
      if (endsMs > now && windows.size < NAMES_MAX) break
      windows.delete(other)
    }
    const window = { used: 0, endsMs: now + withinMs }
    windows.set(name, window)
    return window
  }

  return {
    take(name) {
      const now = nowMs()
      const window = windowOf(name, now)
      const secondsLeft = (window.endsMs - now) / 1000
      const isOver = window.used >= calls
      if (!isOver) window.used++
      const headers = {
        'x-ratelimit-limit': String(calls),
        'x-ratelimit-remaining': String(calls - window.used),
        'x-ratelimit-reset': String(Math.ceil(timeS() + secondsLeft)),
      }
      if (isOver) throw new RateLimitHit(secondsLeft, headers)
      return headers
    },
  }
}
