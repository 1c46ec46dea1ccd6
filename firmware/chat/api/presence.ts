/** Presence and user status. Contract section 3.4, rows E76 to E81. */

import { badRequest } from '../base/error.ts'
import { boolean, integer, nameText, naturalNumber, oneOf, trimmed } from '../pipeline/parameters.ts'
import { REACTION_TYPES } from '../realm/model/emoji.ts'
import { userSetting } from '../realm/model/read-settings.ts'
import { nowOf, type Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import { HISTORY_DAYS, legacy, modern } from '../realm/objects/presence.ts'
import { presencesFor, takeReport } from '../realm/objects/presences.ts'
import { setStatus, statusObject } from '../realm/objects/statuses.ts'
import { changePresenceEnabled } from '../realm/organization/users/settings.ts'
import { findOwnUser, findUser } from '../realm/permissions/user-find.ts'
import { type AnyDeclaration, declare } from './declare.ts'
import { userSegment } from './users.ts'

const STATUS_CHARACTERS_MAX = 60
const HISTORY_DAYS_MAX = 3650

const statusParameters = {
  status_text: nameText()
    .map((text) => text.trim())
    .where((text) => [...text].length <= STATUS_CHARACTERS_MAX, `must have at most ${STATUS_CHARACTERS_MAX} characters`)
    .optional(),
  emoji_name: trimmed().optional(),
  emoji_code: trimmed().optional(),
  reaction_type: oneOf(...REACTION_TYPES, '').optional(),
}

interface GivenStatus {
  status_text: string | undefined
  emoji_name: string | undefined
  emoji_code: string | undefined
  reaction_type: (typeof REACTION_TYPES)[number] | '' | undefined
}

export const presenceDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/users/:user_id/status',
    who: 'account',
    segments: { user_id: integer() },
    handle: ({ realm, me, path }) => ({ status: statusObject(realm, findUser(realm, me, path.user_id)) }),
  }),
  declare({
    method: 'POST',
    path: '/users/:user_id/status',
    who: 'administrator',
    segments: { user_id: integer() },
    parameters: statusParameters,
    handle: ({ realm, me, path, input }) => {
      setGivenStatus(realm, findOwnUser(realm, me, path.user_id), input, undefined)
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/users/me/status',
    who: 'account',
    parameters: { ...statusParameters, away: boolean().optional() },
    handle: ({ realm, me, input }) => {
      setGivenStatus(realm, me, input, input.away)
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/users/me/presence',
    isExpensive: true,
    usesReserve: true,
    who: 'account',
    parameters: {
      status: oneOf('active', 'idle'),
      ping_only: boolean().default(false),
      new_user_input: boolean().default(false),
      last_update_id: integer()
        .where((id) => id >= -1, 'must be -1 or more')
        .optional(),
      history_limit_days: naturalNumber()
        .where((days) => days <= HISTORY_DAYS_MAX, `must be at most ${HISTORY_DAYS_MAX}`)
        .default(HISTORY_DAYS),
      slim_presence: boolean().default(false),
    },
    handle: ({ realm, me, input }) => {
      takeReport(realm, me, input.status)
      if (input.ping_only) return { server_timestamp: nowOf(realm), zephyr_mirror_active: false }
      const isModern = input.slim_presence || input.last_update_id !== undefined
      const { presences, lastUpdateId } = presencesFor(realm, me, {
        form: isModern ? 'modern' : 'legacy',
        historyDays: input.history_limit_days,
        after: input.last_update_id ?? -1,
      })
      return {
        presence_last_update_id: lastUpdateId,
        server_timestamp: nowOf(realm),
        presences,
        zephyr_mirror_active: false,
      }
    },
  }),
  declare({
    method: 'GET',
    path: '/users/:user_id/presence',
    who: 'account',
    segments: userSegment,
    handle: ({ realm, me, path }) => {
      const user = findUser(realm, me, path.user_id)
      if (user.bot !== null) throw badRequest('Presence is not supported for bot users.')
      const times = user.isActive ? realm.state.presence.get(user.id) : undefined
      if (times === undefined) throw badRequest(`No presence data for ${user.email}`)
      const { aggregated, website } = legacy(times)
      return {
        presence: { aggregated: brief(aggregated), website: brief(website), ...modern(times) },
        server_timestamp: nowOf(realm),
      }
    },
  }),
  declare({
    method: 'GET',
    path: '/realm/presence',
    isExpensive: true,
    who: 'account',
    handle: ({ realm, me }) => ({
      server_timestamp: nowOf(realm),
      presences: presencesFor(realm, me, { form: 'legacy', historyDays: HISTORY_DAYS, after: -1 }).presences,
    }),
  }),
]

const brief = ({ status, timestamp }: { status: string; timestamp: number }) => ({ status, timestamp })

function setGivenStatus(realm: Realm, user: User, input: GivenStatus, away: boolean | undefined): void {
  const { status_text: text, emoji_name: name } = input
  const code = input.emoji_code || undefined
  const type = input.reaction_type || undefined
  if (name === undefined && (code !== undefined || type !== undefined))
    throw badRequest('Client must pass emoji_name if they pass either emoji_code or reaction_type.')
  if (text === undefined && name === undefined && away === undefined)
    throw badRequest('Client did not pass any new values.')
  realm.transaction((turn) => {
    const isNews = away !== undefined && userSetting(user, 'presence_enabled') === away
    const after = isNews ? changePresenceEnabled(realm, turn, user, !away) : user
    if (text === undefined && name === undefined) return
    setStatus(realm, turn, after, { text, emoji: name === undefined ? undefined : { name, code, type } })
  })
}
