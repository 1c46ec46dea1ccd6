/** Detours around rights are closed: contract sections 2.2, 4.2, 7.1, 7.2 and 7.7, rows E52, E72, E91, E122, E143. */

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Channel } from '../../../firmware/chat/realm/model/records.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const NEWEST = { anchor: 'newest', num_before: 10, num_after: 0 }

const {
  rig,
  iago: admin,
  hamlet,
  ophelia,
} = await chatSuite({ iago: 'administrator', hamlet: 'member', ophelia: 'member' })

const accountOf = (id: number): Client => rig.clientOf(rig.chat.realm.state.user.get(id)!)

describe('a private channel that an administrator may not read', () => {
  let closed: Channel
  before(() => {
    closed = rig.channel('closed', [hamlet], { isPrivate: true })
  })
  const subscribe = (client: Client, principal: Client) =>
    client.call('POST', '/users/me/subscriptions', {
      subscriptions: [{ name: 'closed' }],
      principals: [principal.user.id],
    })

  it('cannot be opened by them to an accomplice or to their bot (E52)', async () => {
    const { user_id: bot } = await admin.post('/bots', { full_name: 'Spy', short_name: 'spy' })
    for (const accomplice of [ophelia, accountOf(bot)])
      assert.equal((await subscribe(admin, accomplice)).body.code, 'UNAUTHORIZED_PRINCIPAL')
    await admin.refused('BAD_REQUEST', 'POST', '/invites/multiuse', { stream_ids: [closed.id] })
    await admin.get(`/streams/${closed.id}`)
  })

  it('can be opened by an administrator of the channel who reads it, and starts with the subscribers that its creator names (E52, E60)', async () => {
    assert.equal((await subscribe(hamlet, ophelia)).body.code, 'UNAUTHORIZED_PRINCIPAL')
    const { id } = await hamlet.post('/channels/create', {
      name: 'others',
      subscribers: [ophelia.user.id],
      invite_only: true,
    })
    assert.deepEqual((await ophelia.get(`/streams/${id}/members`)).subscribers, [ophelia.user.id])
  })
})

describe('an owner', () => {
  it('hides their address from administrators, who could use it to sign in as the owner (E72, E3)', async () => {
    const path = `/users/${rig.account('olaf', ROLES.owner).user.id}`
    await admin.refused('BAD_REQUEST', 'PATCH', path, { new_email: 'iago2@example.com' })
    await admin.patch(path, { full_name: 'Olaf the Owner' })
    await rig.owner.patch(path, { new_email: 'olaf@example.org' })
  })

  it('has bots that no administrator manages once they may more than administrators (E91, E93, E144, V25, V26)', async () => {
    const { user_id: id, api_key } = await rig.owner.post('/bots', { full_name: 'Seal', short_name: 'seal' })
    const keyFor = async (client: Client) => (await client.call('GET', `/bots/${id}/api_key`)).body.api_key
    const isListed = async () =>
      (await admin.register({ fetch_event_types: ['realm_bot'] })).snapshot.realm_bots.some(
        ({ user_id }: { user_id: number }) => user_id === id,
      )
    assert.equal(await isListed(), true)
    const queue = await admin.register({ event_types: ['realm_bot'] })
    await rig.owner.patch(`/bots/${id}`, { role: ROLES.owner })
    assert.deepEqual(
      (await queue.events()).map(({ op, bot }) => ({ op, bot })),
      [{ op: 'delete', bot: { user_id: id } }],
    )
    assert.deepEqual([await isListed(), await keyFor(admin), await keyFor(rig.owner)], [false, undefined, api_key])
    await admin.refused('BAD_REQUEST', 'POST', `/bots/${id}/api_key/regenerate`)
    await admin.refused('BAD_REQUEST', 'PATCH', `/bots/${id}`, { bot_owner_id: admin.user.id })
    await rig.owner.patch(`/bots/${id}`, { role: ROLES.member })
    assert.deepEqual(
      (await queue.events()).map(({ op }) => op),
      ['add'],
    )
    assert.equal(await keyFor(admin), api_key)
  })
})

describe('an invitation (E143)', () => {
  const keyOf = async (client: Client, values: object) =>
    (await client.post('/invites/multiuse', { invite_expires_in_minutes: null, ...values })).invite_link
      .split('#')[1]
      .replace('/', '') as string
  const join = (key: string, email: string) =>
    rig.anonymous('POST', `/join/${key}`, {
      full_name: `Newcomer ${email[0]}`,
      password: 'a password of theirs',
      email,
    })

  it('gives no role that its inviter has no longer', async () => {
    const falling = rig.account('falling', ROLES.administrator)
    const keys = [await keyOf(falling, { invite_as: ROLES.administrator }), await keyOf(falling, {})] as const
    await rig.owner.patch(`/users/${falling.user.id}`, { role: ROLES.member })
    assert.equal((await rig.anonymous('GET', `/join/${keys[0]}`)).status, 404)
    assert.equal((await join(keys[0], 'a@example.com')).status, 404)
    assert.equal((await join(keys[1], 'b@example.com')).status, 404, 'links are for administrators to make')
    const [members, administrators] = ['role:members', 'role:administrators'].map(
      (name) => rig.chat.realm.state.groupByName.get(name)!.id,
    )
    await rig.owner.patch('/realm', { create_multiuse_invite_group: { new: members } })
    assert.equal((await join(keys[1], 'b@example.com')).status, 200)
    await rig.owner.patch('/realm', { create_multiuse_invite_group: { new: administrators } })
  })

  it('leads to no channel and no group to which its inviter may add nobody any more', async () => {
    const [shut, open] = [rig.channel('shut', [admin, hamlet]), rig.channel('open', [admin])]
    const { group_id } = await admin.post('/user_groups/create', { name: 'guard', description: '', members: [] })
    const key = await keyOf(admin, { stream_ids: [shut.id, open.id], group_ids: [group_id] })
    await admin.delete('/users/me/subscriptions', { subscriptions: ['shut'] })
    await rig.owner.patch(`/streams/${shut.id}`, { is_private: true })
    const nobody = rig.chat.realm.state.groupByName.get('role:nobody')!.id
    await admin.patch(`/user_groups/${group_id}`, {
      can_manage_group: { new: nobody },
      can_add_members_group: { new: nobody },
    })
    const newcomer = accountOf((await join(key, 'c@example.com')).body.user_id)
    const { subscribed_channel_ids } = await newcomer.get(`/users/${newcomer.user.id}/channels`)
    assert.deepEqual(subscribed_channel_ids, [open.id])
    assert.deepEqual((await hamlet.get(`/user_groups/${group_id}/members`)).members, [])
  })
})

describe('who wrote a message', () => {
  it('has no address for spectators, who cannot ask for one either (4.2)', async () => {
    const square = rig.channel('square', [hamlet], { isWebPublic: true })
    const { id } = await hamlet.post('/messages', { type: 'channel', to: square.id, topic: 't', content: 'hear me' })
    await rig.owner.patch('/realm', { enable_spectator_access: true })
    const read = (narrow: [string, string | number][]) =>
      rig.anonymous('GET', '/messages', { ...NEWEST, narrow: [['channels', 'web-public'], ...narrow] })
    const [message] = (await read([['sender', hamlet.user.id]])).body.messages
    assert.equal(message.id, id)
    assert.deepEqual(
      [message.sender_full_name, message.sender_email],
      ['Hamlet Test', `user${hamlet.user.id}@coffer.invalid`],
    )
    assert.match(message.avatar_url, /^\/user_avatars\//)
    for (const who of [hamlet.user.email, 'nobody@example.com', 9999])
      assert.equal((await read([['sender', who]])).body.code, 'BAD_NARROW', String(who))
    await rig.owner.patch('/realm', { enable_spectator_access: false })
  })

  it('is unknown to guests who cannot see them: in messages, events, reactions and typing (7.7)', async () => {
    const polonius = rig.account('polonius', ROLES.guest)
    const garden = rig.channel('garden', [polonius, ophelia])
    const members = rig.chat.realm.state.groupByName.get('role:members')!.id
    await rig.owner.patch('/realm', { can_access_all_users_group: { new: members } })
    const types = ['message', 'reaction', 'typing']
    const capabilities = { notification_settings_null: true, stream_typing_notifications: true }
    const [his, hers] = await Promise.all(
      [polonius, ophelia].map((client) => client.register({ event_types: types, client_capabilities: capabilities })),
    )
    const { id } = await hamlet.post('/messages', { type: 'channel', to: garden.id, topic: 't', content: 'a stranger' })
    await hamlet.post(`/messages/${id}/reactions`, { emoji_name: 'car' })
    await hamlet.post('/typing', { type: 'stream', op: 'start', stream_id: garden.id, topic: 't' })
    await hamlet.post('/typing', { op: 'start', to: [polonius.user.id] })
    await ophelia.post('/messages', { type: 'channel', to: garden.id, topic: 't', content: 'a friend' })

    const unknown = { sender_full_name: 'Unknown user', sender_email: `user${hamlet.user.id}@coffer.invalid` }
    const told = await his!.events()
    assert.deepEqual(
      told.map(({ type, message, user }) => [type, message?.sender_full_name ?? user?.full_name]),
      [
        ['message', unknown.sender_full_name],
        ['reaction', unknown.sender_full_name],
        ['message', 'Ophelia Test'],
      ],
    )
    assert.equal(told[1].user.email, unknown.sender_email)
    const { messages } = await polonius.get('/messages', { ...NEWEST, narrow: [['channel', garden.id]] })
    const { message } = await polonius.get(`/messages/${id}`)
    for (const one of [messages[0], message, told[0].message])
      assert.deepEqual({ sender_full_name: one.sender_full_name, sender_email: one.sender_email }, unknown)
    for (const text of [JSON.stringify(told), JSON.stringify(messages), JSON.stringify(message)])
      for (const secret of [hamlet.user.email, hamlet.user.fullName]) assert.ok(!text.includes(secret), secret)

    const others = await hers!.events()
    assert.deepEqual(
      others.map(({ type, message, user, sender }) => [type, message?.sender_email ?? user?.email ?? sender.email]),
      [
        ['message', hamlet.user.email],
        ['reaction', hamlet.user.email],
        ['typing', hamlet.user.email],
        ['message', ophelia.user.email],
      ],
    )
  })
})
