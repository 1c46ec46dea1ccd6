/** What events say, member by member: contract section 4.4, those rows that no test of an endpoint looks at whole. */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { BLOCKS } from '../../../firmware/chat/register/blocks.ts'
import { type Client, openTestChat, type TestChat } from '../support/chat.ts'

let rig: TestChat
let hamlet: Client
let horatio: Client
let channelId: number
before(async () => {
  rig = await openTestChat({ heartbeatMs: () => 5 })
  hamlet = rig.account('hamlet')
  horatio = rig.account('horatio')
  channelId = rig.channel('castle', [hamlet, horatio]).id
})
after(() => rig.close())

type Json = Record<string, unknown>

/** What one hears of these types while something happens, without ids. */
async function heard(client: Client, types: string[], act: () => Promise<unknown>, capabilities: Json = {}) {
  const queue = await client.register({
    event_types: types,
    client_capabilities: { notification_settings_null: true, ...capabilities },
  })
  await act()
  return (await queue.events()).map(({ id: _, ...event }) => event)
}

const send = async (client: Client, values: Json): Promise<number> => (await client.post('/messages', values)).id
const said = (client: Client, content = 'words, words') =>
  send(client, { type: 'channel', to: channelId, topic: 'ghost', content })

test('V1: alert words, all of them', async () => {
  const events = await heard(hamlet, ['alert_words'], () =>
    hamlet.post('/users/me/alert_words', { alert_words: ['ghost', 'king'] }),
  )
  assert.deepEqual(events, [{ type: 'alert_words', alert_words: ['ghost', 'king'] }])
})

test('V12: a heartbeat ends a poll in which nothing happened', async () => {
  const { queue_id } = (await hamlet.register({ event_types: ['message'] })).snapshot
  const { events } = await hamlet.get('/events', { queue_id, last_event_id: -1 })
  assert.deepEqual(events, [{ type: 'heartbeat', id: 0 }])
})

test('V16: muted users, all of them', async () => {
  const events = await heard(hamlet, ['muted_users'], () => hamlet.post(`/users/me/muted_users/${rig.owner.user.id}`))
  const muted_users = [{ id: rig.owner.user.id, timestamp: Math.floor(rig.now() / 1000) }]
  assert.deepEqual(events, [{ type: 'muted_users', muted_users }])
})

test('V18: onboarding steps, those that remain', async () => {
  const before = (await hamlet.register()).snapshot.onboarding_steps as { name: string }[]
  const events = await heard(hamlet, ['onboarding_steps'], () =>
    hamlet.post('/users/me/onboarding_steps', { onboarding_step: before[0]!.name }),
  )
  assert.deepEqual(events, [{ type: 'onboarding_steps', onboarding_steps: before.slice(1) }])
  assert.deepEqual(Object.keys(before[0]!).sort(), ['name', 'type'])
})

test('V21: a reaction comes and goes', async () => {
  const id = await said(hamlet)
  const emoji = { emoji_name: 'tada', emoji_code: '1f389', reaction_type: 'unicode_emoji' }
  const { user } = horatio
  const shared = {
    type: 'reaction',
    user_id: user.id,
    user: { user_id: user.id, email: user.email, full_name: user.fullName, is_mirror_dummy: false },
    message_id: id,
    ...emoji,
  }
  const events = await heard(hamlet, ['reaction'], async () => {
    await horatio.post(`/messages/${id}/reactions`, { emoji_name: 'tada' })
    await horatio.delete(`/messages/${id}/reactions`, { emoji_name: 'tada' })
  })
  assert.deepEqual(events, [
    { ...shared, op: 'add' },
    { ...shared, op: 'remove' },
  ])
})

test('V25, V26: a bot is told to its owner: made, changed, and gone to somebody else', async () => {
  let made: Json = {}
  const events = await heard(hamlet, ['realm_bot'], async () => {
    made = await hamlet.post('/bots', { full_name: 'Player', short_name: 'player' })
    await hamlet.patch(`/bots/${made.user_id}`, { full_name: 'First Player' })
    await rig.owner.patch(`/bots/${made.user_id}`, { bot_owner_id: horatio.user.id })
  })
  const [add, update, gone] = events
  assert.equal(events.length, 3)
  assert.equal(add.op, 'add')
  assert.deepEqual(add.bot, {
    user_id: made.user_id,
    email: 'player-bot@coffer.invalid',
    full_name: 'Player',
    api_key: made.api_key,
    bot_type: 1,
    is_active: true,
    avatar_url: made.avatar_url,
    owner_id: hamlet.user.id,
    default_sending_stream: null,
    default_events_register_stream: null,
    default_all_public_streams: false,
    services: [],
  })
  assert.deepEqual(update, {
    type: 'realm_bot',
    op: 'update',
    bot: { user_id: made.user_id, full_name: 'First Player' },
  })
  assert.deepEqual(gone, { type: 'realm_bot', op: 'delete', bot: { user_id: made.user_id } })
})

test('V38: after a stop each queue is told once which version goes on', async () => {
  const events = await heard(hamlet, ['restart', 'message'], async () => rig.reopen())
  const [{ server_generation, ...event }] = events as [Json]
  assert.equal(typeof server_generation, 'number')
  assert.deepEqual(event, {
    type: 'restart',
    zulip_version: '12.0',
    zulip_merge_base: '12.0',
    zulip_feature_level: 460,
    service_feature_level: 460,
  })
})

test('V49: typing in direct messages and channels', async () => {
  const { user } = horatio
  const person = ({ user: { id, email } }: Client) => ({ user_id: id, email })
  const events = await heard(
    hamlet,
    ['typing'],
    async () => {
      await horatio.post('/typing', { op: 'start', to: [hamlet.user.id] })
      await horatio.post('/typing', { op: 'stop', type: 'channel', stream_id: channelId, topic: 'ghost' })
    },
    { stream_typing_notifications: true },
  )
  const sender = { user_id: user.id, email: user.email }
  const recipients = [person(hamlet), person(horatio)].sort((a, b) => a.user_id - b.user_id)
  assert.deepEqual(events, [
    { type: 'typing', op: 'start', message_type: 'direct', sender, recipients },
    { type: 'typing', op: 'stop', message_type: 'stream', sender, stream_id: channelId, topic: 'ghost' },
  ])
})

test('V50: typing while a message is edited', async () => {
  const inChannel = await said(horatio)
  const direct = await send(horatio, { type: 'direct', to: [hamlet.user.id], content: 'psst' })
  const events = await heard(
    hamlet,
    ['typing_edit_message'],
    async () => {
      await horatio.post(`/messages/${inChannel}/typing`, { op: 'start' })
      await horatio.post(`/messages/${direct}/typing`, { op: 'stop' })
    },
    { stream_typing_notifications: true },
  )
  const user_ids = [hamlet.user.id, horatio.user.id].sort((a, b) => a - b)
  const shared = { type: 'typing_edit_message', sender_id: horatio.user.id }
  assert.deepEqual(events, [
    {
      ...shared,
      op: 'start',
      message_id: inChannel,
      recipient: { type: 'channel', channel_id: channelId, topic: 'ghost' },
    },
    { ...shared, op: 'stop', message_id: direct, recipient: { type: 'direct', user_ids } },
  ])
})

test('V52, V53: flags say which messages changed; what is unread again also where it lies (121)', async () => {
  const inChannel = await said(horatio, `@**Hamlet Test** look`)
  const direct = await send(horatio, { type: 'direct', to: [hamlet.user.id], content: 'psst' })
  const messages = [inChannel, direct]
  const events = await heard(hamlet, ['update_message_flags'], async () => {
    await hamlet.post('/messages/flags', { messages, op: 'add', flag: 'read' })
    await hamlet.post('/messages/flags', { messages: [inChannel], op: 'add', flag: 'read' })
    await hamlet.post('/messages/flags', { messages, op: 'remove', flag: 'read' })
    await hamlet.post('/messages/flags', { messages: [direct], op: 'remove', flag: 'starred' })
  })
  const shared = { type: 'update_message_flags', flag: 'read', messages, all: false }
  const { message_details, ...removed } = events[1] as Json & { message_details: Record<string, Json> }
  assert.deepEqual(events[0], { ...shared, op: 'add', operation: 'add' })
  assert.deepEqual(removed, { ...shared, op: 'remove', operation: 'remove' })
  assert.equal(events.length, 2, 'what is so already is not told')
  const { unmuted_stream_msg: _, ...details } = message_details[inChannel]!
  assert.deepEqual(details, { type: 'stream', mentioned: true, stream_id: channelId, topic: 'ghost' })
  assert.deepEqual(message_details[direct], { type: 'private', user_ids: [horatio.user.id] })
})

test('V58, V62: a setting of a user is told in one form alone, whatever the client knows (439)', async () => {
  const types = ['user_settings', 'update_display_settings', 'update_global_notifications']
  const change = () => hamlet.patch('/settings', { default_language: 'de', enable_sounds: false })
  const events = await heard(hamlet, types, change)
  const shared = { type: 'user_settings', op: 'update' }
  assert.deepEqual(
    events.sort((a, b) => (a.property < b.property ? -1 : 1)),
    [
      { ...shared, property: 'default_language', value: 'de', language_name: 'Deutsch' },
      { ...shared, property: 'enable_sounds', value: false },
    ],
  )
})

test('V11, V61: what only others have is never sent: no token of Zoom, no page to be loaded anew', () => {
  assert.ok('video_calls' in BLOCKS)
  const sources = readdirSync(new URL('../../../firmware/chat', import.meta.url), { recursive: true })
  for (const name of sources.map(String).filter((one) => /^(realm|api|events).*\.ts$/.test(one))) {
    const source = readFileSync(new URL(`../../../firmware/chat/${name}`, import.meta.url), 'utf8')
    assert.doesNotMatch(source, /type: '(?:has_zoom_token|web_reload_client)'/, name)
  }
})

test('E22: a topic is marked as read, and one that is not there is refused', async () => {
  const id = await said(horatio)
  const events = await heard(hamlet, ['update_message_flags'], () =>
    hamlet.post('/mark_topic_as_read', { stream_id: channelId, topic_name: 'Ghost' }),
  )
  assert.ok(events[0].messages.includes(id))
  assert.deepEqual((await hamlet.get(`/messages/${id}`)).message.flags, ['read'])
  await hamlet.refused('BAD_REQUEST', 'POST', '/mark_topic_as_read', { stream_id: channelId, topic_name: 'none' })
})

test('E23: a text as it would be shown, without anything being sent', async () => {
  const { rendered } = await hamlet.post('/messages/render', { content: 'a **b** @**Horatio Test**' })
  assert.match(rendered, /^<p>a <strong>b<\/strong> <span class="user-mention"/)
  await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', '/messages/render', { content: 'x'.repeat(10_001) })
})
