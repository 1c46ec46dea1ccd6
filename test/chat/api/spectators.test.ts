/** Requests of spectators: contract section 1.2, rows E6, E67, E68, level 387. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Channel } from '../../../firmware/chat/realm/model/records.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, cordelia } = await chatSuite({ hamlet: 'member', cordelia: 'member' })
const open = rig.channel('open', [hamlet], { isWebPublic: true })
rig.channel('Denmark', [hamlet, cordelia])
rig.channel('secret', [hamlet], { isPrivate: true })

const CALLS = [
  ['POST', '/register', { client_gravatar: false }],
  ['GET', '/users', {}],
  ['GET', '/users/4', {}],
] as const

const letIn = (enable_spectator_access: boolean) => rig.owner.patch('/realm', { enable_spectator_access })

async function told(method: string, path: string, values = {}) {
  const { status, body } = await rig.anonymous(method, path, values)
  assert.equal(status, 200, `${method} ${path}: ${JSON.stringify(body)}`)
  return body
}

test('they are told nothing unless the organization lets them in, and nothing else even then', async () => {
  for (const [method, path, values] of CALLS) {
    const { status, body } = await rig.anonymous(method, path, values)
    assert.deepEqual([status, body.code], [401, 'UNAUTHENTICATED_USER'], path)
  }
  await letIn(true)
  for (const [method, path, values] of CALLS) await told(method, path, values)
  for (const path of ['/users/me', '/streams', '/events?queue_id=x&last_event_id=-1', '/attachments', '/user_groups'])
    assert.equal((await rig.anonymous('GET', path)).status, 401, path)
  await letIn(false)
})

test('POST /register: a snapshot without a queue, of the organization and its web-public channels, and nothing of anybody', async () => {
  await letIn(true)
  const body = await told('POST', '/register', { client_gravatar: false })
  assert.deepEqual([body.queue_id, body.last_event_id, body.zulip_feature_level], [null, -1, 500])
  for (const list of [body.streams, body.never_subscribed])
    assert.deepEqual(
      list.map(({ name }: Channel) => name),
      ['open'],
    )
  assert.deepEqual([body.subscriptions, body.unsubscribed], [[], []])
  assert.equal(body.realm_name, 'Testing')
  assert.equal(body.server_web_public_streams_enabled, true)
  const ids = body.realm_users.map(({ user_id }: { user_id: number }) => user_id)
  assert.deepEqual(ids, [rig.owner.user.id, hamlet.user.id, cordelia.user.id])
  const own = ['user_id', 'email', 'unread_msgs', 'drafts', 'user_settings', 'realm_bots', 'realm_domains', 'presences']
  for (const name of own) assert.ok(!(name in body), name)
  const some = await told('POST', '/register', { client_gravatar: false, fetch_event_types: ['realm_emoji'] })
  assert.deepEqual([some.realm_emoji, some.realm_name, some.streams], [{}, undefined, undefined])
  const refused = await rig.anonymous('POST', '/register', { fetch_event_types: [] })
  assert.deepEqual([refused.status, refused.body.code], [400, 'BAD_REQUEST'])
  await letIn(false)
})

test('GET /users, GET /users/:user_id: people have their names and pictures, and no address and no profile', async () => {
  await letIn(true)
  const { members } = await told('GET', '/users', { include_custom_profile_fields: true })
  const one = (await told('GET', `/users/${hamlet.user.id}`, { include_custom_profile_fields: true })).user
  assert.deepEqual(
    members.find(({ user_id }: { user_id: number }) => user_id === hamlet.user.id),
    one,
  )
  assert.equal(one.full_name, hamlet.user.fullName)
  assert.match(one.avatar_url, /^\/user_avatars\//)
  assert.deepEqual([one.delivery_email, one.timezone, one.profile_data], [null, '', undefined])
  const all = JSON.stringify([members, await told('POST', '/register', { client_gravatar: false })])
  for (const { user } of [rig.owner, hamlet, cordelia]) assert.ok(!all.includes(user.email), user.email)
  for (const who of [hamlet.user.email, 99_999]) {
    const { status, body } = await rig.anonymous('GET', `/users/${who}`)
    assert.deepEqual([status, body.code], [400, 'BAD_REQUEST'])
  }
  await letIn(false)
})

test('7.7: where guests see only whom they know, spectators see who reads an open channel', async () => {
  await letIn(true)
  const groups: { id: number; name: string }[] = (await rig.owner.get('/user_groups')).user_groups
  const members = groups.find(({ name }) => name === 'role:members')!.id
  await rig.owner.patch('/realm', { can_access_all_users_group: { new: members } })
  const seen = async (): Promise<number[]> =>
    (await told('GET', '/users')).members.map(({ user_id }: { user_id: number }) => user_id)
  assert.deepEqual(await seen(), [hamlet.user.id])
  assert.equal((await rig.anonymous('GET', `/users/${cordelia.user.id}`)).body.code, 'BAD_REQUEST')
  const polonius = rig.account('polonius', ROLES.guest)
  await rig.owner.post('/users/me/subscriptions', {
    subscriptions: [{ name: open.name }],
    principals: [polonius.user.id],
  })
  assert.deepEqual(await seen(), [hamlet.user.id, polonius.user.id])
  await letIn(false)
})
