/** Presence and typing as events of a real queue tell of them: firmware/chat-page/model, which needs no browser. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { directWith, keyOf } from '../../../firmware/chat-page/model/conversation.ts'
import { availabilityOf, sinceActiveS } from '../../../firmware/chat-page/model/presence.ts'
import { applyEvent, createRealmView } from '../../../firmware/chat-page/model/realm.ts'
import type { QueueEvent } from '../../../firmware/chat-page/model/types.ts'
import { createTypists, placeOfEdit } from '../../../firmware/chat-page/model/typists.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })

const CAPABILITIES = {
  ...{ notification_settings_null: true, empty_topic_name: true, user_settings_object: true },
  ...{ stream_typing_notifications: true, simplified_presence_events: true },
}

async function open() {
  const queue = await hamlet.register({ client_capabilities: CAPABILITIES })
  const realm = createRealmView(queue.snapshot)
  const read = async () => {
    for (const event of (await queue.events()) as QueueEvent[]) applyEvent(realm, event)
  }
  return { realm, read }
}

test('a user is active, then idle, then offline, by the clock of the server', async () => {
  await ophelia.post('/users/me/presence', { status: 'active' })
  const { realm } = await open()
  const { presences } = realm
  const reported = presences.times.get(ophelia.user.id)!
  const localMs = (reported.active_timestamp! - presences.aheadS) * 1000
  const afterS = (s: number) => availabilityOf(presences, ophelia.user.id, localMs + s * 1000)
  assert.equal(presences.offlineAfterS, 200)
  assert.deepEqual([afterS(0), afterS(199), afterS(201)], ['active', 'active', 'offline'])
  presences.times.set(ophelia.user.id, { ...reported, idle_timestamp: reported.active_timestamp! + 150 })
  assert.deepEqual([afterS(201), afterS(349), afterS(351)], ['idle', 'idle', 'offline'])
  assert.equal(Math.round(sinceActiveS(presences, ophelia.user.id, localMs + 3_600_000)!), 3600)
  assert.equal(sinceActiveS(presences, 987_654, localMs), null)
})

test('an event shows a user who hides', async () => {
  await ophelia.post('/users/me/presence', { status: 'active' })
  const { realm, read } = await open()
  const now = () => availabilityOf(realm.presences, ophelia.user.id, Date.now())
  assert.equal(now(), 'active')
  await ophelia.patch('/settings', { presence_enabled: false })
  await read()
  assert.equal(now(), 'offline')
  await ophelia.patch('/settings', { presence_enabled: true })
  await read()
  assert.equal(now(), 'active')
})

test('typing begins and ends in its conversation, and in an edited message', async () => {
  const channel = rig.channel('general', [hamlet, ophelia])
  const { realm, read } = await open()
  const topic = keyOf({ kind: 'topic', channelId: channel.id, topic: 'ONE' })
  const direct = keyOf(directWith([ophelia.user.id], hamlet.user.id))
  const inTopic = { type: 'channel', stream_id: channel.id, topic: 'one' }
  await ophelia.post('/typing', { op: 'start', ...inTopic })
  await ophelia.post('/typing', { op: 'start', type: 'direct', to: [hamlet.user.id] })
  await read()
  assert.deepEqual(realm.typists.at(topic), [ophelia.user.id])
  assert.deepEqual(realm.typists.at(direct), [ophelia.user.id])
  await ophelia.post('/typing', { op: 'stop', ...inTopic })
  await ophelia.post('/typing', { op: 'stop', type: 'direct', to: [hamlet.user.id] })
  await read()
  assert.deepEqual([...realm.typists.at(topic), ...realm.typists.at(direct)], [])
  const { id } = await ophelia.post('/messages', { type: 'stream', to: channel.id, topic: 'one', content: 'x' })
  await ophelia.post(`/messages/${id}/typing`, { op: 'start' })
  await read()
  assert.deepEqual(realm.typists.at(placeOfEdit(id)), [ophelia.user.id])
})

test('who is typing is forgotten after its time, and at most 200 are known', () => {
  let now = 1000
  const typists = createTypists(45_000, () => now)
  typists.start('a', 1)
  now += 44_999
  typists.start('a', 2)
  assert.deepEqual(typists.at('a'), [1, 2])
  assert.equal(typists.endMs('a'), 46_000)
  now += 1
  assert.deepEqual(typists.at('a'), [2])
  for (let n = 0; n < 1000; n++) typists.start(`b${n}`, 3)
  assert.equal(Array.from({ length: 1000 }, (_, n) => typists.at(`b${n}`).length).filter(Boolean).length, 200)
  assert.deepEqual(typists.at('a'), [])
  assert.equal(typists.endMs('a'), null)
})
