/** A channel where nobody has written for long is told to be active again: contract sections 2.3 and 3.2, row E10. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })

const DAY_S = 86_400
const RECENTLY_DAYS = 180

test('the first message after 180 days wakes a channel, for all who see it and once', async () => {
  const open = rig.channel('Elsinore', [hamlet])
  const hidden = rig.channel('secrets', [hamlet], { isPrivate: true })
  const say = (id: number) => hamlet.post('/messages', { type: 'stream', to: id, topic: 'watch', content: 'Hello' })
  const isActive = async (id: number) => (await hamlet.get(`/streams/${id}`)).stream.is_recently_active

  for (const { id } of [open, hidden]) await say(id)
  rig.advance(RECENTLY_DAYS * DAY_S - 1)
  assert.equal(await isActive(open.id), true)
  rig.advance(1)
  assert.equal(await isActive(open.id), false)

  const queues = [
    await hamlet.register({ event_types: ['stream'] }),
    await ophelia.register({ event_types: ['stream'] }),
  ]
  for (const { id } of [open, hidden, open]) await say(id)
  const [his, hers] = await Promise.all(queues.map(async (queue) => (await queue.events()).map(withoutId)))
  const woken = ({ id, name }: { id: number; name: string }) => ({
    ...{ type: 'stream', op: 'update', stream_id: id, name },
    ...{ property: 'is_recently_active', value: true },
  })
  assert.deepEqual(his, [woken(open), woken(hidden)])
  assert.deepEqual(hers, [woken(open)])
  assert.equal(await isActive(open.id), true)
})

const withoutId = ({ id: _, ...event }: Record<string, unknown>) => event
