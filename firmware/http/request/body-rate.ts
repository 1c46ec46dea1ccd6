/** While request bodies arrive, checks their rate and whether their requests are still authorized. */

import { CofferError } from '../../base/error.ts'
import { MIB, memoryFor } from '../../base/memory.ts'
import type { AuthorizationCheck } from '../../base/request-authorization.ts'

export interface BodyLimits {
  /** Longest silence, and how far a body may fall behind the minimum rate. */
  graceMs: number
  bytesPerSecondMin: number
  totalBytesMax: number
  /**
   * The first bytes of each body do not count toward `totalBytesMax`, so that large bodies of other clients cannot block a signature or an
   * unlock.
   */
  smallBytes: number
  /** Time limit of a body without credentials, at any rate. */
  anonymousMs: number
  anonymousStreamMs: number
}

export const BODY_LIMITS: BodyLimits = {
  graceMs: 10_000,
  bytesPerSecondMin: 16 * 1024, // a bad mobile link; 67 MiB may take over an hour
  totalBytesMax: memoryFor(1 / 2, 68 * MIB, 320 * MIB), // four of the largest, or one on a small device
  smallBytes: 16 * 1024,
  anonymousMs: 30_000, // enough for two passphrases and a time
  anonymousStreamMs: 600_000, // the backup of a million keys at 2 MB/s
}

const CHECK_MS = 500

export interface Terms {
  /** Throws once the request is no longer authorized. Called as often as the rate is checked. */
  check: AuthorizationCheck
  withinMs: number
  /** The user whose body it is; clients without credentials share the name `''`. */
  user: string
}

export const ANY_TERMS: Terms = { check: () => {}, withinMs: Number.POSITIVE_INFINITY, user: '' }

export interface Reading {
  terms: Terms
  elapsedMs: () => number
  receivedBytes: number
  refuse: (error: CofferError) => void
  /** How long the client may still be silent. Data at the minimum rate keeps it constant. */
  creditMs: number
  /** Time and byte count up to which `creditMs` is computed. */
  reckonedMs: number
  reckonedBytes: number
}

export interface RateWatch {
  /** Calls `refuse` if the body is too slow or its request no longer authorized. `elapsedMs` returns the time that the client has had. */
  watch(terms: Terms, elapsedMs: () => number, refuse: (error: CofferError) => void): Reading
  release(reading: Reading): void
  recheck(): void
}

export function createRateWatch(limits: BodyLimits): RateWatch {
  const readings = new Set<Reading>()
  let timer: NodeJS.Timeout | undefined

  function checkRates(): void {
    if (readings.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
    for (const reading of readings) {
      if (isLate(reading, limits)) reading.refuse(new CofferError('timeout', 'The request body came too slowly'))
    }
    recheck()
  }

  function recheck(): void {
    for (const { terms, refuse } of readings) {
      try {
        terms.check()
      } catch (error) {
        refuse(error as CofferError)
      }
    }
  }

  return {
    watch(terms, elapsedMs, refuse) {
      const account = { receivedBytes: 0, creditMs: limits.graceMs, reckonedMs: 0, reckonedBytes: 0 }
      const reading = { terms, elapsedMs, refuse, ...account }
      readings.add(reading)
      timer ??= setInterval(checkRates, Math.min(CHECK_MS, limits.graceMs))
      return reading
    },
    release: (reading) => void readings.delete(reading),
    recheck,
  }
}

/** The credit never exceeds the grace, so the recent rate counts: a burst does not pay for a long silence. */
function isLate(reading: Reading, { graceMs, bytesPerSecondMin }: BodyLimits): boolean {
  const elapsedMs = reading.elapsedMs()
  const earnedMs = ((reading.receivedBytes - reading.reckonedBytes) / bytesPerSecondMin) * 1000
  reading.creditMs = Math.min(graceMs, reading.creditMs - (elapsedMs - reading.reckonedMs) + earnedMs)
  reading.reckonedMs = elapsedMs
  reading.reckonedBytes = reading.receivedBytes
  return reading.creditMs < 0 || elapsedMs > reading.terms.withinMs
}
