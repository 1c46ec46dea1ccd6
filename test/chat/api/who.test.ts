/** Who may call these endpoints at all: contract sections 3.1 and 3.3 to 3.7, column Who. What a caller may do with whom is tested per resource. */

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

// Unknown ids, so that nothing changes: admitted callers get another answer than refused ones.
const CALLS: [method: string, path: string, who: keyof typeof WHO, values?: Record<string, unknown>][] = [
  ['POST', '/messages/9999/report', 'A', { report_type: 'spam' }],
  ['POST', '/message/9999/report', 'A', { report_type: 'spam' }],
  ['POST', '/submessage', 'A', { message_id: 9999, msg_type: 'widget', content: '{}' }],
  ['POST', '/scheduled_messages', 'A', { type: 'direct', to: [], content: 'x', scheduled_delivery_timestamp: 1 }],
  ['GET', '/scheduled_messages', 'A'],
  ['PATCH', '/scheduled_messages/9999', 'A'],
  ['DELETE', '/scheduled_messages/9999', 'A'],
  ['POST', '/reminders', 'A', { message_id: 9999, scheduled_delivery_timestamp: 1 }],
  ['GET', '/reminders', 'A'],
  ['DELETE', '/reminders/9999', 'A'],
  ['GET', '/drafts', 'A'],
  ['POST', '/drafts', 'A', { drafts: [] }],
  ['PATCH', '/drafts/9999', 'A', { draft: { type: '', to: [], topic: '', content: 'x' } }],
  ['DELETE', '/drafts/9999', 'A'],
  ['GET', '/saved_snippets', 'A'],
  ['POST', '/saved_snippets', 'A', { title: 'x', content: ' ' }],
  ['PATCH', '/saved_snippets/9999', 'A'],
  ['DELETE', '/saved_snippets/9999', 'A'],
  ['GET', '/navigation_views', 'A'],
  ['POST', '/navigation_views', 'A', { fragment: 'x', is_pinned: true }],
  ['PATCH', '/navigation_views/x', 'A'],
  ['DELETE', '/navigation_views/x', 'A'],
  ['PATCH', '/streams/9999', 'A'],
  ['GET', '/streams/9999/email_address', 'A'],
  ['POST', '/streams/9999/delete_topic', 'A', { topic_name: 'x' }],
  ['POST', '/channels/create', 'A', { name: ' ', description: '', subscribers: [] }],
  ['POST', '/default_streams', 'Adm', { stream_id: 9999 }],
  ['DELETE', '/default_streams', 'Adm', { stream_id: 9999 }],
  ['POST', '/default_stream_groups/create', 'Adm', { group_name: ' ', description: '', stream_names: [] }],
  ['PATCH', '/default_stream_groups/9999', 'Adm'],
  ['PATCH', '/default_stream_groups/9999/streams', 'Adm', { op: 'add', stream_names: [] }],
  ['DELETE', '/default_stream_groups/9999', 'Adm'],
  ['GET', '/channel_folders', 'A'],
  ['POST', '/channel_folders/create', 'Adm', { name: ' ' }],
  ['PATCH', '/channel_folders', 'Adm', { order: [9999] }],
  ['PATCH', '/channel_folders/9999', 'Adm'],
  ['GET', '/users', 'A'],
  ['GET', '/users/9999', 'A'],
  ['GET', '/users/nobody@example.com', 'A'],
  ['GET', '/users/me', 'A'],
  ['POST', '/users', 'Adm', { email: 'x', password: 'x', full_name: 'x' }],
  ['PATCH', '/users/9999', 'Adm'],
  ['DELETE', '/users/9999', 'Adm'],
  ['POST', '/users/9999/reactivate', 'Adm'],
  ['GET', '/users/9999/status', 'A'],
  ['POST', '/users/9999/status', 'Adm', { status_text: 'x' }],
  ['POST', '/users/me/status', 'A'],
  ['POST', '/users/me/presence', 'A', { status: 'idle' }],
  ['GET', '/users/9999/presence', 'A'],
  ['GET', '/realm/presence', 'A'],
  ['GET', '/users/me/alert_words', 'A'],
  ['POST', '/users/me/alert_words', 'A', { alert_words: [] }],
  ['DELETE', '/users/me/alert_words', 'A', { alert_words: [] }],
  ['POST', '/users/me/muted_users/9999', 'A'],
  ['DELETE', '/users/me/muted_users/9999', 'A'],
  ['PATCH', '/settings', 'A'],
  ['PATCH', '/users/me/profile_data', 'U', { data: [{ id: 9999, value: 'x' }] }],
  ['DELETE', '/users/me/profile_data', 'U', { data: [9999] }],
  ['POST', '/users/me/onboarding_steps', 'U', { onboarding_step: 'x' }],
  ['PATCH', '/settings/notifications', 'A'],
  ['PATCH', '/settings/display', 'A'],
  ['GET', '/bots', 'U'],
  ['POST', '/bots', 'U', { full_name: 'x', short_name: 'x' }],
  ['PATCH', '/bots/9999', 'U'],
  ['DELETE', '/bots/9999', 'U'],
  ['POST', '/bots/9999/api_key/regenerate', 'U'],
  ['GET', '/bot_storage', 'A'],
  ['GET', '/user_groups', 'M'],
  ['POST', '/user_groups/create', 'M', { name: ' ', description: '', members: [] }],
  ['PATCH', '/user_groups/9999', 'A'],
  ['GET', '/user_groups/9999/members', 'M'],
  ['POST', '/user_groups/9999/members', 'A'],
  ['GET', '/user_groups/9999/subgroups', 'M'],
  ['POST', '/user_groups/9999/subgroups', 'A'],
  ['GET', '/user_groups/9999/members/9999', 'A'],
  ['POST', '/user_groups/9999/deactivate', 'A'],
  ['DELETE', '/user_groups/9999', 'A'],
  ['PATCH', '/realm', 'Adm'],
  ['PATCH', '/realm/user_settings_defaults', 'Adm'],
  ['GET', '/realm/linkifiers', 'A'],
  ['PATCH', '/realm/linkifiers', 'Adm', { ordered_linkifier_ids: [9999] }],
  ['POST', '/realm/filters', 'Adm', { pattern: '(', url_template: '{' }],
  ['PATCH', '/realm/filters/9999', 'Adm', { pattern: 'x', url_template: 'x' }],
  ['DELETE', '/realm/filters/9999', 'Adm'],
  ['GET', '/realm/domains', 'A'],
  ['POST', '/realm/domains', 'Own', { domain: 'x', allow_subdomains: true }],
  ['PATCH', '/realm/domains/x.example', 'Own', { allow_subdomains: true }],
  ['PATCH', '/realm/domains', 'Own', { domain: 'x.example', allow_subdomains: true }],
  ['DELETE', '/realm/domains/x.example', 'Own'],
  ['DELETE', '/realm/domains', 'Own', { domain: 'x.example' }],
  ['GET', '/realm/emoji', 'A'],
  ['POST', '/realm/emoji/x', 'A'],
  ['DELETE', '/realm/emoji/x', 'A'],
  ['GET', '/realm/profile_fields', 'A'],
  ['POST', '/realm/profile_fields', 'Adm', { field_type: 1, name: '' }],
  ['PATCH', '/realm/profile_fields', 'Adm', { order: [9999] }],
  ['PATCH', '/realm/profile_fields/9999', 'Adm'],
  ['DELETE', '/realm/profile_fields/9999', 'Adm'],
  ['POST', '/realm/playgrounds', 'Adm', { name: 'x', pygments_language: 'x', url_template: 'x' }],
  ['DELETE', '/realm/playgrounds/9999', 'Adm'],
  ['POST', '/realm/test_welcome_bot_custom_message', 'Adm', { welcome_message_custom_text: ' ' }],
  ['GET', '/realm/icon', 'Adm'],
  ['POST', '/realm/icon', 'Adm'],
  ['DELETE', '/realm/icon', 'Adm'],
  ['GET', '/realm/logo', 'Adm'],
  ['POST', '/realm/logo', 'Adm', { night: false }],
  ['DELETE', '/realm/logo', 'Adm', { night: true }],
  ['POST', '/realm/deactivate', 'Own', { deletion_delay_days: 14 }],
  [
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
  ['POST', '/mobile_push/test_notification', 'U'],
  ['POST', '/mobile_push/e2ee/test_notification', 'U'],
  ['POST', '/users/me/apns_device_token', 'U', { token: 'x', appid: 'x' }],
  ['DELETE', '/users/me/apns_device_token', 'U', { token: 'x' }],
  ['POST', '/users/me/android_gcm_reg_id', 'U', { token: '' }],
  ['DELETE', '/users/me/android_gcm_reg_id', 'U', { token: 'x' }],
  ['POST', '/calls/zoom/create', 'A'],
  ['POST', '/calls/constructorgroups/create', 'A'],
  ['GET', '/calls/bigbluebutton/create', 'A', { meeting_name: 'x' }],
  ['POST', '/export/realm', 'Adm', { export_type: 'none' }],
  ['GET', '/export/realm', 'Adm'],
  ['GET', '/export/realm/consents', 'Adm'],
  ['DELETE', '/export/realm/9999', 'Adm'],
  ['GET', '/invites', 'U'],
  ['POST', '/invites', 'U', { invitee_emails: '', stream_ids: [] }],
  ['POST', '/invites/multiuse', 'U', { stream_ids: [9999] }],
  ['DELETE', '/invites/9999', 'U'],
  ['DELETE', '/invites/multiuse/9999', 'U'],
  ['POST', '/invites/9999/resend', 'U'],
  ['GET', '/users/me/api_keys', 'U'],
  ['DELETE', '/users/me/api_keys/9999', 'U'],
  ['POST', '/session', 'U', { device: 'x' }],
  ['DELETE', '/session', 'U'],
  ['POST', '/users/9999/password_link', 'Adm'],
  ['GET', '/web_push', 'U'],
  ['POST', '/web_push', 'U', { endpoint: 'x', p256dh: 'x', auth: 'x' }],
  ['DELETE', '/web_push', 'U'],
  ['POST', '/web_push/test', 'U'],
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

const FOR_SPECTATORS = new Set(['/users', '/users/9999', '/users/nobody@example.com'])

for (const [method, path, who, values] of CALLS) {
  test(`${method} ${path} is for ${who}`, async () => {
    for (const caller of CALLERS) {
      const { status, body } = await call[caller](method, path, values)
      const isLetIn = status !== 401 && !REFUSALS.test(body.msg)
      assert.equal(isLetIn, WHO[who]!.includes(caller), `${caller}: ${JSON.stringify(body)}`)
      if (caller === 'nobody')
        assert.equal(body.code, method === 'GET' && FOR_SPECTATORS.has(path) ? 'UNAUTHENTICATED_USER' : 'UNAUTHORIZED')
    }
  })
}
