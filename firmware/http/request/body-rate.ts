/** How quickly request bodies must come, and whether their requests are still admitted, while they are on their way. */

import { CofferError } from '../../base/error.ts'
import { MIB, memoryFor } from '../../base/memory.ts'
import type { AuthorizationCheck } from '../../base/request-authorization.ts'

export interface BodyLimits {
  /** How long nothing may come, and how far a body may fall behind the least rate. */
  graceMs: number
  bytesPerSecondMin: number
  /** All bodies being read at the same time, so that large ones cannot exhaust the memory together. */
  totalBytesMax: number
  /** Of each body, so much does not count there: large ones of others keep nobody from signing, or from unlocking. */
  smallBytes: number
  /** A body of a request without credentials, however quickly it comes. */
  anonymousMs: number
  /** The same for one that is streamed. */
  anonymousStreamMs: number
}

export const BODY_LIMITS: BodyLimits = {
  graceMs: 10_000,
  bytesPerSecondMin: 16 * 1024, // a bad mobile link; 67 MiB may take over an hour
  totalBytesMax: memoryFor(1 / 2, 68 * MIB, 320 * MIB), // four of the largest, or one on a small device
  smallBytes: 16 * 1024,
  anonymousMs: 30_000, // two passphrases and a time
  anonymousStreamMs: 600_000, // the backup of a million keys at 2 MB/s
}

const CHECK_MS = 500

/** Under which a body is waited for. */
export interface Terms {
  /** Throws when the request is admitted no longer; asked as often as the rate. */
  check: AuthorizationCheck
  /** In all. */
  withinMs: number
}

export const ANY_TERMS: Terms = { check: () => {}, withinMs: Number.POSITIVE_INFINITY }

/** A body being read. */
export interface Reading {
  terms: Terms
  /** How long the client has had so far. */
  elapsedMs: () => number
  receivedBytes: number
  refuse: (error: CofferError) => void
  /** How much longer nothing may come; what comes at the least rate keeps it as it is. */
  creditMs: number
  /** Up to when, and up to which byte, that has been reckoned. */
  reckonedMs: number
  reckonedBytes: number
}

export interface RateWatch {
  /** `refuse` is called when it comes too slowly or is admitted no longer; `elapsedMs` gives how long the client has had. */
  watch(terms: Terms, elapsedMs: () => number, refuse: (error: CofferError) => void): Reading
  release(reading: Reading): void
  /** Asks now whether the requests of all bodies on their way are still admitted. */
  recheck(): void
}

export function createRateWatch(limits: BodyLimits): RateWatch {
  const readings = new Set<Reading>()
  let timer: NodeJS.Timeout | undefined

  /** One timer for all: it runs while there is anything to watch. */
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

/** A burst does not pay for more silence than the grace: what counts is the rate of late, not that since the start. */
function isLate(reading: Reading, { graceMs, bytesPerSecondMin }: BodyLimits): boolean {
  const elapsedMs = reading.elapsedMs()
  const earnedMs = ((reading.receivedBytes - reading.reckonedBytes) / bytesPerSecondMin) * 1000
  reading.creditMs = Math.min(graceMs, reading.creditMs - (elapsedMs - reading.reckonedMs) + earnedMs)
  reading.reckonedMs = elapsedMs
  reading.reckonedBytes = reading.receivedBytes
  return reading.creditMs < 0 || elapsedMs > reading.terms.withinMs
}
