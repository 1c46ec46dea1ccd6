/** Presence of users, from the register answer, events, and answers of POST /users/me/presence. `chat/CONTRACT.md`, section 2.5. */

import type { PresenceTimes, Registered } from './types.ts'

type Availability = 'active' | 'idle' | 'offline'

export interface Presences {
  /** By user id. Users who hide it, or were not here for two weeks, are absent. */
  readonly times: Map<number, PresenceTimes>
  /** The newest presence that is known; the next answer has newer ones only. */
  lastUpdateId: number
  /** The server's clock minus this computer's. */
  readonly aheadS: number
  readonly offlineAfterS: number
  readonly reportEveryS: number
}

export const createPresences = (registered: Registered, nowMs: number): Presences => ({
  times: new Map(byId(registered.presences)),
  lastUpdateId: registered.presence_last_update_id,
  aheadS: registered.server_timestamp - nowMs / 1000,
  offlineAfterS: registered.server_presence_offline_threshold_seconds,
  reportEveryS: registered.server_presence_ping_interval_seconds,
})

export function takePresences({ times }: Presences, presences: Readonly<Record<string, PresenceTimes>>): void {
  for (const [id, one] of byId(presences)) times.set(id, one)
}

export function availabilityOf(presences: Presences, id: number, nowMs: number): Availability {
  const { active_timestamp: activeS = 0, idle_timestamp: idleS = 0 } = presences.times.get(id) ?? {}
  const sinceS = nowMs / 1000 + presences.aheadS - presences.offlineAfterS
  return activeS > sinceS ? 'active' : idleS > sinceS ? 'idle' : 'offline'
}

/** Seconds since the user was active; null if that is not known. */
export function sinceActiveS({ times, aheadS }: Presences, id: number, nowMs: number): number | null {
  const { active_timestamp: activeS, idle_timestamp: idleS } = times.get(id) ?? {}
  const lastS = activeS ?? idleS
  return lastS === undefined ? null : Math.max(0, nowMs / 1000 + aheadS - lastS)
}

const byId = (presences: Readonly<Record<string, PresenceTimes>>): [number, PresenceTimes][] =>
  Object.entries(presences).map(([id, one]) => [Number(id), one])
