/** The surfaces that gates name: every place where an object of one kind is told to clients. Contract sections 2 to 4. */

import { DECLARATIONS } from '../api/declarations.ts'
import type { RuleTarget, Targets } from './rules.ts'

const at = (answer: string, ...path: string[]): RuleTarget => ({ answer, path })
const inEvent = (event: string, ...path: string[]): RuleTarget => ({ event, path })
const pair = (event: string, name = 'property', value = 'value'): RuleTarget => ({ event, pair: [name, value] })

export const SERVER_SETTINGS: Targets = [at('E1')]

/** In the register answer, at its top or deeper. */
export const register = (...path: string[]): Targets => [at('E6', ...path)]
export const answer = (row: string, ...path: string[]): Targets => [at(row, ...path)]
export const event = (type: string, ...path: string[]): Targets => [inEvent(type, ...path)]

/** By their plain names: contract section 2.6. */
export const REALM: Targets = [
  { answer: 'E6', prefix: 'realm_' },
  at('E103'),
  pair('realm/update'),
  { event: 'realm/update_dict', path: ['data'], isDict: true },
]

export const USERS: Targets = [
  at('E3', 'user'),
  at('E6', 'realm_users', '*'),
  at('E6', 'realm_non_active_users', '*'),
  at('E6', 'cross_realm_bots', '*'),
  at('E67', 'members', '*'),
  at('E68', 'user'),
  at('E70'),
  inEvent('realm_user/add', 'person'),
]

export const USER_SETTINGS: Targets = [
  at('E6', 'user_settings'),
  at('E6', 'realm_user_settings_defaults'),
  at('E6'), // copies of before the object
  pair('user_settings'),
  pair('realm_user_settings_defaults'),
  pair('update_display_settings', 'setting_name', 'setting'),
  pair('update_global_notifications', 'notification_name', 'setting'),
]

export const CHANNELS: Targets = [
  at('E6', 'streams', '*'),
  at('E6', 'subscriptions', '*'),
  at('E6', 'unsubscribed', '*'),
  at('E6', 'never_subscribed', '*'),
  at('E42', 'streams', '*'),
  at('E43', 'stream'),
  at('E51', 'subscriptions', '*'),
  inEvent('stream/create', 'streams', '*'),
  inEvent('subscription/add', 'subscriptions', '*'),
  pair('stream/update'),
]

export const MESSAGES: Targets = [at('E9', 'messages', '*'), at('E11', 'message'), inEvent('message', 'message')]

export const SCHEDULED: Targets = [
  at('E6', 'scheduled_messages', '*'),
  at('E30', 'scheduled_messages', '*'),
  inEvent('scheduled_messages/add', 'scheduled_messages', '*'),
  inEvent('scheduled_messages/update', 'scheduled_message'),
]

export const ATTACHMENTS: Targets = [
  at('E12', 'detached_uploads', '*'),
  at('E132', 'attachments', '*'),
  inEvent('attachment', 'attachment'),
]

export const EMOJI: Targets = [
  at('E6', 'realm_emoji', '*'),
  at('E114', 'emoji', '*'),
  inEvent('realm_emoji', 'realm_emoji', '*'),
]

export const LINKIFIERS: Targets = [
  at('E6', 'realm_linkifiers', '*'),
  at('E105', 'linkifiers', '*'),
  inEvent('realm_linkifiers', 'realm_linkifiers', '*'),
]

export const EXPORTS: Targets = [at('E122', 'exports', '*'), inEvent('realm_export', 'exports', '*')]

/** Every answer but those of these rows. */
export const allBut = (...rows: string[]): Targets =>
  [...new Set(DECLARATIONS.map(({ row }) => row))].filter((row) => !rows.includes(row)).map((row) => at(row))
