/** The flag hide_link_previews, and the limit of moves: contract sections 2.4, 7.3, rows E18 and E19; levels 505, 509 and 510. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatForEachTest } from '../support/suite.ts'

const { rig, hamlet, ophelia } = chatForEachTest({ hamlet: 'member', ophelia: 'member' })

const FLAG = 'hide_link_previews'
const DAY_S = 86_400

const flagsOf = async (client: typeof hamlet, id: number): Promise<string[]> =>
  (await client.get(`/messages/${id}`)).message.flags

test('a reader hides the previews of a message for themselves, and shows them again', async () => {
  const channel = rig.channel('links', [hamlet, ophelia])
  const sent = { type: 'channel', to: channel.id, topic: 't', content: 'https://a.example' }
  const { id } = await hamlet.post('/messages', sent)
  const { events } = await ophelia.register({ event_types: ['update_message_flags'] })
  await ophelia.post('/messages/flags', { messages: [id], op: 'add', flag: FLAG })
  assert.ok((await flagsOf(ophelia, id)).includes(FLAG))
  assert.ok(!(await flagsOf(hamlet, id)).includes(FLAG))
  rig.reopen()
  assert.ok((await flagsOf(ophelia, id)).includes(FLAG))
  const narrow = { anchor: id, num_before: 0, num_after: 0, narrow: [], op: 'remove', flag: FLAG }
  assert.equal((await ophelia.post('/messages/flags/narrow', narrow)).updated_count, 1)
  assert.ok(!(await flagsOf(ophelia, id)).includes(FLAG))
  const told = (await events()).filter(({ type }) => type === 'update_message_flags')
  assert.deepEqual(
    told.map(({ op, flag, messages }) => [op, flag, messages]),
    [
      ['add', FLAG, [id]],
      ['remove', FLAG, [id]],
    ],
  )
  await ophelia.refused('BAD_REQUEST', 'POST', '/messages/flags', { messages: [id + 1000], op: 'add', flag: FLAG })
})

test('events of edits and moves do not tell the flag, which the official app does not know', async () => {
  const channel = rig.channel('links', [hamlet, ophelia])
  const { id } = await hamlet.post('/messages', { type: 'channel', to: channel.id, topic: 't', content: 'x' })
  await ophelia.post('/messages/flags', { messages: [id], op: 'add', flag: FLAG })
  const { events } = await ophelia.register({ event_types: ['update_message'] })
  await hamlet.patch(`/messages/${id}`, { content: 'y' })
  await hamlet.patch(`/messages/${id}`, { topic: 'other' })
  assert.deepEqual(
    (await events()).map(({ flags }) => flags),
    [[], []],
  )
})

test('moving a topic of which the chosen message is too old and others are not offers those', async () => {
  const channel = rig.channel('old', [hamlet])
  const say = async (): Promise<number> =>
    (await hamlet.post('/messages', { type: 'channel', to: channel.id, topic: 'plans', content: 'x' })).id
  const [first, second] = [await say(), await say()]
  rig.advance(8 * DAY_S)
  const move = { topic: 'other plans', propagate_mode: 'change_all' }
  const { body: all } = await hamlet.refused('BAD_REQUEST', 'PATCH', `/messages/${first}`, move)
  assert.match(all.msg, /time limit/, 'where all are too old')
  const third = await say()
  for (const target of [first, second, third]) {
    const { body } = await hamlet.refused('MOVE_MESSAGES_TIME_LIMIT_EXCEEDED', 'PATCH', `/messages/${target}`, move)
    assert.deepEqual(
      [body.first_message_id_allowed_to_move, body.total_messages_in_topic, body.total_messages_allowed_to_move],
      [third, 3, 1],
    )
  }
  for (const mode of ['change_one', 'change_later'])
    await hamlet.refused('BAD_REQUEST', 'PATCH', `/messages/${first}`, { ...move, propagate_mode: mode })
  await hamlet.patch(`/messages/${third}`, { ...move, propagate_mode: 'change_one' })
})

test('the channel where a message is, alone, is no change', async () => {
  const channel = rig.channel('here', [hamlet])
  const { id } = await hamlet.post('/messages', { type: 'channel', to: channel.id, topic: 't', content: 'x' })
  await hamlet.refused('BAD_REQUEST', 'PATCH', `/messages/${id}`, { stream_id: channel.id })
})
