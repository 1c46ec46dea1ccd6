/** Bots: creating, listing, changing, and their storage. Contract section 3.5. */

import { z } from 'zod'
import { badRequest } from '../base/error.ts'
import { boolean, integer, json, jsonOrText, nameText, text, texts } from '../pipeline/parameters.ts'
import {
  changeBot,
  createBot,
  deactivateBot,
  findManagedBot,
  keyOfBot,
  newBotKey,
  setBotPicture,
} from '../realm/bots/bots.ts'
import { readStorage, removeStorage, writeStorage } from '../realm/bots/storage.ts'
import type { User } from '../realm/model/records.ts'
import { isRole } from '../realm/model/roles.ts'
import { BOT_TYPES, type BotType, type WebhookForm } from '../realm/objects/bot-services.ts'
import { type BotUser, botAvatarUrl, defaultsOf, isBot } from '../realm/objects/bot-view.ts'
import { shownKey } from '../realm/objects/keys.ts'
import { AVATAR_BYTES_MAX, readPicture } from '../realm/organization/users/avatar-pictures.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const STORAGE_NAMES_MAX = 10_000

const botSegment = { bot_id: integer() }

const defaults = {
  default_sending_stream: text().optional(),
  default_events_register_stream: text().optional(),
  default_all_public_streams: boolean().optional(),
}

/** Format of outgoing webhooks, contract row E140: 1 is Zulip's, 2 is Slack's. */
const webhookForm = () =>
  integer()
    .where((form) => form === 1 || form === 2, 'must be 1 or 2')
    .map((form) => form as WebhookForm)

const botType = () =>
  integer()
    .where((type) => Object.values<number>(BOT_TYPES).includes(type), 'must be 1, 2, 3 or 4')
    .map((type) => type as BotType)

/** The contract asks for JSON. Text that is not JSON is taken literally. */
const address = () => jsonOrText(z.string())

const config = () => json(z.record(z.string(), z.string()))

export const botDeclarations: readonly AnyDeclaration[] = [
  declare({
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
    method: 'POST',
    path: '/bots',
    who: 'human',
    audit: {},
    parameters: {
      full_name: text(),
      short_name: text(),
      bot_type: botType().default(BOT_TYPES.generic),
      payload_url: address().default(''),
      service_name: nameText().optional(),
      config_data: config().default({}),
      interface_type: webhookForm().default(1),
      ...defaults,
    },
    fileBytesMax: AVATAR_BYTES_MAX,
    handle: async (request) => {
      const { realm, input, file, level } = request
      const { full_name: fullName, short_name: shortName, bot_type: type } = input
      const { payload_url: url, interface_type: form, service_name: name, config_data: config } = input
      const service = { url, form, name, config, level }
      const picture = file && (await readPicture(file))
      const { bot, key } = realm.transaction((turn) => {
        const made = createBot(realm, turn, request.me, { ...input, fullName, shortName, type, service })
        return picture === undefined ? made : { ...made, bot: setBotPicture(realm, turn, made.bot, picture) }
      })
      return { user_id: bot.id, api_key: key, avatar_url: botAvatarUrl(realm, bot), ...defaultsOf(realm, bot) }
    },
  }),
  declare({
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
      config_data: config().optional(),
      service_payload_url: address().optional(),
      service_interface: webhookForm().optional(),
      ...defaults,
    },
    fileBytesMax: AVATAR_BYTES_MAX,
    handle: async (request) => {
      const { realm, path, input, file } = request
      const { full_name: fullName, short_name: shortName, bot_owner_id: ownerId } = input
      const { service_payload_url: url, service_interface: form, config_data: config } = input
      const service = { url, form, config }
      const role = input.role !== undefined && isRole(input.role) ? input.role : undefined
      const picture = file && (await readPicture(file))
      const bot = realm.transaction((turn) => {
        if (picture !== undefined) setBotPicture(realm, turn, findManagedBot(realm, request.me, path.bot_id), picture)
        return changeBot(realm, turn, request.me, path.bot_id, {
          ...input,
          fullName,
          shortName,
          role,
          ownerId,
          service,
        })
      })
      return {
        email: bot.email,
        full_name: bot.fullName,
        avatar_url: botAvatarUrl(realm, bot),
        ...defaultsOf(realm, bot),
        ...serviceOf(bot, service),
        ...(ownerId !== undefined && { bot_owner: realm.state.user.require(ownerId).email }),
      }
    },
  }),
  declare({
    method: 'DELETE',
    path: '/bots/:bot_id',
    who: 'human',
    audit: {},
    segments: botSegment,
    handle: ({ realm, me, path }) => {
      realm.transaction((turn) => deactivateBot(realm, turn, me, path.bot_id))
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/bots/:bot_id/api_key/regenerate',
    usesReserve: true,
    who: 'human',
    audit: {},
    segments: botSegment,
    handle: ({ realm, me, path }) => ({
      api_key: realm.transaction((turn) => newBotKey(realm, turn, me, path.bot_id)),
    }),
  }),
  declare({
    method: 'GET',
    path: '/bots/:bot_id/api_key',
    who: 'human',
    audit: {},
    segments: botSegment,
    handle: ({ realm, me, path }) => ({ api_key: keyOfBot(realm, me, path.bot_id) }),
  }),
  declare({
    method: 'PUT',
    path: '/bot_storage',
    who: 'account',
    parameters: {
      storage: json(z.record(z.string(), z.string())).where(
        (values) => Object.keys(values).length <= STORAGE_NAMES_MAX,
        `must have at most ${STORAGE_NAMES_MAX} keys`,
      ),
    },
    handle: ({ realm, me, input }) => {
      writeStorage(realm, expectBot(me), input.storage)
      return {}
    },
  }),
  declare({
    method: 'GET',
    path: '/bot_storage',
    who: 'account',
    parameters: { keys: texts().optional() },
    handle: ({ realm, me, input }) => ({ storage: readStorage(realm, expectBot(me), input.keys) }),
  }),
  declare({
    method: 'DELETE',
    path: '/bot_storage',
    who: 'account',
    parameters: { keys: texts().optional() },
    handle: ({ realm, me, input }) => {
      removeStorage(realm, expectBot(me), input.keys)
      return {}
    },
  }),
]

/** Echoes the current value of each service setting in the request. */
function serviceOf({ bot: { service } }: BotUser, input: { url?: unknown; form?: unknown; config?: unknown }) {
  if (service?.kind === 'outgoing')
    return {
      ...(input.form !== undefined && { service_interface: service.form }),
      ...(input.url !== undefined && { service_payload_url: service.url }),
    }
  return service !== undefined && input.config !== undefined ? { config_data: service.config } : {}
}

function expectBot(me: User): User {
  if (me.bot === null) throw badRequest('Only bots have a storage')
  return me
}
