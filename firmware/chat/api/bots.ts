/** Bots and what they keep. Contract section 3.5. */

import { z } from 'zod'
import { badRequest } from '../error.ts'
import { boolean, integer, json, text, texts } from '../http/parameters.ts'
import { AVATAR_BYTES_MAX, readPicture } from '../realm/avatars/pictures.ts'
import { changeBot, createBot, deactivateBot, findManagedBot, newBotKey, setBotPicture } from '../realm/bots/bots.ts'
import { readStorage, removeStorage, writeStorage } from '../realm/bots/storage.ts'
import { botAvatarUrl, defaultsOf, isBot } from '../realm/bots/view.ts'
import { shownKey } from '../realm/keys.ts'
import type { User } from '../realm/records.ts'
import { isRole } from '../realm/roles.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const GENERIC = 1
const STORAGE_NAMES_MAX = 10_000

const botSegment = { bot_id: integer() }

const defaults = {
  default_sending_stream: text().optional(),
  default_events_register_stream: text().optional(),
  default_all_public_streams: boolean().optional(),
}

export const botDeclarations: readonly AnyDeclaration[] = [
  declare({
    row: 'E89',
    method: 'GET',
    path: '/bots',
    who: 'human',
    handle: ({ realm, me }) => ({
      bots: [...realm.state.botsOf.get(me.id).values()]
        .filter(isBot)
        .filter(({ isActive }) => isActive)
        .map((bot) => ({
          username: bot.email,
          full_name: bot.fullName,
          api_key: shownKey(realm, bot),
          avatar_url: botAvatarUrl(realm, bot),
          ...defaultsOf(realm, bot),
        })),
    }),
  }),
  declare({
    row: 'E90',
    method: 'POST',
    path: '/bots',
    who: 'human',
    audit: {},
    parameters: {
      full_name: text(),
      short_name: text(),
      bot_type: integer()
        .where((type) => type === GENERIC, 'must be 1: other kinds of bots are not supported yet')
        .default(GENERIC),
      ...defaults,
    },
    fileBytesMax: AVATAR_BYTES_MAX,
    handle: async (request) => {
      const { realm, given, file } = request
      const { full_name: fullName, short_name: shortName } = given
      const picture = file && (await readPicture(file))
      const { bot, key } = realm.change((turn) => {
        const made = createBot(realm, turn, request.me, { ...given, fullName, shortName })
        return picture === undefined ? made : { ...made, bot: setBotPicture(realm, turn, made.bot, picture) }
      })
      return { user_id: bot.id, api_key: key, avatar_url: botAvatarUrl(realm, bot), ...defaultsOf(realm, bot) }
    },
  }),
  declare({
    row: 'E91',
    method: 'PATCH',
    path: '/bots/:bot_id',
    who: 'human',
    audit: { facts: ['role', 'bot_owner_id'] },
    segments: botSegment,
    parameters: {
      full_name: text().optional(),
      short_name: text().optional(),
      role: integer().where(isRole, 'must be 100, 200, 300, 400 or 600').optional(),
      bot_owner_id: integer().optional(),
      ...defaults,
    },
    fileBytesMax: AVATAR_BYTES_MAX,
    handle: async (request) => {
      const { realm, path, given, file } = request
      const { full_name: fullName, short_name: shortName, bot_owner_id: ownerId } = given
      const role = given.role !== undefined && isRole(given.role) ? given.role : undefined
      const picture = file && (await readPicture(file))
      const bot = realm.change((turn) => {
        if (picture !== undefined) setBotPicture(realm, turn, findManagedBot(realm, request.me, path.bot_id), picture)
        return changeBot(realm, turn, request.me, path.bot_id, { ...given, fullName, shortName, role, ownerId })
      })
      return {
        email: bot.email,
        full_name: bot.fullName,
        avatar_url: botAvatarUrl(realm, bot),
        ...defaultsOf(realm, bot),
        ...(ownerId !== undefined && { bot_owner: realm.state.user.get(ownerId)!.email }),
      }
    },
  }),
  declare({
    row: 'E92',
    method: 'DELETE',
    path: '/bots/:bot_id',
    who: 'human',
    audit: {},
    segments: botSegment,
    handle: ({ realm, me, path }) => {
      realm.change((turn) => deactivateBot(realm, turn, me, path.bot_id))
      return {}
    },
  }),
  declare({
    row: 'E93',
    method: 'POST',
    path: '/bots/:bot_id/api_key/regenerate',
    who: 'human',
    audit: {},
    segments: botSegment,
    handle: ({ realm, me, path }) => ({ api_key: realm.change((turn) => newBotKey(realm, turn, me, path.bot_id)) }),
  }),
  declare({
    row: 'E94',
    method: 'PUT',
    path: '/bot_storage',
    who: 'account',
    parameters: {
      storage: json(z.record(z.string(), z.string())).where(
        (values) => Object.keys(values).length <= STORAGE_NAMES_MAX,
        `must have at most ${STORAGE_NAMES_MAX} keys`,
      ),
    },
    handle: ({ realm, me, given }) => {
      writeStorage(realm, expectBot(me), given.storage)
      return {}
    },
  }),
  declare({
    row: 'E94',
    method: 'GET',
    path: '/bot_storage',
    who: 'account',
    parameters: { keys: texts().optional() },
    handle: ({ realm, me, given }) => ({ storage: readStorage(realm, expectBot(me), given.keys) }),
  }),
  declare({
    row: 'E94',
    method: 'DELETE',
    path: '/bot_storage',
    who: 'account',
    parameters: { keys: texts().optional() },
    handle: ({ realm, me, given }) => {
      removeStorage(realm, expectBot(me), given.keys)
      return {}
    },
  }),
]

function expectBot(me: User): User {
  if (me.bot === null) throw badRequest('Only bots have a storage')
  return me
}
