/** Event queues: contract section 4.3, with its bounds. */

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { ChatError } from '../../../firmware/chat/base/error.ts'
import { createEventHub, type EventHub, type Publication } from '../../../firmware/chat/events/hub.ts'
import type { Queue, QueueOptions } from '../../../firmware/chat/events/queue.ts'
import { CAPABILITIES, type Capability, internShape } from '../../../firmware/chat/events/shapes.ts'

let hub: EventHub
let nowMs = 0
let heartbeatMs = 1_000_000
let names = 0

beforeEach(() => {
  nowMs = 0
  heartbeatMs = 1_000_000
  hub = createEventHub({ newQueueId: () => `q${++names}`, nowMs: () => nowMs, heartbeatMs: () => heartbeatMs })
})
afterEach(() => hub.close())

const shapeOf = (...can: Capability[]) =>
  internShape({
    applyMarkdown: false,
    clientGravatar: true,
    slimPresence: false,
    level: null,
    can: Object.fromEntries(CAPABILITIES.map((name) => [name, can.includes(name)])) as Record<Capability, boolean>,
  })

const shapeAt = (level: number) => internShape({ ...shapeOf(), level })

const register = (userId: number, options: Partial<QueueOptions> = {}): Queue =>
  hub.register({
    userId,
    shape: shapeOf(),
    eventTypes: null,
    allPublicStreams: false,
    narrow: [],
    clientName: 'test',
    lifespanMs: 600_000,
    ...options,
  })

function publish(publication: Partial<Publication> = {}): void {
  const batch = hub.begin()
  batch.add({ type: 'x', to: [1], make: () => ({ value: 1 }), ...publication })
  batch.deliver()
}

const poll = async (
  queue: Queue,
  last = -1,
  dontBlock = true,
): Promise<{ id: number; type: string; value?: unknown }[]> =>
  JSON.parse(await hub.poll(queue, last, dontBlock, () => {}))

test('events are numbered from 0 and stay until they are acknowledged', async () => {
  const queue = register(1)
  publish()
  publish()
  assert.deepEqual(await poll(queue), [
    { type: 'x', value: 1, id: 0 },
    { type: 'x', value: 1, id: 1 },
  ])
  assert.equal((await poll(queue)).length, 2)
  assert.deepEqual(
    (await poll(queue, 0)).map(({ id }) => id),
    [1],
  )
  assert.deepEqual(await poll(queue, 1), [])
})

test('ids that were pruned or never issued are refused', async () => {
  const queue = register(1)
  publish()
  publish()
  await poll(queue, 1)
  const refused = (id: number) => assert.throws(() => void hub.poll(queue, id, true, () => {}), { code: 'BAD_REQUEST' })
  refused(0)
  refused(-1)
  refused(2)
  assert.deepEqual(await poll(queue, 1), [])
})

test('events reach those they are for, by user, type and what the client can take', async () => {
  const own = register(1)
  const other = register(2)
  const picky = register(1, { eventTypes: new Set(['y']) })
  const able = register(1, { shape: shapeOf('archived_channels') })
  let made = 0
  publish({
    make: ({ can }) => {
      made++
      return can.archived_channels ? null : { value: 2 }
    },
  })
  assert.equal(made, 2, 'once for each shape')
  assert.equal((await poll(own)).length, 1)
  for (const queue of [other, picky, able]) assert.deepEqual(await poll(queue), [])
  publish({ to: 'everyone', type: 'y', unless: 'x' })
  assert.deepEqual((await poll(own, 0)).length, 0, 'it hears of x')
  assert.equal((await poll(picky)).length, 1)
})

test('a waiting poll is answered by the next event, a second poll ends the first with nothing', async () => {
  const queue = register(1)
  const first = poll(queue, -1, false)
  const second = poll(queue, -1, false)
  assert.deepEqual(await first, [])
  publish()
  assert.equal((await second).length, 1)
})

test('a poll whose client went away ends', async () => {
  const queue = register(1)
  let leave = () => {}
  const waiting = hub.poll(queue, -1, false, (listener) => {
    leave = listener
  })
  assert.notEqual(queue.poll, null)
  leave()
  assert.equal(queue.poll, null)
  assert.equal(await waiting, '[]')
})

test('a poll without events ends with a heartbeat that takes an id', async () => {
  heartbeatMs = 1
  const queue = register(1)
  const keepAlive = setInterval(() => {}, 1000)
  try {
    assert.deepEqual(await poll(queue, -1, false), [{ type: 'heartbeat', id: 0 }])
    assert.deepEqual(await poll(queue, 0), [])
  } finally {
    clearInterval(keepAlive)
  }
})

test('events merge into the last one until that was sent', async () => {
  const queue = register(1)
  const merge = {
    key: 'k',
    join: (before: object, after: object) => ({
      ...after,
      values: [...(before as { values: number[] }).values, ...(after as { values: number[] }).values],
    }),
  }
  const flag = (value: number) => publish({ make: () => ({ values: [value] }), merge })
  flag(1)
  flag(2)
  publish()
  flag(3)
  flag(4)
  assert.deepEqual(await poll(queue), [
    { type: 'x', values: [1, 2], id: 1 },
    { type: 'x', value: 1, id: 2 },
    { type: 'x', values: [3, 4], id: 4 },
  ])
  flag(5)
  assert.deepEqual(await poll(queue, 4), [{ type: 'x', values: [5], id: 5 }])
})

test('members of one queue stand beside those of all', async () => {
  const first = register(1)
  const second = register(1)
  publish({ tail: ({ id }) => (id === first.id ? { local_message_id: 'a"b' } : null) })
  assert.deepEqual(await poll(first), [{ type: 'x', value: 1, local_message_id: 'a"b', id: 0 }])
  assert.deepEqual(await poll(second), [{ type: 'x', value: 1, id: 0 }])
})

test('a queue that nobody polls ends after its time, one that is polled does not', async () => {
  const left = register(1)
  const kept = register(1)
  const long = register(1, { lifespanMs: 1_200_000 })
  void poll(kept, -1, false)
  nowMs = 600_001
  hub.sweep()
  assert.throws(() => hub.find(left.id, 1), { code: 'BAD_EVENT_QUEUE_ID' })
  assert.equal(hub.find(kept.id, 1), kept)
  assert.equal(hub.find(long.id, 1), long)
})

test('a queue is found by its owner alone', () => {
  const queue = register(1)
  assert.throws(() => hub.find(queue.id, 2), { code: 'BAD_REQUEST' })
  assert.throws(
    () => hub.find('none', 1),
    (error) => error instanceof ChatError && error.fields.queue_id === 'none',
  )
})

test('a queue that is never read is dropped when it is full', () => {
  const queue = register(1)
  for (let event = 0; event <= 10_000; event++) publish()
  assert.throws(() => hub.find(queue.id, 1), { code: 'BAD_EVENT_QUEUE_ID' })
  const heavy = register(1)
  for (let event = 0; event < 5; event++) publish({ make: () => ({ value: 'x'.repeat(1024 * 1024) }) })
  assert.throws(() => hub.find(heavy.id, 1), { code: 'BAD_EVENT_QUEUE_ID' })
})

test('what waits in all queues together is bounded: the longest go first, the others stay', () => {
  const light = register(2)
  publish({ to: [2] })
  const heavy = Array.from({ length: 64 }, (_, index) => register(100 + index))
  for (const { userId } of heavy)
    for (let event = 0; event < 3; event++) publish({ to: [userId], make: () => ({ value: 'x'.repeat(1e6) }) })
  const left = heavy.filter(({ id, userId }) => isThere(id, userId))
  assert.ok(left.length < 45, `${left.length} of 64 queues of 3 MB`)
  assert.ok(isThere(light.id, 2))
})

test('an account has at most 64 queues: the one idle for the longest time goes', () => {
  const first = register(1)
  nowMs = 1
  for (let queue = 0; queue < 64; queue++) register(1)
  assert.equal(isThere(first.id, 1), false)
  assert.equal(hub.size, 64)
})

test('queues go on after they were saved, with what was not acknowledged', async () => {
  const queue = register(1, { eventTypes: new Set(['x']), narrow: [['is', 'dm']] })
  publish()
  publish()
  await poll(queue, 0)
  const saved = [...hub.save(() => false)]
  hub.close()
  hub = createEventHub({ newQueueId: () => 'new', nowMs: () => 0 })
  hub.restore(saved.map(({ json }) => json))
  const restored = hub.find(queue.id, 1)
  assert.deepEqual(restored.narrow, [['is', 'dm']])
  publish()
  assert.deepEqual(
    (await poll(restored, 0)).map(({ id }) => id),
    [1, 2],
  )
  assert.throws(() => void hub.poll(restored, 3, true, () => {}), { code: 'BAD_REQUEST' })
})

test('a thousand waiting polls hear of an event in the order of its queue, in slices', async () => {
  const queues = Array.from({ length: 1000 }, (_, index) => register(index))
  const polls = queues.map((queue) => poll(queue, -1, false))
  publish({ to: 'everyone' })
  publish({ to: 'everyone', make: () => ({ value: 2 }) })
  const answers = await Promise.all(polls)
  for (const [index, queue] of queues.entries()) {
    const rest = await poll(queue, answers[index]!.at(-1)!.id)
    assert.deepEqual(
      [...answers[index]!, ...rest].map(({ value }) => value),
      [1, 2],
    )
  }
})

function isThere(id: string, userId: number): boolean {
  try {
    hub.find(id, userId)
    return true
  } catch {
    return false
  }
}

test('an event is rewritten once for all clients of a level, and for nobody else', async () => {
  const rewritten: number[] = []
  hub.close()
  hub = createEventHub({
    newQueueId: () => `q${++names}`,
    oldEvents: {
      knows: (_, type) => type !== 'new',
      othersOf: (_, type) => (type === 'x' ? ['old'] : []),
      rewrite: (level, event) => {
        rewritten.push(level)
        return event.type === 'new'
          ? []
          : [
              { ...event, level },
              { type: 'old', level },
            ]
      },
    },
  })
  const queues = Array.from({ length: 500 }, (_, index) =>
    register(index, index % 2 === 0 ? {} : { shape: shapeAt(200) }),
  )
  const other = register(1000, { shape: shapeAt(300), eventTypes: new Set(['old']) })
  publish({ to: 'everyone' })
  assert.deepEqual(rewritten, [200, 300])
  assert.deepEqual(await poll(queues[0]!), [{ type: 'x', value: 1, id: 0 }])
  assert.deepEqual(await poll(queues[499]!), [
    { type: 'x', value: 1, level: 200, id: 0 },
    { type: 'old', level: 200, id: 1 },
  ])
  assert.deepEqual(await poll(other), [{ type: 'old', level: 300, id: 0 }])
  publish({ to: [0, 1], unless: 'new' })
  assert.deepEqual((await poll(queues[0]!, 0)).length, 0)
  assert.deepEqual(
    (await poll(queues[1]!, -1)).map(({ type }) => type),
    ['x', 'old', 'x', 'old'],
  )
})
