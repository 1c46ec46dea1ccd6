/** Deleting with an account what somebody wrote and is: contract row E73, section 3.4.1; V9, V34. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { png } from '../../../firmware/chat/realm/objects/avatar-png.ts'
import type { Client } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const {
  rig,
  iago: admin,
  claudius,
  gertrude,
} = chatForEachTest({ iago: 'administrator', claudius: 'member', gertrude: 'member' })

const ACTIONS = {
  delete_public_channel_messages: 'public',
  delete_private_channel_messages: 'private',
  delete_direct_messages: 'direct',
} as const

/** Ids for each kind of location: two messages of Claudius, one of a bot that Claudius owns, and one of another user. */
async function written(): Promise<Record<'public' | 'private' | 'direct', number[]>> {
  const both = [claudius, gertrude]
  const bot = rig.clientOf(
    rig.chat.realm.state.user.get((await claudius.post('/bots', { full_name: 'Spy', short_name: 'spy' })).user_id)!,
  )
  const places = {
    public: { type: 'stream', to: rig.channel('court', both).id, topic: 'throne' },
    private: { type: 'stream', to: rig.channel('closet', [...both, bot], { isPrivate: true }).id, topic: 'arras' },
    direct: { type: 'direct', to: [claudius.user.id, gertrude.user.id] },
  }
  const ids: Record<string, number[]> = {}
  for (const [kind, place] of Object.entries(places)) {
    const send = async (client: Client) => (await client.post('/messages', { ...place, content: kind })).id as number
    ids[kind] = [await send(claudius), await send(claudius), await send(bot), await send(gertrude)]
  }
  return ids as Awaited<ReturnType<typeof written>>
}

for (const [action, kind] of Object.entries(ACTIONS))
  test(`DELETE /users/:user_id: ${action} deletes messages of that kind by the user and their bots, no others, and sends events to readers`, async () => {
    const ids = await written()
    const queue = await gertrude.register({
      event_types: ['delete_message'],
      client_capabilities: { notification_settings_null: true, bulk_message_deletion: true },
    })
    await admin.delete(`/users/${claudius.user.id}`, { actions: { [action]: true } })
    const gone = (await queue.events()).flatMap(({ message_ids }) => message_ids).sort((a, b) => a - b)
    assert.deepEqual(gone, ids[kind].slice(0, 3))
    for (const [other, all] of Object.entries(ids))
      for (const [index, id] of all.entries())
        assert.equal((await gertrude.call('GET', `/messages/${id}`)).status, other === kind && index < 3 ? 400 : 200)
    assert.equal(rig.chat.realm.state.erasure.size, 0)
    await claudius.refused('USER_DEACTIVATED', 'GET', '/users/me')
  })

test('DELETE /users/:user_id: all of it, of many messages, and nothing of the kinds that were not named', async () => {
  const ids = await written()
  for (let count = 0; count < 120; count++)
    await claudius.post('/messages', { type: 'direct', to: [gertrude.user.id], content: String(count) })
  await admin.delete(`/users/${claudius.user.id}`, {
    actions: {
      delete_direct_messages: true,
      delete_public_channel_messages: true,
      delete_private_channel_messages: false,
    },
  })
  const { messages } = await gertrude.get('/messages', { anchor: 'newest', num_before: 1000, num_after: 0 })
  const his = messages.filter(({ sender_id }: { sender_id: number }) => sender_id === claudius.user.id)
  assert.deepEqual(
    his.map(({ id }: { id: number }) => id),
    ids.private.slice(0, 2),
  )
})

test('DELETE /users/:user_id: delete_profile leaves nothing that tells whose it was, and the account is not reactivated', async () => {
  const { id } = await admin.post('/realm/profile_fields', { field_type: 1, name: 'Title' })
  await claudius.patch('/users/me/profile_data', { data: [{ id, value: 'King' }] })
  await claudius.post('/users/me/status', { status_text: 'drinking' })
  await claudius.patch('/settings', { timezone: 'Europe/Copenhagen', email_address_visibility: 1 })
  await claudius.upload(
    'POST',
    '/users/me/avatar',
    png(20, [[1, 2, 3]], () => new Uint8Array(20)),
  )
  const queue = await gertrude.register({ event_types: ['realm_user', 'user_status'] })
  await admin.delete(`/users/${claudius.user.id}`, { actions: { delete_profile: true } })
  const { user } = await admin.get(`/users/${claudius.user.id}`, { include_custom_profile_fields: true })
  assert.equal(user.full_name, `Deleted user ${claudius.user.id}`)
  assert.equal(user.email, `deleted-user${claudius.user.id}@coffer.invalid`)
  assert.equal(user.delivery_email, user.email)
  assert.deepEqual([user.is_deleted, user.is_active, user.timezone, user.profile_data], [true, false, '', {}])
  assert.equal(rig.chat.realm.state.user.get(claudius.user.id)!.avatarSource, 'J')

  const told = Object.assign({}, ...(await queue.events()).map(({ person, status_text }) => person ?? { status_text }))
  assert.equal(told.is_deleted, true)
  assert.equal(told.full_name, user.full_name)
  assert.equal(told.new_email, user.email)
  assert.equal(told.avatar_url, user.avatar_url)
  assert.deepEqual(told.custom_profile_field, { id, value: null })
  assert.equal(told.status_text, '')
  assert.ok(
    !JSON.stringify((await gertrude.register()).snapshot)
      .toLowerCase()
      .includes('claudius'),
  )
  await admin.refused('BAD_REQUEST', 'POST', `/users/${claudius.user.id}/reactivate`)
  await claudius.refused('INVALID_API_KEY', 'GET', '/users/me')
})

test('DELETE /users/:user_id: what a stop interrupts goes on at the next start', async () => {
  const ids = await written()
  rig.chat.realm.transaction((turn) => {
    const none = { publicMessages: false, privateMessages: false, directMessages: true, profile: false }
    turn.put('erasure', { userId: claudius.user.id, after: 0, ...none })
  })
  rig.reopen()
  while (rig.chat.realm.state.erasure.size > 0) await new Promise(setImmediate)
  assert.equal((await gertrude.call('GET', `/messages/${ids.direct[0]}`)).status, 400)
  assert.equal((await gertrude.call('GET', `/messages/${ids.public[0]}`)).status, 200)
})

test('DELETE /users/:user_id: users who cannot be deactivated lose no messages; an unknown action is refused', async () => {
  const ids = await written()
  const { owner } = rig
  const values = { actions: { delete_direct_messages: true } }
  await gertrude.refused('BAD_REQUEST', 'DELETE', `/users/${claudius.user.id}`, values)
  await admin.refused('BAD_REQUEST', 'DELETE', `/users/${owner.user.id}`, values)
  await admin.refused('REQUEST_VARIABLE_INVALID', 'DELETE', `/users/${claudius.user.id}`, { actions: { other: true } })
  await admin.refused('REQUEST_VARIABLE_INVALID', 'DELETE', `/users/${claudius.user.id}`, {
    deactivation_notification_comment: 'x'.repeat(2001),
  })
  assert.equal(rig.chat.realm.state.erasure.size, 0)
  await claudius.get(`/messages/${ids.direct[0]}`)
})

test('DELETE /users/:user_id: who was deactivated before loses it when it is asked for then', async () => {
  const ids = await written()
  await admin.delete(`/users/${claudius.user.id}`)
  await admin.delete(`/users/${claudius.user.id}`, { actions: { delete_public_channel_messages: true } })
  assert.equal((await gertrude.call('GET', `/messages/${ids.public[0]}`)).status, 400)
})
