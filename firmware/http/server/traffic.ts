/** What the metrics know of the responses: contract section 4.8. */

export interface Traffic {
  record(status: number, seconds: number): void
  readonly total: number
  /** By status; a status appears with its first response. */
  readonly byStatus: ReadonlyMap<number, number>
  /** Smoothed, in seconds. */
  readonly responseSeconds: number
}

const OLD_WEIGHT = 0.7

export function createTraffic(): Traffic {
  const byStatus = new Map<number, number>()
  let total = 0
  let responseSeconds = 0
  return {
    record: (status, seconds) => {
      responseSeconds = total === 0 ? seconds : OLD_WEIGHT * responseSeconds + (1 - OLD_WEIGHT) * seconds
      total++
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
    },
    get total() {
      return total
    },
    byStatus,
    get responseSeconds() {
      return responseSeconds
    },
  }
}
