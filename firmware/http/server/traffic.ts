/** Counts and durations of responses for the metrics: contract section 4.8. */

export interface Traffic {
  record(status: number, seconds: number): void
  readonly total: number
  /** By status; a status appears with its first response. */
  readonly byStatus: ReadonlyMap<number, number>
  /** Smoothed mean, in seconds. */
  readonly responseSeconds: number
  /** Counts of responses above the previous bound and at most `boundSeconds`; the last bound is infinite. */
  readonly durations: readonly { boundSeconds: number; count: number }[]
  readonly totalSeconds: number
}

const OLD_WEIGHT = 0.7

/** From a hash to a passphrase derivation on a small device, and a restore. */
const BOUNDS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, Infinity]

export function createTraffic(): Traffic {
  const byStatus = new Map<number, number>()
  let total = 0
  let responseSeconds = 0
  let totalSeconds = 0
  const durations = BOUNDS_SECONDS.map((boundSeconds) => ({ boundSeconds, count: 0 }))
  return {
    record: (status, seconds) => {
      responseSeconds = total === 0 ? seconds : OLD_WEIGHT * responseSeconds + (1 - OLD_WEIGHT) * seconds
      total++
      totalSeconds += seconds
      const bucket = durations.find(({ boundSeconds }) => seconds <= boundSeconds)
      if (bucket !== undefined) bucket.count++
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
    },
    get total() {
      return total
    },
    byStatus,
    get responseSeconds() {
      return responseSeconds
    },
    durations,
    get totalSeconds() {
      return totalSeconds
    },
  }
}
