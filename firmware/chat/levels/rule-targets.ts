/** Targets of rules: all places where clients see objects of one kind. Contract sections 2 to 4. */

import { endpointName } from '../../http/endpoint/endpoint.ts'
import { DECLARATIONS } from '../api/declarations.ts'
import type { RuleTarget, Targets } from './rules.ts'

const at = (answer: string, ...path: string[]): RuleTarget => ({ answer, path })
const inEvent = (event: string, ...path: string[]): RuleTarget => ({ event, path })
const pair = (event: string, name = 'property', value = 'value'): RuleTarget => ({ event, pair: [name, value] })

export const SERVER_SETTINGS: Targets = [at('GET /server_settings')]

/** The answer of `POST /register`, or objects inside it. */
export const register = (...path: string[]): Targets => [at('POST /register', ...path)]
export const answer = (endpoint: string, ...path: string[]): Targets => [at(endpoint, ...path)]
export const event = (type: string, ...path: string[]): Targets => [inEvent(type, ...path)]

/** Realm settings, named without their prefix: contract section 2.6. */
export const REALM: Targets = [
  { answer: 'POST /register', prefix: 'realm_' },
  at('PATCH /realm'),
  pair('realm/update'),
  { event: 'realm/update_dict', path: ['data'], isDict: true },
]

export const USERS: Targets = [
  at('POST /jwt/fetch_api_key', 'user'),
  at('POST /register', 'realm_users', '*'),
  at('POST /register', 'realm_non_active_users', '*'),
  at('POST /register', 'cross_realm_bots', '*'),
  at('GET /users', 'members', '*'),
  at('GET /users/:user_id', 'user'),
  at('GET /users/me'),
  inEvent('realm_user/add', 'person'),
]

export const USER_SETTINGS: Targets = [
  at('POST /register', 'user_settings'),
  at('POST /register', 'realm_user_settings_defaults'),
  at('POST /register'), // copies from before `user_settings`
  pair('user_settings'),
  pair('realm_user_settings_defaults'),
  pair('update_display_settings', 'setting_name', 'setting'),
  pair('update_global_notifications', 'notification_name', 'setting'),
]

export const CHANNELS: Targets = [
  at('POST /register', 'streams', '*'),
  at('POST /register', 'subscriptions', '*'),
  at('POST /register', 'unsubscribed', '*'),
  at('POST /register', 'never_subscribed', '*'),
  at('GET /streams', 'streams', '*'),
  at('GET /streams/:stream_id', 'stream'),
  at('GET /users/me/subscriptions', 'subscriptions', '*'),
  inEvent('stream/create', 'streams', '*'),
  inEvent('subscription/add', 'subscriptions', '*'),
  pair('stream/update'),
]

export const MESSAGES: Targets = [
  at('GET /messages', 'messages', '*'),
  at('GET /messages/:message_id', 'message'),
  inEvent('message', 'message'),
]

export const SCHEDULED: Targets = [
  at('POST /register', 'scheduled_messages', '*'),
  at('GET /scheduled_messages', 'scheduled_messages', '*'),
  inEvent('scheduled_messages/add', 'scheduled_messages', '*'),
  inEvent('scheduled_messages/update', 'scheduled_message'),
]

export const ATTACHMENTS: Targets = [
  at('PATCH /messages/:message_id', 'detached_uploads', '*'),
  at('GET /attachments', 'attachments', '*'),
  inEvent('attachment', 'attachment'),
]

export const EMOJI: Targets = [
  at('POST /register', 'realm_emoji', '*'),
  at('GET /realm/emoji', 'emoji', '*'),
  inEvent('realm_emoji', 'realm_emoji', '*'),
]

export const LINKIFIERS: Targets = [
  at('POST /register', 'realm_linkifiers', '*'),
  at('GET /realm/linkifiers', 'linkifiers', '*'),
  inEvent('realm_linkifiers', 'realm_linkifiers', '*'),
]

export const EXPORTS: Targets = [at('GET /export/realm', 'exports', '*'), inEvent('realm_export', 'exports', '*')]

export const allBut = (...endpoints: string[]): Targets =>
  DECLARATIONS.map(endpointName)
    .filter((name) => !endpoints.includes(name))
    .map((name) => at(name))
