// @test short slow
/** While ten accounts send, edit, move and delete, every queue hears the same in one order, without loss. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig } = await chatSuite()

const ACCOUNTS = 10
/** The longer run takes a minute and more. */
const ROUNDS = process.env.COFFER_SLOW === undefined ? 12 : 300
const ROUNDS_BETWEEN_POLLS = 10 // nobody leaves more unread than a queue may hold

// biome-ignore lint/suspicious/noExplicitAny: events of any type are looked at
type Event = any

test('ten accounts at once: one order for all, nothing lost, nothing twice, local ids to their own queue', async () => {
  const clients = Array.from({ length: ACCOUNTS }, (_, index) => rig.account(`user${index}`, ROLES.moderator))
  const channel = rig.channel('Denmark', clients)
  const queues = await Promise.all(clients.map((client) => client.register({ event_types: TYPES })))
  const heard: Event[][] = clients.map(() => [])
  const late: { sent: number[]; seen: () => Promise<Event[]> }[] = []
  const local = new Map<string, number>()

  async function work(client: Client, who: number): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const localId = `${who}.${round}`
      const { id } = await client.post('/messages', {
        type: 'channel',
        to: channel.id,
        topic: `t${(who + round) % 3}`,
        content: localId,
        queue_id: queues[who]!.snapshot.queue_id,
        local_id: localId,
      })
      local.set(localId, id)
      if (round % 3 === 0) await client.patch(`/messages/${id}`, { content: `${localId} edited` })
      if (round % 4 === 1)
        await client.patch(`/messages/${id}`, { topic: 'moved', send_notification_to_new_thread: false })
      // All of a topic: another one may have done it, or deleted the message meanwhile.
      if (round % 6 === 4)
        await client.call('PATCH', `/messages/${id}`, {
          topic: `t${round % 3} too`,
          propagate_mode: 'change_all',
          send_notification_to_new_thread: false,
        })
      if (round % 5 === 2) await client.delete(`/messages/${id}`)
      if (round === ROUNDS - 7 && who < 3) {
        const queue = await client.register({ event_types: TYPES })
        late.push({ sent: [queue.snapshot.max_message_id], seen: queue.events })
      }
      if (round % ROUNDS_BETWEEN_POLLS === 0) heard[who]!.push(...(await queues[who]!.events()))
    }
  }
  await Promise.all(clients.map(work))

  for (const [who, queue] of queues.entries()) heard[who]!.push(...(await queue.events()))
  for (const [who, events] of heard.entries()) {
    assert.deepEqual(events.map(outline), heard[0]!.map(outline), `queue ${who} hears what all hear`)
    const ids = events.map(({ id }) => id)
    assert.deepEqual(ids, [...ids.keys()], 'ids have no gap where nothing merges')
    const messages = events.filter(({ type }) => type === 'message')
    assert.equal(new Set(messages.map(({ message }) => message.id)).size, ACCOUNTS * ROUNDS)
    const locals = messages.filter((event) => 'local_message_id' in event)
    assert.equal(locals.length, ROUNDS)
    for (const { local_message_id, message } of locals) {
      assert.equal(message.sender_id, clients[who]!.user.id)
      assert.equal(local.get(local_message_id), message.id)
    }
  }
  const all = heard[0]!.filter(({ type }) => type === 'message').map(({ message }) => message.id)
  for (const { sent, seen } of late) {
    const events = await seen()
    const tail = heard[0]!.slice(heard[0]!.length - events.length)
    assert.deepEqual(events.map(outline), tail.map(outline), 'edits, moves and deletions too')
    const after = events.filter(({ type }) => type === 'message').map(({ message }) => message.id)
    assert.deepEqual(
      after,
      all.filter((id) => id > sent[0]!),
      'what the snapshot has not got, events have',
    )
  }
  assert.equal(late.length, 3)
})

const TYPES = ['message', 'update_message', 'delete_message']

const outline = ({ type, message, message_id, message_ids, content, subject }: Event): string =>
  JSON.stringify([type, message?.id, message_id, message_ids, message?.content ?? content, subject])
