/** Who may call the rows of people at all: contract sections 3.1 and 3.4 to 3.7, column Who. What a caller may do with whom is tested per row. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/roles.ts'
import { type Answer, openTestChat, type TestChat } from '../support/chat.ts'

const CALLERS = ['nobody', 'guest', 'member', 'moderator', 'administrator', 'owner', 'bot'] as const
type Caller = (typeof CALLERS)[number]

/** A: any account. U: people. M: no guests. Adm: administrators and owners. */
const WHO: Record<string, readonly Caller[]> = {
  A: ['guest', 'member', 'moderator', 'administrator', 'owner', 'bot'],
  U: ['guest', 'member', 'moderator', 'administrator', 'owner'],
  M: ['member', 'moderator', 'administrator', 'owner', 'bot'],
  Adm: ['administrator', 'owner'],
}

// Ids that there are not, so that nothing changes: whoever is let in gets another answer than whoever is not.
const ROWS: [row: string, method: string, path: string, who: keyof typeof WHO, values?: Record<string, unknown>][] = [
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
  ['E33', 'POST', '/reminders', 'U', { message_id: 9999, scheduled_delivery_timestamp: 1 }],
  ['E34', 'GET', '/reminders', 'U'],
  ['E35', 'DELETE', '/reminders/9999', 'U'],
  ['E36', 'GET', '/drafts', 'U'],
  ['E37', 'POST', '/drafts', 'U', { drafts: [] }],
  ['E38', 'PATCH', '/drafts/9999', 'U', { draft: { type: '', to: [], topic: '', content: 'x' } }],
  ['E39', 'DELETE', '/drafts/9999', 'U'],
  ['E40', 'GET', '/saved_snippets', 'U'],
  ['E40', 'POST', '/saved_snippets', 'U', { title: 'x', content: ' ' }],
  ['E40', 'PATCH', '/saved_snippets/9999', 'U'],
  ['E40', 'DELETE', '/saved_snippets/9999', 'U'],
  ['E41', 'GET', '/navigation_views', 'U'],
  ['E41', 'POST', '/navigation_views', 'U', { fragment: 'x', is_pinned: true }],
  ['E41', 'PATCH', '/navigation_views/x', 'U'],
  ['E41', 'DELETE', '/navigation_views/x', 'U'],
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
  ['E114', 'GET', '/realm/emoji', 'A'],
  ['E141', 'GET', '/users/me/api_keys', 'U'],
  ['E142', 'DELETE', '/users/me/api_keys/9999', 'U'],
]

let rig: TestChat
const call = {} as Record<Caller, (method: string, path: string, values?: Record<string, unknown>) => Promise<Answer>>
before(async () => {
  rig = await openTestChat()
  const bot = await rig.owner.post('/bots', { full_name: 'Calling Bot', short_name: 'calling' })
  call.nobody = (...request) => rig.anonymous(...request)
  call.owner = rig.owner.call
  call.bot = rig.clientOf(rig.chat.realm.state.user.get(bot.user_id)!).call
  for (const role of ['guest', 'member', 'moderator', 'administrator'] as const)
    call[role] = rig.account(`some-${role}`, ROLES[role]).call
})
after(() => rig.close())

const REFUSALS =
  /^(Must be an organization administrator|Not allowed for guest users|This endpoint does not accept bot requests)$/

for (const [row, method, path, who, values] of ROWS) {
  test(`${row} ${method} ${path} is for ${who}`, async () => {
    for (const caller of CALLERS) {
      const { status, body } = await call[caller](method, path, values)
      const isLetIn = status !== 401 && !REFUSALS.test(body.msg)
      assert.equal(isLetIn, WHO[who]!.includes(caller), `${caller}: ${JSON.stringify(body)}`)
      if (caller === 'nobody') assert.equal(body.code, 'UNAUTHORIZED')
    }
  })
}
