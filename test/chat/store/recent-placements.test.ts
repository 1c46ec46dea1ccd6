/** Placements kept for registers that come together: equal to the table, bounded, and dropped when no more come. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createSentCache } from '../../../firmware/chat/store/recent-placements.ts'
import { chatForEachTest } from '../support/suite.ts'

const suite = chatForEachTest({ hamlet: 'member' })
const SENT = 40
const silent = { send_notification_to_old_thread: false, send_notification_to_new_thread: false }

async function fill() {
  const channel = suite.rig.channel('town', [suite.rig.owner, suite.hamlet])
  const ids: number[] = []
  for (let n = 0; n < SENT; n++)
    ids.push(
      (await suite.rig.owner.post('/messages', { type: 'channel', to: 'town', topic: `t${n % 2}`, content: 'x' })).id,
    )
  return { channel, ids }
}

test('rows are dropped after a second without a register', async (t) => {
  const { messages } = suite.rig.chat.realm.store
  await fill()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await suite.hamlet.register()
  await turn() // the second counts from the end of the turn
  assert.equal(messages.sent.size >= SENT, true)
  t.mock.timers.tick(900)
  await suite.hamlet.register()
  await turn()
  t.mock.timers.tick(900)
  assert.equal(messages.sent.size >= SENT, true)
  t.mock.timers.tick(100)
  assert.equal(messages.sent.size, 0)
})

test('a register after another has messages sent since, and none that were deleted or moved to another channel since', async () => {
  const { ids } = await fill()
  const other = suite.rig.channel('hall', [suite.rig.owner])
  const unread = async () => (await suite.hamlet.register()).snapshot.unread_msgs.streams
  const idsOf = (streams: { unread_message_ids: number[] }[]) =>
    streams.flatMap((one) => one.unread_message_ids).sort((a, b) => a - b)
  assert.deepEqual(idsOf(await unread()), ids)
  const { id } = await suite.rig.owner.post('/messages', { type: 'channel', to: 'town', topic: 't1', content: 'x' })
  assert.deepEqual(idsOf(await unread()), [...ids, id])
  await suite.rig.owner.delete(`/messages/${ids[4]}`)
  await suite.rig.owner.patch(`/messages/${ids[7]}`, {
    stream_id: other.id,
    topic: 'there',
    propagate_mode: 'change_one',
    ...silent,
  })
  await suite.rig.owner.patch(`/messages/${ids[9]}`, { topic: 'renamed', propagate_mode: 'change_one', ...silent })
  const now = await unread()
  assert.deepEqual(idsOf(now.filter((one: { topic: string }) => one.topic !== 'there')), [
    ...ids.filter((_, n) => n !== 4 && n !== 7),
    id,
  ])
  assert.deepEqual(now.find((one: { topic: string }) => one.topic === 'renamed').unread_message_ids, [ids[9]])
})

test('the rows kept are bounded', () => {
  const cache = createSentCache(
    {
      packedBetween(_, from, to) {
        const numbers = Array.from({ length: to - from + 1 }, (_, n) => from + n)
        return { ids: numbers, ordinals: numbers, topics: numbers, isWhole: true }
      },
      placedElsewhere: () => [],
      moves: () => 0,
    },
    1000,
  )
  for (let birth = 1; birth < 100; birth++) {
    cache.begin()
    cache.newest(birth, 400).extend(1)
    assert.ok(cache.size <= 1400, `${cache.size} rows`)
  }
})
