/** Votes, tasks and what else people do with a widget: contract row E28, section 6.5, V48. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, author, other } = await chatSuite({ author: 'member', other: 'member' })
const channelId = rig.channel('denmark', [author, other]).id

const send = async (content: string): Promise<number> =>
  (await author.post('/messages', { type: 'channel', to: channelId, topic: 'widgets', content })).id
const add = (client: Client, message_id: number, data: unknown) =>
  client.call('POST', '/submessage', { message_id, msg_type: 'widget', content: JSON.stringify(data) })

const EVENTS: [widget: string, data: object, who: 'both' | 'author' | 'nobody'][] = [
  ['/poll', { type: 'vote', key: 'canned,0', vote: 1 }, 'both'],
  ['/poll', { type: 'vote', key: '7,1', vote: -1 }, 'both'],
  ['/poll', { type: 'vote', key: 'canned,0', vote: 2 }, 'nobody'],
  ['/poll', { type: 'vote', key: 1, vote: 1 }, 'nobody'],
  ['/poll', { type: 'question', question: 'Supper?' }, 'author'],
  ['/poll', { type: 'new_option', option: 'fish', idx: 1000 }, 'both'],
  ['/poll', { type: 'new_option', option: 'fish', idx: 1001 }, 'nobody'],
  ['/poll', { type: 'new_task', key: 2, task: 't', desc: '', completed: false }, 'nobody'],
  ['/poll', { type: 'vote', key: 'canned,0', vote: 1, more: 1 }, 'nobody'],
  ['/todo', { type: 'new_task', key: 2, task: 't', desc: 'd', completed: false }, 'both'],
  ['/todo', { type: 'new_task', key: '2', task: 't', desc: 'd', completed: false }, 'nobody'],
  ['/todo', { type: 'strike', key: 'canned,0' }, 'both'],
  ['/todo', { type: 'new_task_list_title', title: 'Other' }, 'author'],
  ['/todo', { type: 'vote', key: 'canned,0', vote: 1 }, 'nobody'],
]
for (const [widget, data, who] of EVENTS)
  test(`POST /submessage: ${JSON.stringify(data)} on ${widget} is for ${who}`, async () => {
    const id = await send(`${widget} Lunch\nsoup`)
    assert.equal((await add(author, id, data)).status === 200, who !== 'nobody')
    assert.equal((await add(other, id, data)).status === 200, who === 'both')
  })

test('POST /submessage: it is told to those who have the message, and stays with it, also when that is moved', async () => {
  const id = await send('/poll Lunch?\nsoup')
  const queue = await other.register({ event_types: ['submessage'] })
  const stranger = await rig.owner.register({ event_types: ['submessage'] })
  const content = JSON.stringify({ type: 'vote', key: 'canned,0', vote: 1 })
  await other.post('/submessage', { message_id: id, msg_type: 'widget', content })
  const [{ id: _, ...event }] = await queue.events()
  const { submessages } = (await author.get(`/messages/${id}`)).message
  assert.equal(submessages.length, 2)
  const { id: submessage_id, ...rest } = submessages[1]
  assert.deepEqual(rest, { message_id: id, sender_id: other.user.id, msg_type: 'widget', content })
  assert.deepEqual(event, { type: 'submessage', submessage_id, ...rest })
  assert.deepEqual(await stranger.events(), [])
  await author.patch(`/messages/${id}`, { topic: 'elsewhere' })
  assert.equal((await author.get(`/messages/${id}`)).message.submessages.length, 2)
})

test('POST /submessage: only the author begins a widget on a message that has none, and it is one that clients know', async () => {
  const id = await send('What shall we eat?')
  const poll = { widget_type: 'poll', extra_data: { question: 'Lunch?', options: ['soup'] } }
  assert.equal((await add(other, id, poll)).status, 400)
  for (const wrong of [{ type: 'vote', key: 'canned,0', vote: 1 }, { widget_type: 'game' }, 'x', null])
    assert.equal((await add(author, id, wrong)).status, 400)
  assert.equal((await add(author, id, poll)).status, 200)
  assert.equal((await add(other, id, { type: 'vote', key: 'canned,0', vote: 1 })).status, 200)
  await author.refused('BAD_REQUEST', 'PATCH', `/messages/${id}`, { content: 'other' })
})

test('POST /submessage: other kinds, broken data, too much of it and messages out of sight are refused', async () => {
  const id = await send('/poll')
  const values = { message_id: id, msg_type: 'widget', content: '{}' }
  await author.refused('REQUEST_VARIABLE_INVALID', 'POST', '/submessage', { ...values, msg_type: 'game' })
  await author.refused('BAD_REQUEST', 'POST', '/submessage', { ...values, content: '{' })
  await author.refused('REQUEST_VARIABLE_INVALID', 'POST', '/submessage', { ...values, content: ' '.repeat(10_001) })
  const own = (await author.post('/messages', { type: 'direct', to: [author.user.id], content: '/poll' })).id
  assert.equal((await add(other, own, { type: 'vote', key: 'canned,0', vote: 1 })).status, 400)
  const long = { type: 'question', question: 'x'.repeat(9900) }
  const statuses = new Set<number>()
  for (let count = 0; count < 30; count++) statuses.add((await add(author, id, long)).status)
  assert.deepEqual(statuses, new Set([200, 400]))
})
