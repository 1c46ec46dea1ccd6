/** Visibility policies of topics: rows E56, E57; events V15, V60; blocks user_topic, muted_topics. Contract 3.3, 4.2. */

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { START_MS } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })
let stream_id: number
before(async () => {
  await hamlet.post('/users/me/subscriptions', { subscriptions: [{ name: 'Verona' }] })
  stream_id = (await hamlet.get('/get_stream_id', { stream: 'Verona' })).stream_id
})

describe('Policies of topics', () => {
  const now = START_MS / 1000
  const kind = ({ id: _, ...event }: Record<string, unknown>) => event

  it('are set, told and listed; what is so already is a success without an event (E57, V60)', async () => {
    const queue = await hamlet.register({ event_types: ['user_topic', 'muted_topics'] })
    const values = { stream_id, topic: ' Fish ', visibility_policy: 3 }
    await hamlet.post('/user_topics', values)
    await hamlet.post('/user_topics', { ...values, topic: 'fISH' })
    assert.deepEqual((await queue.events()).map(kind), [
      { type: 'user_topic', stream_id, topic_name: 'Fish', last_updated: now, visibility_policy: 3 },
    ])
    const { snapshot } = await hamlet.register()
    assert.deepEqual(snapshot.user_topics, [{ stream_id, topic_name: 'Fish', last_updated: now, visibility_policy: 3 }])
    assert.equal(snapshot.muted_topics, undefined)
    await hamlet.post('/user_topics', { ...values, visibility_policy: 0 })
    assert.deepEqual((await hamlet.register()).snapshot.user_topics, [])
    assert.deepEqual(
      (await queue.events()).map(({ visibility_policy }) => visibility_policy),
      [0],
    )
  })

  it('that mute are told in the form of before to clients that know no other (E56, V15)', async () => {
    const old = await hamlet.register({ event_types: ['muted_topics'], fetch_event_types: ['muted_topics'] })
    assert.deepEqual(old.snapshot.muted_topics, [])
    const path = '/users/me/subscriptions/muted_topics'
    await hamlet.patch(path, { stream: 'verona', topic: '', op: 'add' })
    await hamlet.patch(path, { stream_id, topic: '(no topic)', op: 'add' })
    assert.deepEqual((await old.events()).map(kind), [
      { type: 'muted_topics', muted_topics: [['Verona', 'general chat', now]] },
    ])
    const capabilities = { notification_settings_null: true, empty_topic_name: true }
    const { snapshot } = await hamlet.register({ client_capabilities: capabilities })
    assert.deepEqual(snapshot.user_topics[0].topic_name, '')
    await hamlet.patch(path, { stream_id, topic: '', op: 'remove' })
    await hamlet.patch(path, { stream_id, topic: '', op: 'remove' })
    assert.deepEqual((await old.events()).map(kind), [{ type: 'muted_topics', muted_topics: [] }])
  })

  it('are at most 20,000 of one account; those that there are can be changed and taken back', async () => {
    const { realm } = rig.chat
    const userId = hamlet.user.id
    const set = (topic: string, visibility_policy: number) => ({ stream_id, topic, visibility_policy })
    const held = () => realm.state.userTopicsOf.get(userId).size
    const topics = Array.from({ length: 20_000 - held() }, (_, number) => `many ${number}`)
    realm.transaction((turn) => {
      for (const topicName of topics)
        turn.put('userTopic', { userId, channelId: stream_id, topicName, lastUpdated: now, policy: 1 })
    })
    await hamlet.refused('BAD_REQUEST', 'POST', '/user_topics', set('one more', 3))
    const muting = { stream_id, topic: 'one more', op: 'add' }
    await hamlet.refused('BAD_REQUEST', 'PATCH', '/users/me/subscriptions/muted_topics', muting)
    await hamlet.post('/user_topics', set('MANY 0', 2))
    await hamlet.post('/user_topics', set('many 1', 0))
    await hamlet.post('/user_topics', set('one more', 3))
    realm.transaction((turn) => {
      for (const { channelId, topicName } of [...realm.state.userTopicsOf.get(userId).values()])
        if (topicName.startsWith('many')) turn.remove('userTopic', `${userId}:${channelId}:${topicName}`)
    })
  })

  it('are refused where the channel is unknown or a value is wrong', async () => {
    const good = { stream_id, topic: 'x', visibility_policy: 1 }
    await hamlet.refused('BAD_REQUEST', 'POST', '/user_topics', { ...good, stream_id: 9999 })
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', '/user_topics', { ...good, visibility_policy: 4 })
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', '/user_topics', { ...good, topic: 'x'.repeat(61) })
    await hamlet.refused('REQUEST_VARIABLE_MISSING', 'POST', '/user_topics', { stream_id, topic: 'x' })
    const path = '/users/me/subscriptions/muted_topics'
    await hamlet.refused('BAD_REQUEST', 'PATCH', path, { topic: 'x', op: 'add' })
    await hamlet.refused('BAD_REQUEST', 'PATCH', path, { stream_id, stream: 'Verona', topic: 'x', op: 'add' })
    await hamlet.refused('STREAM_DOES_NOT_EXIST', 'PATCH', path, { stream: 'nowhere', topic: 'x', op: 'add' })
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'PATCH', path, { stream_id, topic: 'x', op: 'mute' })
  })
})
