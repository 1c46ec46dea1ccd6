/** Presence of users, as new and old clients read it. Contract sections 2.5, 9 and rows E79 to E81. */

/** In whole seconds of UNIX time. */
export interface Times {
  /** 0: never. */
  readonly active: number
  /** Time of the last report, active or idle, from any client of the user. */
  readonly idle: number
}

export type PresenceStatus = 'active' | 'idle'

/** Reports within this time change nothing, so that reports once a minute do not cause a change each. */
const REPORT_SECONDS_MIN = 55
/** Legacy clients get a single time: a user who was active at most this long before the last report counts as active. */
const LEGACY_ACTIVE_SECONDS = 70
export const OFFLINE_SECONDS = 200 // server_presence_offline_threshold_seconds
export const PING_SECONDS = 60 // server_presence_ping_interval_seconds
export const HISTORY_DAYS = 14

interface Report {
  /** Times after the report. Null: the report changes nothing. */
  times: Times | null
  /** The user was offline and is active again: other clients get an event instead of finding out at their next request. */
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

/** Presence in the legacy format. The client `website` stands for all clients. */
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

/** True if the last report is recent enough for the requested history. */
export const isWithin = ({ idle }: Times, historyDays: number, now: number): boolean =>
  idle >= now - historyDays * 86_400
