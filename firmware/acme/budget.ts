/**
 * Failed validations of names. Public CAs refuse a name after five in an hour, for all who ask. The pauses between attempts alone do not
 * keep to that, because an administrator or a changed setting starts an attempt at once.
 *
 * A validation counts as failed from before it begins until it has succeeded, so that a power cut in between cannot hide one. Ages are
 * measured by a clock that never jumps; across restarts by the appliance's clock.
 */

import { HOUR_MS } from './schedule.ts'

const FAILURES_PER_HOUR_MAX = 5
const VALIDATION_MS_MAX = 600_000 // polls end by then: order.ts
const NAMES_MAX = 1000 // an administrator may change names again and again

interface BudgetClock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds since any moment; never jumps. */
  monotonicMs(): number
}

/** Names and the times of their failures by the appliance's clock, as they are stored. */
export type Failures = Readonly<Record<string, readonly number[]>>

export interface ValidationBudget {
  /** Milliseconds until one more validation of all these names may begin. */
  delayMs(names: readonly string[]): number
  /** Counts one for each name, all of which differ. Call it, and store the failures, before the validation begins. */
  begin(names: readonly string[]): void
  /** Call it once for each name of `begin`. */
  end(name: string, isValid: boolean): void
  failures(): Failures
}

export function createBudget({ now, monotonicMs }: BudgetClock, stored: Failures): ValidationBudget {
  /** Times by the monotonic clock, oldest first. During a validation the last one is its latest end, so that none blocks for ever. */
  const times = new Map<string, number[]>()

  const startMs = monotonicMs()
  for (const [name, ended] of Object.entries(stored)) {
    const ages = ended.map((endMs) => Math.max(now() - endMs, 0)) // a later time: the clock was put back
    times.set(
      name,
      ages.map((ageMs) => startMs - ageMs).sort((a, b) => a - b),
    )
  }

  function forgetOld(): void {
    const sinceMs = monotonicMs() - HOUR_MS
    for (const [name, all] of times) {
      const recent = all.filter((timeMs) => timeMs > sinceMs)
      if (recent.length === 0) times.delete(name)
      else times.set(name, recent)
    }
  }

  /** Moment at which `count` failures at most are left of these. */
  const freeAt = (all: readonly number[], count: number): number => (all.at(-1 - count) ?? -Infinity) + HOUR_MS

  return {
    delayMs(names) {
      forgetOld()
      const nowMs = monotonicMs()
      const ofNames = names.map((name) => freeAt(times.get(name) ?? [], FAILURES_PER_HOUR_MAX - 1))
      const latest = [...times.values()].map((all) => all.at(-1) ?? nowMs).sort((a, b) => a - b)
      const excess = times.size + names.filter((name) => !times.has(name)).length - NAMES_MAX
      const ofAll = excess > 0 ? (latest[excess - 1] ?? nowMs) + HOUR_MS : -Infinity
      return Math.max(0, ofAll - nowMs, ...ofNames.map((atMs) => atMs - nowMs))
    },
    begin(names) {
      const endMs = monotonicMs() + VALIDATION_MS_MAX
      for (const name of names) times.set(name, [...(times.get(name) ?? []), endMs])
    },
    end(name, isValid) {
      const others = (times.get(name) ?? []).slice(0, -1)
      const rest = isValid ? others : [...others, monotonicMs()]
      if (rest.length === 0) times.delete(name)
      else times.set(name, rest)
    },
    failures() {
      forgetOld()
      const nowMs = monotonicMs()
      const stored = (timeMs: number) => Math.ceil(now() - nowMs + timeMs)
      return Object.fromEntries([...times].map(([name, all]) => [name, all.map(stored)]))
    },
  }
}
