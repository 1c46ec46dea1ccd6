/** Takes reports of presence and answers requests for it. Contract rows E79 to E81, V19. */

import { userSetting } from '../model/read-settings.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { accessOf, audiencesOf } from '../permissions/user-access.ts'
import { isWithin, legacy, legacyClient, modern, OFFLINE_SECONDS, type PresenceStatus, report } from './presence.ts'

const AWAY_SECONDS = OFFLINE_SECONDS + 5 // certainly offline, whatever the rounding

/** `legacy` is by API address, `modern` by user id. */
type PresenceForm = 'legacy' | 'modern'

interface PresenceQuery {
  form: PresenceForm
  historyDays: number
  /** Selects presences newer than this `last_update_id`. -1: all. */
  after: number
}

export function presencesFor(realm: Realm, viewer: User, { form, historyDays, after }: PresenceQuery) {
  const now = nowOf(realm)
  const mayAccess = accessOf(realm, viewer)
  const presences: Record<string, object> = {}
  let lastUpdateId = after
  for (const presence of realm.state.presence.all()) {
    lastUpdateId = Math.max(lastUpdateId, presence.updateId)
    const user = realm.state.user.get(presence.userId)
    if (user === undefined || !user.isActive || user.bot !== null || !mayAccess(user)) continue
    if (presence.updateId <= after || !isWithin(presence, historyDays, now)) continue
    if (form === 'modern') presences[user.id] = modern(presence)
    else presences[user.email] = legacy(presence)
  }
  return { presences, lastUpdateId }
}

export function takeReport(realm: Realm, me: User, status: PresenceStatus): void {
  if (me.bot !== null || !userSetting(me, 'presence_enabled')) return
  const { times, returned } = report(realm.state.presence.get(me.id), status, nowOf(realm))
  if (times === null) return
  realm.transaction((tx) => {
    putPresence(tx, me, times)
    if (returned) publishPresence(realm, tx, me)
  })
}

/** Called after `presence_enabled` changed. Disabling makes the user look offline at once, enabling active. */
export function showPresenceSetting(realm: Realm, tx: Transaction, user: User, isEnabled: boolean): void {
  const now = nowOf(realm)
  const then = now - AWAY_SECONDS
  const times = isEnabled ? { active: now, idle: now } : { active: then, idle: then }
  putPresence(tx, user, times)
  publishPresence(realm, tx, user)
}

/** Called when an account is deactivated. Makes a user who looks online look offline. */
export function hidePresence(realm: Realm, tx: Transaction, user: User): void {
  const presence = realm.state.presence.get(user.id)
  const last = Math.max(presence?.active ?? 0, presence?.idle ?? 0)
  if (last > nowOf(realm) - AWAY_SECONDS) showPresenceSetting(realm, tx, user, false)
}

const putPresence = (tx: Transaction, user: User, times: { active: number; idle: number }): void =>
  tx.put('presence', { userId: user.id, ...times, updateId: tx.nextId('presence') })

function publishPresence(realm: Realm, tx: Transaction, user: User): void {
  const presence = realm.state.presence.require(user.id)
  tx.publish({
    type: 'presence',
    to: audiencesOf(realm, user).seeing.map(({ id }) => id),
    make: ({ can, slimPresence }) => {
      if (can.simplified_presence_events) return { presences: { [user.id]: modern(presence) } }
      return {
        user_id: user.id,
        ...(!slimPresence && { email: user.email }),
        server_timestamp: nowOf(realm),
        presence: { website: legacyClient(presence) },
      }
    },
  })
}
