/** Who may call these rows at all: contract sections 3.1 and 3.3 to 3.7, column Who. What a caller may do with whom is tested per row. */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import type { Answer } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const CALLERS = ['nobody', 'guest', 'member', 'moderator', 'administrator', 'owner', 'bot'] as const
type Caller = (typeof CALLERS)[number]

/** A: any account. U: people. M: no guests. Adm: administrators and owners. */
const WHO: Record<string, readonly Caller[]> = {
  A: ['guest', 'member', 'moderator', 'administrator', 'owner', 'bot'],
  U: ['guest', 'member', 'moderator', 'administrator', 'owner'],
  M: ['member', 'moderator', 'administrator', 'owner', 'bot'],
  Adm: ['administrator', 'owner'],
  Own: ['owner'],
}

// Ids that there are not, so that nothing changes: whoever is let in gets another answer than whoever is not.
const ROWS: [row: string, method: string, path: string, who: keyof typeof WHO, values?: Record<string, unknown>][] = [
  ['E25', 'POST', '/messages/9999/report', 'A', { report_type: 'spam' }],
  ['E25', 'POST', '/message/9999/report', 'A', { report_type: 'spam' }],
  ['E28', 'POST', '/submessage', 'A', { message_id: 9999, msg_type: 'widget', content: '{}' }],
  [
    'E29',
    'POST',
    '/scheduled_messages',
    'A',
    { type: 'direct', to: [], content: 'x', scheduled_delivery_timestamp: 1 },
  ],
  ['E30', 'GET', '/scheduled_messages', 'A'],
  ['E31', 'PATCH', '/scheduled_messages/9999', 'A'],
  ['E32', 'DELETE', '/scheduled_messages/9999', 'A'],
  ['E33', 'POST', '/reminders', 'A', { message_id: 9999, scheduled_delivery_timestamp: 1 }],
  ['E34', 'GET', '/reminders', 'A'],
  ['E35', 'DELETE', '/reminders/9999', 'A'],
  ['E36', 'GET', '/drafts', 'A'],
  ['E37', 'POST', '/drafts', 'A', { drafts: [] }],
  ['E38', 'PATCH', '/drafts/9999', 'A', { draft: { type: '', to: [], topic: '', content: 'x' } }],
  ['E39', 'DELETE', '/drafts/9999', 'A'],
  ['E40', 'GET', '/saved_snippets', 'A'],
  ['E40', 'POST', '/saved_snippets', 'A', { title: 'x', content: ' ' }],
  ['E40', 'PATCH', '/saved_snippets/9999', 'A'],
  ['E40', 'DELETE', '/saved_snippets/9999', 'A'],
  ['E41', 'GET', '/navigation_views', 'A'],
  ['E41', 'POST', '/navigation_views', 'A', { fragment: 'x', is_pinned: true }],
  ['E41', 'PATCH', '/navigation_views/x', 'A'],
  ['E41', 'DELETE', '/navigation_views/x', 'A'],
  ['E44', 'PATCH', '/streams/9999', 'A'],
  ['E47', 'GET', '/streams/9999/email_address', 'A'],
  ['E48', 'POST', '/streams/9999/delete_topic', 'A', { topic_name: 'x' }],
  ['E60', 'POST', '/channels/create', 'A', { name: ' ', description: '', subscribers: [] }],
  ['E61', 'POST', '/default_streams', 'Adm', { stream_id: 9999 }],
  ['E61', 'DELETE', '/default_streams', 'Adm', { stream_id: 9999 }],
  ['E62', 'POST', '/default_stream_groups/create', 'Adm', { group_name: ' ', description: '', stream_names: [] }],
  ['E62', 'PATCH', '/default_stream_groups/9999', 'Adm'],
  ['E62', 'PATCH', '/default_stream_groups/9999/streams', 'Adm', { op: 'add', stream_names: [] }],
  ['E62', 'DELETE', '/default_stream_groups/9999', 'Adm'],
  ['E63', 'GET', '/channel_folders', 'A'],
  ['E64', 'POST', '/channel_folders/create', 'Adm', { name: ' ' }],
  ['E65', 'PATCH', '/channel_folders', 'Adm', { order: [9999] }],
  ['E66', 'PATCH', '/channel_folders/9999', 'Adm'],
  ['E67', 'GET', '/users', 'A'],
  ['E68', 'GET', '/users/9999', 'A'],
  ['E69', 'GET', '/users/nobody@example.com', 'A'],
  ['E70', 'GET', '/users/me', 'A'],
  ['E71', 'POST', '/users', 'Adm', { email: 'x', password: 'x', full_name: 'x' }],
  ['E72', 'PATCH', '/users/9999', 'Adm'],
  ['E73', 'DELETE', '/users/9999', 'Adm'],
  ['E75', 'POST', '/users/9999/reactivate', 'Adm'],
  ['E76', 'GET', '/users/9999/status', 'A'],
  ['E77', 'POST', '/users/9999/status', 'Adm', { status_text: 'x' }],
  ['E78', 'POST', '/users/me/status', 'A'],
  ['E79', 'POST', '/users/me/presence', 'A', { status: 'idle' }],
  ['E80', 'GET', '/users/9999/presence', 'A'],
  ['E81', 'GET', '/realm/presence', 'A'],
  ['E82', 'GET', '/users/me/alert_words', 'A'],
  ['E82', 'POST', '/users/me/alert_words', 'A', { alert_words: [] }],
  ['E82', 'DELETE', '/users/me/alert_words', 'A', { alert_words: [] }],
  ['E83', 'POST', '/users/me/muted_users/9999', 'A'],
  ['E83', 'DELETE', '/users/me/muted_users/9999', 'A'],
  ['E84', 'PATCH', '/settings', 'A'],
  ['E86', 'PATCH', '/users/me/profile_data', 'U', { data: [{ id: 9999, value: 'x' }] }],
  ['E86', 'DELETE', '/users/me/profile_data', 'U', { data: [9999] }],
  ['E87', 'POST', '/users/me/onboarding_steps', 'U', { onboarding_step: 'x' }],
  ['E88', 'PATCH', '/settings/notifications', 'A'],
  ['E88', 'PATCH', '/settings/display', 'A'],
  ['E89', 'GET', '/bots', 'U'],
  ['E90', 'POST', '/bots', 'U', { full_name: 'x', short_name: 'x' }],
  ['E91', 'PATCH', '/bots/9999', 'U'],
  ['E92', 'DELETE', '/bots/9999', 'U'],
  ['E93', 'POST', '/bots/9999/api_key/regenerate', 'U'],
  ['E94', 'GET', '/bot_storage', 'A'],
  ['E95', 'GET', '/user_groups', 'M'],
  ['E96', 'POST', '/user_groups/create', 'M', { name: ' ', description: '', members: [] }],
  ['E97', 'PATCH', '/user_groups/9999', 'A'],
  ['E98', 'GET', '/user_groups/9999/members', 'M'],
  ['E98', 'POST', '/user_groups/9999/members', 'A'],
  ['E99', 'GET', '/user_groups/9999/subgroups', 'M'],
  ['E99', 'POST', '/user_groups/9999/subgroups', 'A'],
  ['E100', 'GET', '/user_groups/9999/members/9999', 'A'],
  ['E101', 'POST', '/user_groups/9999/deactivate', 'A'],
  ['E102', 'DELETE', '/user_groups/9999', 'A'],
  ['E103', 'PATCH', '/realm', 'Adm'],
  ['E104', 'PATCH', '/realm/user_settings_defaults', 'Adm'],
  ['E105', 'GET', '/realm/linkifiers', 'A'],
  ['E106', 'PATCH', '/realm/linkifiers', 'Adm', { ordered_linkifier_ids: [9999] }],
  ['E107', 'POST', '/realm/filters', 'Adm', { pattern: '(', url_template: '{' }],
  ['E108', 'PATCH', '/realm/filters/9999', 'Adm', { pattern: 'x', url_template: 'x' }],
  ['E109', 'DELETE', '/realm/filters/9999', 'Adm'],
  ['E110', 'GET', '/realm/domains', 'A'],
  ['E111', 'POST', '/realm/domains', 'Own', { domain: 'x', allow_subdomains: true }],
  ['E112', 'PATCH', '/realm/domains/x.example', 'Own', { allow_subdomains: true }],
  ['E112', 'PATCH', '/realm/domains', 'Own', { domain: 'x.example', allow_subdomains: true }],
  ['E113', 'DELETE', '/realm/domains/x.example', 'Own'],
  ['E113', 'DELETE', '/realm/domains', 'Own', { domain: 'x.example' }],
  ['E114', 'GET', '/realm/emoji', 'A'],
  ['E115', 'POST', '/realm/emoji/x', 'A'],
  ['E116', 'DELETE', '/realm/emoji/x', 'A'],
  ['E117', 'GET', '/realm/profile_fields', 'A'],
  ['E117', 'POST', '/realm/profile_fields', 'Adm', { field_type: 1, name: '' }],
  ['E117', 'PATCH', '/realm/profile_fields', 'Adm', { order: [9999] }],
  ['E117', 'PATCH', '/realm/profile_fields/9999', 'Adm'],
  ['E117', 'DELETE', '/realm/profile_fields/9999', 'Adm'],
  ['E118', 'POST', '/realm/playgrounds', 'Adm', { name: 'x', pygments_language: 'x', url_template: 'x' }],
  ['E118', 'DELETE', '/realm/playgrounds/9999', 'Adm'],
  ['E119', 'POST', '/realm/test_welcome_bot_custom_message', 'Adm', { welcome_message_custom_text: ' ' }],
  ['E120', 'GET', '/realm/icon', 'Adm'],
  ['E120', 'POST', '/realm/icon', 'Adm'],
  ['E120', 'DELETE', '/realm/icon', 'Adm'],
  ['E120', 'GET', '/realm/logo', 'Adm'],
  ['E120', 'POST', '/realm/logo', 'Adm', { night: false }],
  ['E120', 'DELETE', '/realm/logo', 'Adm', { night: true }],
  ['E124', 'POST', '/realm/deactivate', 'Own', { deletion_delay_days: 14 }],
  [
    'E134',
    'POST',
    '/mobile_push/register',
    'U',
    {
      token_kind: 'fcm',
      push_account_id: 1,
      push_key: '-',
      bouncer_public_key: '-',
      encrypted_push_registration: '-',
    },
  ],
  ['E135', 'POST', '/mobile_push/test_notification', 'U'],
  ['E136', 'POST', '/mobile_push/e2ee/test_notification', 'U'],
  ['E137', 'POST', '/users/me/apns_device_token', 'U', { token: 'x', appid: 'x' }],
  ['E137', 'DELETE', '/users/me/apns_device_token', 'U', { token: 'x' }],
  ['E138', 'POST', '/users/me/android_gcm_reg_id', 'U', { token: '' }],
  ['E138', 'DELETE', '/users/me/android_gcm_reg_id', 'U', { token: 'x' }],
  ['E139', 'POST', '/calls/zoom/create', 'A'],
  ['E139', 'POST', '/calls/constructorgroups/create', 'A'],
  ['E139', 'GET', '/calls/bigbluebutton/create', 'A', { meeting_name: 'x' }],
  ['E121', 'POST', '/export/realm', 'Adm', { export_type: 'none' }],
  ['E122', 'GET', '/export/realm', 'Adm'],
  ['E123', 'GET', '/export/realm/consents', 'Adm'],
  ['E123', 'DELETE', '/export/realm/9999', 'Adm'],
  ['E125', 'GET', '/invites', 'U'],
  ['E126', 'POST', '/invites', 'U', { invitee_emails: '', stream_ids: [] }],
  ['E127', 'POST', '/invites/multiuse', 'U', { stream_ids: [9999] }],
  ['E128', 'DELETE', '/invites/9999', 'U'],
  ['E128', 'DELETE', '/invites/multiuse/9999', 'U'],
  ['E129', 'POST', '/invites/9999/resend', 'U'],
  ['E141', 'GET', '/users/me/api_keys', 'U'],
  ['E142', 'DELETE', '/users/me/api_keys/9999', 'U'],
  ['E150', 'POST', '/session', 'U', { device: 'x' }],
  ['E151', 'DELETE', '/session', 'U'],
]

const call = {} as Record<Caller, (method: string, path: string, values?: Record<string, unknown>) => Promise<Answer>>
const { rig } = await chatSuite()
before(async () => {
  const bot = await rig.owner.post('/bots', { full_name: 'Calling Bot', short_name: 'calling' })
  call.bot = rig.clientOf(rig.chat.realm.state.user.get(bot.user_id)!).call
})
call.nobody = (...request) => rig.anonymous(...request)
call.owner = rig.owner.call
for (const role of ['guest', 'member', 'moderator', 'administrator'] as const)
  call[role] = rig.account(`some-${role}`, ROLES[role]).call

const REFUSALS =
  /^(Must be an organization (?:administrator|owner)|Not allowed for guest users|This endpoint does not accept bot requests)$/

/** Where the organization may let in those who have not signed in. */
const FOR_SPECTATORS = new Set(['E67', 'E68', 'E69'])

for (const [row, method, path, who, values] of ROWS) {
  test(`${row} ${method} ${path} is for ${who}`, async () => {
    for (const caller of CALLERS) {
      const { status, body } = await call[caller](method, path, values)
      const isLetIn = status !== 401 && !REFUSALS.test(body.msg)
      assert.equal(isLetIn, WHO[who]!.includes(caller), `${caller}: ${JSON.stringify(body)}`)
      if (caller === 'nobody')
        assert.equal(body.code, FOR_SPECTATORS.has(row) ? 'UNAUTHENTICATED_USER' : 'UNAUTHORIZED')
    }
  })
}
