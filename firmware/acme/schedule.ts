/** Decides when a certificate is ordered. Times are milliseconds since 1970. RFC 9773 section 4.2 for the window of the CA. */

const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

const RETRIES_MS = [MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS] as const
const RETRY_SPREAD = 0.25 // so that many appliances do not ask at once
const RENEWAL_SPREAD = 0.1
const SHORT_LIFE_MS = 10 * DAY_MS
const REMAINDER = 0.1 // of the life, before whose end a renewal and its retries have to be tried
const RENEWAL_MS_MIN = 10 * MINUTE_MS // so that a CA of very short lives does not get order after order

interface Failure {
  /** Failures in a row, with this one. */
  failures: number
  /** The CA asks to wait that long. */
  retryAfterMs?: number | undefined
  /** End of the CA's certificate in use, if there is one. */
  notAfterMs?: number | undefined
}

/** `fraction` is a random number below 1. */
export function retryAt(
  { failures, retryAfterMs = 0, notAfterMs = Infinity }: Failure,
  nowMs: number,
  fraction: number,
): number {
  const leftMs = notAfterMs - nowMs
  const mostMs = leftMs > 0 ? Math.max(leftMs * REMAINDER, MINUTE_MS) : HOUR_MS
  const delayMs = Math.min(RETRIES_MS[Math.min(failures, RETRIES_MS.length) - 1] ?? 0, mostMs)
  return nowMs + Math.max(delayMs * (1 + RETRY_SPREAD * fraction), Math.min(retryAfterMs, DAY_MS))
}

export interface Life {
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** Start and end. */
export type RenewalWindow = readonly [number, number]

/**
 * Returns a moment of the CA's window if there is one, else one after two thirds of the life, or half of a short one; in any case before
 * the last tenth of the life. It is some time after `installedAtMs`, so that a window in the past does not order without end.
 */
export function renewAt(
  { notBeforeMs, notAfterMs }: Life,
  window: RenewalWindow | null,
  fraction: number,
  installedAtMs: number,
): number {
  const lifeMs = notAfterMs - notBeforeMs
  const firstMs = installedAtMs + Math.max(Math.min(HOUR_MS, lifeMs / 4), RENEWAL_MS_MIN)
  const share = lifeMs < SHORT_LIFE_MS ? 1 / 2 : 2 / 3
  const chosenMs =
    window === null
      ? notBeforeMs + lifeMs * share * (1 - RENEWAL_SPREAD * fraction)
      : window[0] + (window[1] - window[0]) * fraction
  return Math.max(Math.min(chosenMs, notAfterMs - lifeMs * REMAINDER), firstMs)
}

const INFO_MS = { min: HOUR_MS, usual: 6 * HOUR_MS, max: DAY_MS } as const // RFC 9773 section 4.3

/** `retryAfterMs`: as the CA says; undefined after a failure. */
export const askAgainAt = (nowMs: number, retryAfterMs: number | undefined): number =>
  nowMs + Math.min(Math.max(retryAfterMs ?? INFO_MS.usual, INFO_MS.min), INFO_MS.max)
