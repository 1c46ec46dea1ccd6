/**
 * How often events that nobody signed in for enter the audit log. The log is bounded: without this, anybody who reaches
 * the port could push everything else out of it.
 */

const BURST = 100 // a person's mistakes, and a first look at an attack
const INTERVAL_MS = 10_000 // then a line each: twelve days until an attack has filled the default log

export interface Budget {
  /** True when one more may be written. */
  take(): boolean
}

/** `nowMs` must never jump. */
export function createBudget(nowMs: () => number): Budget {
  let left = BURST
  let filledMs = nowMs()
  return {
    take() {
      const earned = Math.floor((nowMs() - filledMs) / INTERVAL_MS)
      filledMs += earned * INTERVAL_MS
      left = Math.min(BURST, left + earned)
      if (left === 0) return false
      left--
      return true
    },
  }
}
