/** Who is at his client, in the forms that new and old clients read. Contract sections 2.5, 9 and rows E79 to E81. */

/** Times in whole seconds of UNIX time; null: never seen so. */
export interface Presence {
  active: number | null
  /** When any of his clients last reported, active or not. */
  connected: number
  /** Grows with each change of anybody's, so that a client asks for what is newer than it knows. */
  updateId: number
}

export type PresenceStatus = 'active' | 'idle'

/** Reports within this time change nothing, so that each client's minute is no change for all others. */
const REPORT_SECONDS_MIN = 55
/** Old clients know one time: whoever was active so shortly before his last report counts as active. */
const LEGACY_ACTIVE_SECONDS = 70
export const OFFLINE_SECONDS = 200 // server_presence_offline_threshold_seconds
export const PING_SECONDS = 60 // server_presence_ping_interval_seconds
export const HISTORY_DAYS = 14

export interface Report {
  /** As it is after the report, without an id yet; null: it says nothing new. */
  presence: Omit<Presence, 'updateId'> | null
  /** He was away and is back: others are told at once rather than when they next ask. */
  returned: boolean
}

export function report(before: Presence | undefined, status: PresenceStatus, now: number): Report {
  const sinceActive = now - (before?.active ?? Number.NEGATIVE_INFINITY)
  const sinceConnected = now - (before?.connected ?? Number.NEGATIVE_INFINITY)
  const activeIsNews = status === 'active' && sinceActive > REPORT_SECONDS_MIN
  if (!activeIsNews && sinceConnected <= REPORT_SECONDS_MIN) return { presence: null, returned: false }
  return {
    presence: { active: activeIsNews ? now : (before?.active ?? null), connected: now },
    returned: status === 'active' && sinceActive > OFFLINE_SECONDS,
  }
}

export const modern = ({ active, connected }: Pick<Presence, 'active' | 'connected'>) => ({
  ...(active !== null && { active_timestamp: active }),
  idle_timestamp: connected,
})

/** What one client says of him: `website` stands for all. */
export function legacyClient({ active, connected }: Pick<Presence, 'active' | 'connected'>) {
  const isActive = active !== null && active + LEGACY_ACTIVE_SECONDS >= connected
  return {
    client: 'website',
    status: (isActive ? 'active' : 'idle') as PresenceStatus,
    timestamp: isActive ? active : connected,
    pushable: false,
  }
}

export function legacy(presence: Pick<Presence, 'active' | 'connected'>) {
  const website = legacyClient(presence)
  const { client, status, timestamp } = website
  return { aggregated: { client, status, timestamp }, website }
}

/** Whether it is recent enough to be answered. */
export const isWithin = ({ connected }: Presence, historyDays: number, now: number): boolean =>
  connected >= now - historyDays * 86_400
