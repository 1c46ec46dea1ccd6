/** Events that the chat reports to the audit log of the appliance: contract section 1.6. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { CofferError } from '../../../firmware/base/error.ts'
import { DECLARATIONS } from '../../../firmware/chat/api/declarations.ts'
import type { ChatAuditEvent } from '../../../firmware/chat/link/chat-audit-event.ts'
import type { ChatOptions } from '../../../firmware/chat/process/chat.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { endpointName } from '../../../firmware/http/endpoint/endpoint.ts'
import { NO_LIMITS, OWNER_PASSWORD, openTestChat } from '../support/chat.ts'

async function told(t: TestContext, options: Partial<ChatOptions> = {}) {
  const acts: ChatAuditEvent[] = []
  const rig = await openTestChat({ record: (act) => void acts.push(act), ...options })
  t.after(() => rig.close())
  return {
    ...rig,
    rig,
    acts,
    last: () => acts.splice(0).map((act) => [act.user, act.method, act.path, act.result, act.facts]),
  }
}

test('signing in is told of whom the key is, and a wrong password or key of whom it was claimed', async (t) => {
  const { rig, owner, last } = await told(t)
  const { id } = owner.user
  const signIn = (username: string, password: string) => rig.anonymous('POST', '/fetch_api_key', { username, password })
  assert.equal((await signIn('olivia@example.com', OWNER_PASSWORD)).status, 200)
  assert.equal((await signIn('Olivia@example.com ', 'not her password')).status, 401)
  assert.equal((await signIn('nobody@example.com', 'not a password')).status, 401)
  const path = '/fetch_api_key'
  assert.deepEqual(last(), [
    [id, 'POST', path, 200, {}],
    [id, 'POST', path, 401, {}],
    [null, 'POST', path, 401, {}],
  ])
  const authorization = `Basic ${Buffer.from(`olivia@example.com:${'a'.repeat(32)}`).toString('base64')}`
  assert.equal((await owner.call('GET', '/users/me', {}, { authorization })).status, 401)
  assert.deepEqual(last(), [[id, 'GET', '/users/me', 401, {}]])
})

test('accounts, roles, keys, bots, addresses and passwords are told with numbers, refused ones too', async (t) => {
  const { rig, owner, last } = await told(t)
  const hamlet = rig.account('hamlet')
  const { id } = owner.user
  await owner.post('/users', { email: 'ophelia@example.com', password: 'a password of hers', full_name: 'Ophelia' })
  const made = [...rig.chat.realm.state.user.all()].find(({ fullName }) => fullName === 'Ophelia')!.id
  assert.deepEqual(last(), [[id, 'POST', '/users', 200, { made }]])

  await owner.patch(`/users/${made}`, { role: ROLES.administrator })
  await owner.delete(`/users/${made}`)
  await owner.post(`/users/${made}/reactivate`)
  await hamlet.refused('BAD_REQUEST', 'PATCH', `/users/${made}`, { role: 100 })
  assert.deepEqual(last(), [
    [id, 'PATCH', '/users/{user_id}', 200, { user_id: made, role: 200 }],
    [id, 'DELETE', '/users/{user_id}', 200, { user_id: made }],
    [id, 'POST', '/users/{user_id}/reactivate', 200, { user_id: made }],
    [hamlet.user.id, 'PATCH', '/users/{user_id}', 400, {}],
  ])

  const bot = (await hamlet.post('/bots', { full_name: 'A Bot', short_name: 'a' })).user_id
  await hamlet.post(`/bots/${bot}/api_key/regenerate`)
  await hamlet.delete(`/bots/${bot}`)
  await owner.patch('/settings', { old_password: OWNER_PASSWORD, new_password: 'another password of hers' })
  await hamlet.post('/users/me/api_key/regenerate')
  assert.deepEqual(last(), [
    [hamlet.user.id, 'POST', '/bots', 200, { made: bot }],
    [hamlet.user.id, 'POST', '/bots/{bot_id}/api_key/regenerate', 200, { bot_id: bot }],
    [hamlet.user.id, 'DELETE', '/bots/{bot_id}', 200, { bot_id: bot }],
    [id, 'PATCH', '/settings', 200, {}],
    [hamlet.user.id, 'POST', '/users/me/api_key/regenerate', 200, {}],
  ])
})

test('messages, reading, personal settings and what is only read are not told', async (t) => {
  const { rig, owner, acts } = await told(t)
  const channel = rig.channel('play', [owner])
  const { id } = await owner.post('/messages', { type: 'stream', to: channel.id, topic: 'x', content: 'hello' })
  await owner.post(`/messages/${id}/reactions`, { emoji_name: 'smile' })
  await owner.post('/messages/flags', { messages: [id], op: 'add', flag: 'starred' })
  await owner.patch('/settings', { twenty_four_hour_time: true })
  await owner.get('/users')
  await rig.anonymous('GET', '/messages')
  assert.deepEqual(acts, [])
})

test('a change is answered once the audit log has it, and is an error when that does not take it', async (t) => {
  let isFull = false
  let isTold = false
  const record = async () => {
    await new Promise(setImmediate)
    isTold = true
    if (isFull) throw new CofferError('storage', 'The audit log cannot be written')
  }
  const { rig, owner } = await told(t, { record })
  await owner.post('/users/me/api_key/regenerate')
  assert.ok(isTold)
  isFull = true
  assert.equal((await rig.account('hamlet').call('POST', '/users/me/api_key/regenerate')).status, 500)
})

test('an account that is not an administrator cannot crowd out the events of others', async (t) => {
  const changes = { calls: 3, withinMs: 1e9 }
  const { rig, owner, acts } = await told(t, { rateLimits: { ...NO_LIMITS, changes } })
  const hamlet = rig.account('hamlet')
  const make = (name: string) => ({ full_name: name, short_name: name })
  for (const name of ['one', 'two', 'three']) await hamlet.post('/bots', make(name))
  const refused = await hamlet.refused('RATE_LIMIT_HIT', 'POST', '/bots', make('four'))
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.equal([...rig.chat.realm.state.user.all()].filter(({ fullName }) => fullName === 'four').length, 0)
  for (const name of ['five', 'six', 'seven', 'eight']) await owner.post('/bots', make(name))
  assert.deepEqual(
    acts.map(({ result }) => result),
    [200, 200, 200, 429, 200, 200, 200, 200],
  )
})

test('repeated sign-ins with the right password have the same share', async (t) => {
  const changes = { calls: 2, withinMs: 1e9 }
  const { rig, owner } = await told(t, { rateLimits: { ...NO_LIMITS, changes } })
  await owner.post('/users', { email: 'ophelia@example.com', password: 'a password of hers', full_name: 'Ophelia' })
  const signIn = () =>
    rig.anonymous('POST', '/fetch_api_key', { username: 'ophelia@example.com', password: 'a password of hers' })
  const statuses = [(await signIn()).status, (await signIn()).status, (await signIn()).status]
  assert.deepEqual(statuses, [200, 200, 429])
})

test('every endpoint that changes an account, a role, a key, a bot or a setting of others is told', () => {
  const told = DECLARATIONS.filter(({ audit }) => audit !== undefined).map(endpointName)
  const expected = [
    'POST /fetch_api_key',
    'POST /jwt/fetch_api_key',
    'POST /users/me/api_key/regenerate',
    'POST /users',
    'PATCH /users/:user_id',
    'DELETE /users/:user_id',
    'DELETE /users/me',
    'POST /users/:user_id/reactivate',
    'PATCH /settings',
    'PATCH /settings/notifications',
    'PATCH /settings/display',
    'POST /bots',
    'PATCH /bots/:bot_id',
    'DELETE /bots/:bot_id',
    'POST /bots/:bot_id/api_key/regenerate',
    'GET /bots/:bot_id/api_key',
    'POST /user_groups/create',
    'PATCH /user_groups/:user_group_id',
    'POST /user_groups/:user_group_id/members',
    'POST /user_groups/:user_group_id/subgroups',
    'POST /user_groups/:user_group_id/deactivate',
    'DELETE /user_groups/:user_group_id',
    'PATCH /realm',
    'PATCH /realm/user_settings_defaults',
    'POST /realm/domains',
    'PATCH /realm/domains/:domain',
    'PATCH /realm/domains',
    'DELETE /realm/domains/:domain',
    'DELETE /realm/domains',
    'POST /realm/deactivate',
    'POST /export/realm',
    'DELETE /export/realm/:export_id',
    'POST /invites',
    'POST /invites/multiuse',
    'DELETE /invites/:invite_id',
    'DELETE /invites/multiuse/:invite_id',
    'POST /invites/:invite_id/resend',
    'DELETE /users/me/api_keys/:key_id',
    'POST /join/:key',
    'POST /session',
    'DELETE /session',
    'POST /users/:user_id/password_link',
    'POST /password/:key',
  ]
  assert.deepEqual(told.toSorted(), expected.toSorted())
})
