/** The empty topic under the names that clients have for it: contract sections 3.2.1 and 11.13. */

import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { Channel } from '../../../firmware/chat/realm/model/records.ts'
import { chatForEachTest } from '../support/suite.ts'

const NAMES = ['', 'general chat', '(no topic)', ' general chat ', ' (no topic)']

const { rig, hamlet } = chatForEachTest({ hamlet: 'member' })
let verona: Channel
beforeEach(() => {
  verona = rig.channel('Verona', [rig.owner, hamlet])
})

const send = async (topic: string): Promise<number> =>
  (await hamlet.post('/messages', { type: 'channel', to: verona.id, topic, content: 'Words' })).id

const topicOf = async (id: number): Promise<string> =>
  (await hamlet.get(`/messages/${id}`, { allow_empty_topic_name: true })).message.subject

const found = async (narrow: object[]): Promise<number[]> =>
  (await hamlet.get('/messages', { anchor: 'newest', num_before: 50, num_after: 0, narrow })).messages.map(
    ({ id }: { id: number }) => id,
  )

describe('The empty topic', () => {
  it('is what is told comes back as, whatever the client can take', async () => {
    const id = await send('')
    for (const allow_empty_topic_name of [false, true]) {
      const { message } = await hamlet.get(`/messages/${id}`, { allow_empty_topic_name })
      assert.equal(await topicOf(await send(message.subject)), '')
      const { topics } = await hamlet.get(`/users/me/${verona.id}/topics`, { allow_empty_topic_name })
      assert.deepEqual(topics.length, 1)
      assert.equal(await topicOf(await send(topics[0].name)), '')
    }
  })

  it('is sent to, edited to and scheduled for by each of its names', async () => {
    for (const topic of NAMES) {
      assert.equal(await topicOf(await send(topic)), '', topic)
      const other = await send('other')
      await hamlet.patch(`/messages/${other}`, { topic })
      assert.equal(await topicOf(other), '', topic)
      const scheduled = { type: 'channel', to: verona.id, topic, content: 'Later', scheduled_delivery_timestamp: 4e9 }
      const { scheduled_message_id } = await hamlet.post('/scheduled_messages', scheduled)
      const topics = async () =>
        (await hamlet.get('/scheduled_messages')).scheduled_messages.map((one: { topic: string }) => one.topic)
      assert.deepEqual(await topics(), [''], topic)
      await hamlet.patch(`/scheduled_messages/${scheduled_message_id}`, { topic: 'other' })
      await hamlet.patch(`/scheduled_messages/${scheduled_message_id}`, { topic })
      assert.deepEqual(await topics(), [''], topic)
      await hamlet.delete(`/scheduled_messages/${scheduled_message_id}`)
      const draft = { type: 'stream', to: [verona.id], topic, content: 'Draft' }
      const { ids } = await hamlet.post('/drafts', { drafts: [draft] })
      assert.equal(
        (await hamlet.get('/drafts')).drafts.find(({ id }: { id: number }) => id === ids[0]).topic,
        '',
        topic,
      )
    }
  })

  it('is no other topic: an edit from one of its names to another changes nothing', async () => {
    const id = await send('')
    for (const topic of NAMES) await hamlet.refused('BAD_REQUEST', 'PATCH', `/messages/${id}`, { topic })
  })

  it('is found by narrows', async () => {
    await send('other')
    const id = await send('')
    for (const operand of NAMES) {
      assert.deepEqual(await found([{ operator: 'topic', operand }]), [id], operand)
      const narrow = [['channel', 'Verona'] as const, ['topic', operand] as const]
      const { messages } = await hamlet.get('/messages/matches_narrow', { msg_ids: [id], narrow })
      assert.deepEqual(Object.keys(messages), [String(id)], operand)
    }
    assert.equal((await found([{ operator: 'topic', operand: 'general chat', negated: true }])).includes(id), false)
  })

  it('is heard of by a queue with a narrow', async () => {
    const queues = []
    for (const client_capabilities of [undefined, { notification_settings_null: true, empty_topic_name: true }])
      for (const operand of NAMES)
        queues.push(
          await hamlet.register({
            event_types: ['message'],
            narrow: [
              ['stream', 'Verona'],
              ['topic', operand],
            ],
            client_capabilities,
          }),
        )
    await send('other')
    const id = await send('')
    for (const queue of queues)
      assert.deepEqual(
        (await queue.events()).map(({ message }) => message.id),
        [id],
      )
  })

  it('has one policy of a user, is typed in, marked as read and deleted by each of its names', async () => {
    for (const [at, topic] of NAMES.entries()) {
      await hamlet.post('/user_topics', { stream_id: verona.id, topic, visibility_policy: 1 + (at % 3) })
      const queue = await hamlet.register({
        client_capabilities: {
          notification_settings_null: true,
          empty_topic_name: true,
          stream_typing_notifications: true,
        },
      })
      const policies = queue.snapshot.user_topics.map((one: Record<string, unknown>) => [
        one.topic_name,
        one.visibility_policy,
      ])
      assert.deepEqual(policies, [['', 1 + (at % 3)]], topic)
      await rig.owner.post('/typing', { type: 'channel', op: 'start', stream_id: verona.id, topic })
      assert.equal((await queue.events()).find(({ type }) => type === 'typing').topic, '', topic)
      const id = (await rig.owner.post('/messages', { type: 'channel', to: verona.id, topic: '', content: 'New' })).id
      await hamlet.post('/mark_topic_as_read', { stream_id: verona.id, topic_name: topic })
      assert.ok((await hamlet.get(`/messages/${id}`)).message.flags.includes('read'), topic)
      await rig.owner.post(`/streams/${verona.id}/delete_topic`, { topic_name: topic })
      assert.deepEqual(await found([{ operator: 'channel', operand: 'Verona' }]), [], topic)
    }
    for (const topic of NAMES) {
      const muting = { stream_id: verona.id, topic, op: 'add' }
      await hamlet.patch('/users/me/subscriptions/muted_topics', muting)
      await hamlet.patch('/users/me/subscriptions/muted_topics', { ...muting, op: 'remove' })
    }
  })

  it('is what a typed link to it by the name that is shown leads to', async () => {
    const id = await send('')
    const { rendered } = await hamlet.post('/messages/render', { content: '#**Verona>general chat**' })
    assert.match(rendered, new RegExp(`/topic//with/${id}"`))
    assert.equal(rendered, (await hamlet.post('/messages/render', { content: '#**Verona>**' })).rendered)
  })

  it('is resolved and opened again under the name that is shown', async () => {
    const id = await send('')
    await hamlet.patch(`/messages/${id}`, { topic: '✔ general chat', propagate_mode: 'change_all' })
    assert.deepEqual(
      await found([
        { operator: 'is', operand: 'resolved' },
        { operator: 'id', operand: id },
      ]),
      [id],
    )
    await hamlet.patch(`/messages/${id}`, { topic: 'general chat', propagate_mode: 'change_all' })
    assert.equal(await topicOf(id), '')
  })
})
