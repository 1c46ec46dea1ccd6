/** Addresses of the page and counts of unread messages: firmware/chat-page/model, which needs no browser. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressOf, type ConversationRef, keyOf, readPlace } from '../../../firmware/chat-page/model/conversation.ts'
import { applyEvent, createRealmView, isMuted } from '../../../firmware/chat-page/model/realm.ts'
import type { QueueEvent } from '../../../firmware/chat-page/model/types.ts'
import { chatSuite } from '../support/suite.ts'

const OWN = 4
const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })

test('an address leads to its conversation, whatever the topic and the channel are called', () => {
  const conversation = fc.oneof(
    fc
      .tuple(fc.nat(), fc.string({ unit: 'grapheme' }))
      .map(([channelId, topic]) => ({ kind: 'topic' as const, channelId, topic })),
    fc
      .uniqueArray(fc.integer({ min: 5, max: 1e6 }))
      .map((ids) => ({ kind: 'direct' as const, userIds: ids.sort((a, b) => a - b) })),
  )
  fc.assert(
    fc.property(conversation, fc.string({ unit: 'grapheme' }), (one: ConversationRef, name) => {
      const address = addressOf(one, () => name, OWN)
      assert.match(address, /^#[\w./,~-]*$/)
      assert.deepEqual(readPlace(address, OWN), { view: 'conversation', conversation: one, near: null })
    }),
  )
})

test('links of messages and whatever somebody types lead somewhere', () => {
  const topic = { kind: 'topic', channelId: 9, topic: 'a.b' }
  assert.deepEqual(readPlace('#narrow/channel/9-ops/topic/a.2Eb/near/7', OWN), {
    ...{ view: 'conversation', conversation: topic, near: 7 },
  })
  assert.deepEqual(readPlace('#narrow/stream/9-ops/topic/a.2Eb/with/7', OWN), {
    ...{ view: 'conversation', conversation: topic, near: null },
  })
  assert.deepEqual(readPlace('#narrow/channel/9', OWN), { view: 'channel', channelId: 9 })
  for (const text of [
    '',
    '#',
    '#inbox',
    '#narrow',
    '#narrow/channel/x',
    '#narrow/dm/',
    '#narrow/near/1',
    '#%zz',
    '#narrow/dm/,,',
  ])
    assert.deepEqual(readPlace(text, OWN), { view: 'inbox' }, text)
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void readPlace(text, OWN)))
})

test('unread counts follow the events of a real queue: sent, read, unread, moved, deleted, muted', async () => {
  const channel = rig.channel('general', [hamlet, ophelia])
  const queue = await hamlet.register({
    client_capabilities: { notification_settings_null: true, empty_topic_name: true, bulk_message_deletion: true },
  })
  const realm = createRealmView(queue.snapshot)
  const read = async () => {
    for (const event of (await queue.events()) as QueueEvent[]) applyEvent(realm, event)
  }
  const counts = () =>
    Object.fromEntries(realm.unread.groups().map(({ conversation, ids }) => [keyOf(conversation), ids.length]))
  const send = async (topic: string) =>
    (await ophelia.post('/messages', { type: 'stream', to: channel.id, topic, content: 'x' })).id as number
  const [first, second] = [await send('One'), await send('one')]
  const direct = await ophelia.post('/messages', { type: 'direct', to: [hamlet.user.id], content: '@**Hamlet Test**' })
  await read()
  const key = `topic ${channel.id} one`
  assert.deepEqual(counts(), { [`direct ${ophelia.user.id}`]: 1, [key]: 2 })
  assert.equal(realm.unread.groups()[0]!.mentions, 1)
  await hamlet.post('/messages/flags', { messages: [first, direct.id], op: 'add', flag: 'read' })
  await read()
  assert.deepEqual(counts(), { [key]: 1 })
  await hamlet.post('/messages/flags', { messages: [first], op: 'remove', flag: 'read' })
  await read()
  assert.deepEqual(counts(), { [key]: 2 })
  const isRight = async (step: string) => {
    await read()
    const now = createRealmView((await hamlet.register()).snapshot)
    assert.deepEqual(realm.unread.groups(), now.unread.groups(), step)
  }
  await rig.owner.patch(`/messages/${second}`, { topic: 'two', propagate_mode: 'change_one' })
  await isRight('moved')
  assert.ok(realm.unread.countOf({ kind: 'topic', channelId: channel.id, topic: 'Two' }) >= 1)
  await rig.owner.delete(`/messages/${second}`)
  await isRight('deleted')
  assert.equal(realm.unread.has(second), false)
  const topic = { kind: 'topic', channelId: channel.id, topic: 'ONE' } as const
  assert.equal(isMuted(realm, topic), false)
  await hamlet.post('/user_topics', { stream_id: channel.id, topic: 'one', visibility_policy: 1 })
  await read()
  assert.equal(isMuted(realm, topic), true)
  await hamlet.post('/mark_all_as_read')
  await isRight('all read')
  assert.deepEqual(counts(), {})
})
