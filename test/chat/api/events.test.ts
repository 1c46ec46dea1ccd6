/** Registering, polling, acknowledging: contract sections 3.1 and 4.3. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OWNER_PASSWORD } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig } = await chatSuite()

test('GET /server_settings: describes the server to any client', async () => {
  const { status, body } = await rig.anonymous('GET', '/server_settings')
  assert.equal(status, 200)
  assert.equal(body.zulip_feature_level, 500)
  assert.equal(body.service_feature_level, 460)
  assert.equal(body.realm_name, 'Testing')
  assert.equal(body.realm_uri, 'https://chat.example')
})

test('POST /fetch_api_key: a password gives a key that works, beside the earlier ones', async () => {
  const values = { username: 'olivia@example.com', password: OWNER_PASSWORD }
  const { body } = await rig.anonymous('POST', '/fetch_api_key', values)
  assert.match(body.api_key, /^[a-zA-Z0-9]{32}$/)
  assert.equal(body.user_id, rig.owner.user.id)
  assert.notEqual(body.api_key, rig.owner.key)
  const wrong = await rig.anonymous('POST', '/fetch_api_key', { ...values, password: 'wrong' })
  assert.equal(wrong.status, 401)
  assert.equal(wrong.body.code, 'AUTHENTICATION_FAILED')
  await rig.owner.post('/register')
})

test('POST /register, GET /events, DELETE /events: a queue is made, polled and ended', async () => {
  const { queue_id, last_event_id } = await rig.owner.post('/register', { event_types: [] })
  assert.equal(last_event_id, -1)
  const { events } = await rig.owner.get('/events', { queue_id, last_event_id, dont_block: true })
  assert.deepEqual(events, [])
  const other = rig.account('mallory')
  await other.refused('BAD_REQUEST', 'GET', '/events', { queue_id, last_event_id, dont_block: true })
  await rig.owner.delete('/events', { queue_id })
  const { body } = await rig.owner.refused('BAD_EVENT_QUEUE_ID', 'DELETE', '/events', { queue_id })
  assert.equal(body.queue_id, queue_id)
})

test('POST /register: what a queue keeps of its registration is bounded', async () => {
  const { owner } = rig
  const term = ['topic', 'x']
  const many = { narrow: Array(100).fill(term), event_types: Array(500).fill('message') }
  const { queue_id } = await owner.post('/register', many)
  await owner.delete('/events', { queue_id })
  for (const values of [
    { narrow: Array(101).fill(term) },
    { narrow: [['topic', 'x'.repeat(1001)]] },
    { narrow: [['topic', Array(101).fill(1)]] },
    { event_types: Array(501).fill('message') },
    { event_types: ['x'.repeat(101)] },
    { fetch_event_types: Array(501).fill('message') },
  ])
    await owner.refused('REQUEST_VARIABLE_INVALID', 'POST', '/register', values)
})

test('a queue of before goes on after a stop, with one restart event', async () => {
  const queue = await rig.owner.register()
  rig.reopen()
  const [event, ...others] = await queue.events()
  assert.equal(event.type, 'restart')
  assert.deepEqual(others, [])
})

test('a queue that is kept over a stop does not tell the words of messages that were deleted', async () => {
  const { owner } = rig
  const queue = await owner.register()
  const say = async (content: string): Promise<number> =>
    (await owner.post('/messages', { type: 'direct', to: [owner.user.id], content })).id
  const deleted = await say('nightingale')
  const kept = await say('lark')
  await owner.patch(`/messages/${deleted}`, { content: 'nightingale, edited' })
  await owner.patch(`/messages/${kept}`, { content: 'lark, edited' })
  await owner.delete(`/messages/${deleted}`)
  rig.reopen()
  const events = await queue.events()
  assert.deepEqual(
    events.map(({ type }) => type).filter((type) => type !== 'heartbeat'),
    ['message', 'update_message', 'delete_message', 'restart'],
  )
  assert.doesNotMatch(JSON.stringify(events), /nightingale/)
})

test('nor what was added to one, and it still tells of those that were moved with one', async () => {
  const { owner } = rig
  const { id: to } = rig.channel('birds', [owner])
  const queue = await owner.register()
  const say = async (content: string): Promise<number> =>
    (await owner.post('/messages', { type: 'stream', to, topic: 'song', content })).id
  const poll = await say('/poll nightingale')
  const content = JSON.stringify({ type: 'new_option', idx: 1, option: 'nightingale' })
  await owner.post('/submessage', { message_id: poll, msg_type: 'widget', content })
  await owner.delete(`/messages/${poll}`)
  const deleted = await say('nightingale')
  const kept = await say('lark')
  const edit = { content: 'nightingale, edited', topic: 'flight', propagate_mode: 'change_all' }
  await owner.patch(`/messages/${deleted}`, edit)
  await owner.delete(`/messages/${deleted}`)
  rig.reopen()
  const events = await queue.events()
  assert.doesNotMatch(JSON.stringify(events), /nightingale/)
  assert.equal(events.filter(({ type }) => type === 'submessage').length, 0)
  const moved = events.find(({ type }) => type === 'update_message')
  assert.deepEqual([moved.message_id, moved.message_ids, moved.subject], [deleted, [deleted, kept], 'flight'])
  assert.equal('content' in moved, false)
})

test('POST /dev_fetch_api_key: nobody gets a key without a password', async () => {
  const { status, body } = await rig.anonymous('POST', '/dev_fetch_api_key', { username: 'olivia@example.com' })
  assert.deepEqual([status, body.result, 'api_key' in body], [403, 'error', false])
  assert.equal((await rig.anonymous('GET', '/dev_list_users')).status, 403)
})
