/** Unread messages come from a table that holds everything needed, and equal those of the messages. Contract section 4.2.1. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PACKED_ROWS, PLACED_COLUMNS } from '../../../firmware/chat/store/messages.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, iago } = await chatSuite({ hamlet: 'member', iago: 'member' })

const plan = (sql: string): string =>
  rig.chat.realm.store
    .select<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, [])
    .map(({ detail }) => detail)
    .join('; ')

const SEARCH = /SEARCH placements USING PRIMARY KEY \(birth=\? AND ordinal>\? AND ordinal<\?\)/

test('rows and columns of unread messages are read without the table of messages, in order without sorting', () => {
  const values = 'birth = 1 AND ordinal BETWEEN 1 AND 9'
  const rows = plan(`SELECT ${PLACED_COLUMNS} FROM placements WHERE ${values} ORDER BY ordinal DESC LIMIT 100`)
  for (const details of [rows, plan(PACKED_ROWS.replace('birth = ? AND ordinal BETWEEN ? AND ?', values))]) {
    assert.match(details, SEARCH)
    assert.doesNotMatch(details, /messages|TEMP B-TREE/)
  }
})

test('placements follow what is sent, moved to another topic or channel, edited and deleted', async () => {
  const { store } = rig.chat.realm
  const town = rig.channel('town', [hamlet, iago])
  const hall = rig.channel('hall', [hamlet, iago, rig.owner], { isPrivate: true })
  const sent: number[] = []
  for (let n = 0; n < 40; n++) {
    const message = { type: 'channel', to: town.name, topic: `topic ${n % 4}`, content: `message ${n}` }
    sent.push((await rig.owner.post('/messages', message)).id)
  }
  await rig.owner.patch(`/messages/${sent[0]}`, { topic: 'renamed', propagate_mode: 'change_all' })
  await rig.owner.patch(`/messages/${sent[1]}`, { stream_id: hall.id, propagate_mode: 'change_all' })
  await rig.owner.patch(`/messages/${sent[2]}`, { content: 'edited' })
  await rig.owner.delete(`/messages/${sent[3]}`)
  await hamlet.post('/messages/flags', { messages: sent.slice(8, 12), op: 'add', flag: 'read' })
  const rows = (from: string) => store.select(`SELECT ${PLACED_COLUMNS} FROM ${from} ORDER BY birth, ordinal`, [])
  assert.deepEqual(rows('placements'), rows('messages'))
  assert.ok(rows('messages').length >= 39)
  const { snapshot } = await hamlet.register()
  const unread = snapshot.unread_msgs.streams.flatMap((one: { unread_message_ids: number[] }) => one.unread_message_ids)
  const own = new Set([sent[3], ...sent.slice(8, 12)])
  for (const id of sent) assert.equal(unread.includes(id), !own.has(id), `message ${id}`)
})

test('mentions are told when all messages of an unread range were moved away', async () => {
  const left = rig.channel('left', [hamlet, iago, rig.owner])
  const right = rig.channel('right', [hamlet, iago, rig.owner])
  const send = async (to: string, topic: string, content: string): Promise<number> =>
    (await rig.owner.post('/messages', { type: 'channel', to, topic, content })).id
  const mention = await send(right.name, 'here', `@**|${hamlet.user.id}**`)
  await send(left.name, 'stays', 'unread')
  const read = await send(left.name, 'stays', 'read')
  const moved = await send(left.name, 'gone', 'is moved')
  await hamlet.post('/messages/flags', { messages: [read], op: 'add', flag: 'read' })
  await rig.owner.patch(`/messages/${moved}`, { stream_id: right.id, propagate_mode: 'change_all' })
  const { snapshot } = await hamlet.register()
  assert.deepEqual(snapshot.unread_msgs.mentions, [mention])
})
