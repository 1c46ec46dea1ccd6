/** Events that one person's own doings cause, each with all of its members: contract section 4.4, the rows that no test of a resource has. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const HEARTBEAT_MS = 20

const { rig, hamlet, cordelia } = await chatSuite(
  { hamlet: 'member', cordelia: 'member' },
  { heartbeatMs: () => HEARTBEAT_MS },
)
const channel = rig.channel('verona', [hamlet, cordelia])

const CAPABILITIES = { notification_settings_null: true, stream_typing_notifications: true, user_settings_object: true }

/** Returns the events that `client` receives during `act`, without their ids. */
// biome-ignore lint/suspicious/noExplicitAny: events of any kind
async function told(client: Client, types: string[] | undefined, act: () => Promise<unknown>): Promise<any[]> {
  const queue = await client.register({ event_types: types, client_capabilities: CAPABILITIES })
  await act()
  return (await queue.events()).map(({ id: _, ...event }) => event)
}

const nowS = (): number => Math.floor(rig.now() / 1000)

test('V1: alert words, all that there are now, to their owner alone', async () => {
  const type = 'alert_words'
  const act = () => hamlet.post('/users/me/alert_words', { alert_words: ['crown', 'ghost'] })
  assert.deepEqual(await told(hamlet, [type], act), [{ type, alert_words: ['crown', 'ghost'] }])
  const remove = () => hamlet.delete('/users/me/alert_words', { alert_words: ['ghost'] })
  assert.deepEqual(await told(cordelia, [type], remove), [])
})

test('V12: a heartbeat ends a poll that nothing came for', async () => {
  const { queue_id } = await hamlet.post('/register', { event_types: [] })
  const { events } = await hamlet.get('/events', { queue_id, last_event_id: -1 })
  assert.deepEqual(events, [{ type: 'heartbeat', id: 0 }])
})

test('V16: all muted users, to the user who muted them alone', async () => {
  const type = 'muted_users'
  const { id } = cordelia.user
  const mute = () => hamlet.post(`/users/me/muted_users/${id}`)
  assert.deepEqual(await told(hamlet, [type], mute), [{ type, muted_users: [{ id, timestamp: nowS() }] }])
  const unmute = () => hamlet.delete(`/users/me/muted_users/${id}`)
  assert.deepEqual(await told(hamlet, [type], unmute), [{ type, muted_users: [] }])
})

test('V18: the steps that are left', async () => {
  const type = 'onboarding_steps'
  const { onboarding_steps } = (await hamlet.register()).snapshot
  const [{ name }] = onboarding_steps
  const act = () => hamlet.post('/users/me/onboarding_steps', { onboarding_step: name })
  assert.deepEqual(await told(hamlet, [type], act), [{ type, onboarding_steps: onboarding_steps.slice(1) }])
})

test('V21: a reaction and its removal, to users who have the message', async () => {
  const type = 'reaction'
  const { id } = await hamlet.post('/messages', { type: 'stream', to: channel.id, topic: 'x', content: 'x' })
  const { id: user_id, email, fullName: full_name } = hamlet.user
  const react = async () => {
    await hamlet.post(`/messages/${id}/reactions`, { emoji_name: 'tada' })
    await hamlet.delete(`/messages/${id}/reactions`, { emoji_name: 'tada' })
  }
  const emoji = { emoji_name: 'tada', emoji_code: '1f389', reaction_type: 'unicode_emoji' }
  const user = { user_id, email, full_name, is_mirror_dummy: false }
  assert.deepEqual(
    await told(cordelia, [type], react),
    ['add', 'remove'].map((op) => ({ type, op, message_id: id, user_id, ...emoji, user })),
  )
})

test('V25, V26: bots, to their owners and to administrators; a former owner hears that one is gone', async () => {
  const type = 'realm_bot'
  const administrators = await rig.owner.register({ event_types: [type] })
  let user_id = 0
  const own = await told(hamlet, [type], async () => {
    user_id = (await hamlet.post('/bots', { full_name: 'Yorick', short_name: 'yorick' })).user_id
    await rig.owner.patch(`/bots/${user_id}`, { bot_owner_id: cordelia.user.id })
  })
  const [added, ...others] = own
  assert.deepEqual([added.op, added.bot.user_id, added.bot.owner_id], ['add', user_id, hamlet.user.id])
  assert.deepEqual(others, [{ type, op: 'delete', bot: { user_id } }])
  const events = await administrators.events()
  assert.deepEqual([events[0].op, events[0].bot.user_id], ['add', user_id])
  assert.deepEqual(
    events.slice(1).map(({ op, bot }) => [op, bot]),
    [['update', { user_id, owner_id: cordelia.user.id }]],
  )
})

test('V38: a new start is told to queues that went on through it', async () => {
  const [event, ...others] = await told(hamlet, ['restart'], async () => rig.reopen())
  const { zulip_version, zulip_merge_base, server_generation } = (await hamlet.register()).snapshot
  const version = { zulip_version, zulip_merge_base, zulip_feature_level: 500, service_feature_level: 460 }
  assert.deepEqual(event, { type: 'restart', ...version, server_generation })
  assert.deepEqual(others, [])
})

test('V49: a user types, to the recipients or the channel', async () => {
  const type = 'typing'
  const [mine, yours] = [hamlet, cordelia].map(({ user: { id: user_id, email } }) => ({ user_id, email }))
  const act = async () => {
    await hamlet.post('/typing', { op: 'start', type: 'direct', to: [cordelia.user.id] })
    await hamlet.post('/typing', { op: 'stop', type: 'stream', stream_id: channel.id, topic: 'x' })
  }
  const events = await told(cordelia, [type], act)
  const recipients = [mine, yours].sort((a, b) => a!.user_id - b!.user_id)
  assert.deepEqual(events, [
    { type, op: 'start', message_type: 'direct', sender: mine, recipients },
    { type, op: 'stop', message_type: 'stream', sender: mine, stream_id: channel.id, topic: 'x' },
  ])
})

test('V50: a user edits a message that they sent', async () => {
  const type = 'typing_edit_message'
  const sent = { type: 'stream', to: channel.id, topic: 'x', content: 'x' }
  const { id } = await hamlet.post('/messages', sent)
  const direct = await hamlet.post('/messages', { type: 'direct', to: [cordelia.user.id], content: 'x' })
  const act = async () => {
    await hamlet.post(`/messages/${id}/typing`, { op: 'start' })
    await hamlet.post(`/messages/${direct.id}/typing`, { op: 'stop' })
  }
  const { id: sender_id } = hamlet.user
  const user_ids = [sender_id, cordelia.user.id].sort((a, b) => a - b)
  assert.deepEqual(await told(cordelia, [type], act), [
    {
      type,
      op: 'start',
      sender_id,
      message_id: id,
      recipient: { type: 'channel', channel_id: channel.id, topic: 'x' },
    },
    { type, op: 'stop', sender_id, message_id: direct.id, recipient: { type: 'direct', user_ids } },
  ])
})

test('V53: what is unread again is told with where it lies', async () => {
  const type = 'update_message_flags'
  const { id } = await hamlet.post('/messages', { type: 'stream', to: channel.id, topic: 'x', content: 'x' })
  const mentioning = `@**Cordelia Test|${cordelia.user.id}**`
  const direct = await hamlet.post('/messages', { type: 'direct', to: [cordelia.user.id], content: mentioning })
  const messages = [id, direct.id]
  const mark = (op: string) => cordelia.post('/messages/flags', { messages, op, flag: 'read' })
  await mark('add')
  const message_details = {
    [id]: { type: 'stream', stream_id: channel.id, topic: 'x', unmuted_stream_msg: true },
    [direct.id]: { type: 'private', user_ids: [hamlet.user.id], mentioned: true },
  }
  assert.deepEqual(await told(cordelia, [type], () => mark('remove')), [
    { type, op: 'remove', operation: 'remove', flag: 'read', messages, all: false, message_details },
  ])
})

test('V58, V62: a setting of an account, to itself; the two forms of before are never sent', async () => {
  const types = ['user_settings', 'update_display_settings', 'update_global_notifications']
  const act = async () => {
    await hamlet.patch('/settings', { default_language: 'de' })
    await hamlet.patch('/settings', { enable_sounds: false })
  }
  const [language, sounds, ...others] = await told(hamlet, types, act)
  const { language_name, ...event } = language
  assert.equal(typeof language_name, 'string')
  const op = { type: 'user_settings', op: 'update' }
  assert.deepEqual(event, { ...op, property: 'default_language', value: 'de' })
  assert.deepEqual(sounds, { ...op, property: 'enable_sounds', value: false })
  assert.deepEqual(others, [])
})

test('V11, V61: no call service is signed in to here, and no page of a browser is served: nothing tells of either', async () => {
  const events = await told(hamlet, ['has_zoom_token', 'web_reload_client'], async () => {
    await hamlet.call('POST', '/calls/zoom/create')
    rig.reopen()
  })
  assert.deepEqual(events, [])
})
