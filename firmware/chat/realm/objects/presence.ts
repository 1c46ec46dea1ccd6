/** Who is at his client, in the forms that new and old clients read. Contract sections 2.5, 9 and rows E79 to E81. */

/** Times in whole seconds of UNIX time. */
export interface Times {
  /** 0: never. */
  readonly active: number
  /** When any of his clients last reported, active or not. */
  readonly idle: number
}

export type PresenceStatus = 'active' | 'idle'

/** Reports within this time change nothing, so that each client's minute is no change for all others. */
const REPORT_SECONDS_MIN = 55
/** Old clients know one time: whoever was active so shortly before his last report counts as active. */
const LEGACY_ACTIVE_SECONDS = 70
export const OFFLINE_SECONDS = 200 // server_presence_offline_threshold_seconds
export const PING_SECONDS = 60 // server_presence_ping_interval_seconds
export const HISTORY_DAYS = 14

interface Report {
  /** As they are after the report; null: it says nothing new. */
  times: Times | null
  /** He was away and is back: others are told at once rather than when they next ask. */
  returned: boolean
}

export function report(before: Times | undefined, status: PresenceStatus, now: number): Report {
  const sinceActive = now - (before?.active ?? 0)
  const sinceAny = now - (before?.idle ?? 0)
  const activeIsNews = status === 'active' && sinceActive > REPORT_SECONDS_MIN
  if (!activeIsNews && sinceAny <= REPORT_SECONDS_MIN) return { times: null, returned: false }
  return {
    times: { active: activeIsNews ? now : (before?.active ?? 0), idle: now },
    returned: status === 'active' && sinceActive > OFFLINE_SECONDS,
  }
}

export const modern = ({ active, idle }: Times) => ({
  ...(active > 0 && { active_timestamp: active }),
  idle_timestamp: idle,
})

/** What one client says of him: `website` stands for all. */
export function legacyClient({ active, idle }: Times) {
  const isActive = active > 0 && active + LEGACY_ACTIVE_SECONDS >= idle
  return {
    client: 'website',
    status: (isActive ? 'active' : 'idle') as PresenceStatus,
    timestamp: isActive ? active : idle,
    pushable: false,
  }
}

export function legacy(times: Times) {
  const website = legacyClient(times)
  const { client, status, timestamp } = website
  return { aggregated: { client, status, timestamp }, website }
}

/** Whether it is recent enough to be answered. */
export const isWithin = ({ idle }: Times, historyDays: number, now: number): boolean =>
  idle >= now - historyDays * 86_400
