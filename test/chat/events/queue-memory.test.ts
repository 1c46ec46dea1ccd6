/** Memory of all event queues together: contract section 9.1. The heap is measured, after a collection. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { EventHub, Publication } from '../../../firmware/chat/events/hub.ts'
import type { Queue, QueueOptions } from '../../../firmware/chat/events/queue.ts'
import { clock, createHub, register } from './hubs.ts'

const MIB = 1024 * 1024
const BYTES_MAX = 16 * MIB
const HEAP_BYTES_MAX = BYTES_MAX + 4 * MIB // with the maps of queues and what the test itself allocates
const QUEUES = 1500

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function publish(hub: EventHub, ...publications: Partial<Publication>[]): void {
  const batch = hub.begin()
  for (const one of publications) batch.add({ type: 'message', to: 'everyone', make: () => ({ value: 1 }), ...one })
  batch.deliver()
}

function heapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

const isThere = (hub: EventHub, { id, userId }: Queue): boolean => {
  try {
    return hub.find(id, userId) !== undefined
  } catch {
    return false
  }
}

/** To be in memory for each queue alone. */
const flags = ({ id }: QueueOptions) => ({ flags: ['read'], queue: id })

test('entries of many queues that nobody polls are bounded, although they share every text', async () => {
  const hub = createHub({ bytesMax: BYTES_MAX })
  const polled = register(hub, 0)
  const before = heapBytes()
  for (let user = 1; user < QUEUES; user++) register(hub, user)
  let highest = 0
  for (let message = 0; message < 300; message++) {
    publish(hub, { tail: flags })
    await hub.poll(polled, message, true, () => {})
    if (message % 20 === 0) highest = Math.max(highest, heapBytes() - before)
  }
  assert.ok(highest < HEAP_BYTES_MAX, `${(highest / MIB).toFixed(1)} MiB`)
  assert.ok(isThere(hub, polled), 'a queue that is polled holds next to nothing')
  assert.ok(hub.size < QUEUES)
})

test('a single change of many events stays within the bound, too', () => {
  const hub = createHub({ bytesMax: BYTES_MAX })
  for (let user = 0; user < QUEUES; user++) register(hub, user)
  const before = heapBytes()
  publish(hub, ...Array.from({ length: 100 }, () => ({ tail: flags })))
  assert.ok(heapBytes() - before < HEAP_BYTES_MAX)
  assert.ok(hub.size > 0)
})

test('of queues that hold as much, those polled least recently go first', async () => {
  const hub = createHub({ bytesMax: BYTES_MAX })
  const queues: Queue[] = []
  for (let user = 0; user < 100; user++) {
    clock.now = user
    queues.push(register(hub, user))
  }
  while (hub.size === queues.length) publish(hub, {})
  const left = queues.map((queue) => isThere(hub, queue))
  assert.equal(left.indexOf(true), 100 - hub.size, 'the older ones are gone')
  assert.ok(hub.size > 50)
})

test('event types and narrows of queues count', () => {
  const hub = createHub({ bytesMax: BYTES_MAX })
  const small = register(hub, 0)
  const before = heapBytes()
  const text = (length: number, n: number) => `${n}`.padStart(length, 'é')
  for (let user = 1; user < 400; user++)
    register(hub, user, {
      eventTypes: new Set(Array.from({ length: 500 }, (_, n) => text(100, n + user * 1000))),
      narrow: Array.from({ length: 100 }, (_, n) => ['topic', text(1000, n + user * 1000)] as const),
    })
  const bytes = heapBytes() - before
  assert.ok(bytes < HEAP_BYTES_MAX, `${(bytes / MIB).toFixed(1)} MiB`)
  assert.ok(isThere(hub, small))
})

test('events stop merging before each merge is long', () => {
  const hub = createHub({ bytesMax: BYTES_MAX })
  const queue = register(hub, 1)
  const join = (before: object, after: object) => ({
    ...after,
    messages: [...(before as { messages: number[] }).messages, ...(after as { messages: number[] }).messages],
  })
  const messages = Array.from({ length: 1000 }, (_, n) => n)
  for (let event = 0; event < 100; event++)
    publish(hub, { type: 'update_message_flags', make: () => ({ messages }), merge: { key: 'k', join } })
  assert.ok(queue.entries.length > 10)
  for (const { prepared } of queue.entries) assert.ok(prepared.text.length < 32 * 1024)
  const ids = queue.entries.flatMap(({ prepared }) => (JSON.parse(prepared.text) as { messages: number[] }).messages)
  assert.equal(ids.length, 100_000)
})

test('restored queues share their texts again and stay within the bound', () => {
  const hub = createHub({ bytesMax: 64 * MIB })
  for (let user = 0; user < 400; user++) register(hub, user)
  for (let message = 0; message < 10; message++)
    publish(hub, { make: () => ({ content: `${message}`.repeat(1500) }), tail: flags })
  const saved = Array.from(
    hub.save(() => false),
    ({ json }) => json,
  )
  const restored = createHub({ bytesMax: 4 * MIB })
  restored.restore(saved)
  const texts = new Set<object>()
  let held = 0
  for (let user = 0; user < 400; user++)
    for (const { entries } of restored.queuesOf(user)) {
      held++
      for (const { prepared } of entries) texts.add(prepared)
    }
  assert.equal(held, saved.length)
  assert.equal(texts.size, 10)
  const narrow = createHub({ bytesMax: MIB / 2 })
  narrow.restore(saved)
  assert.ok(narrow.size > 0 && narrow.size < saved.length)
})

test('saved queues are bounded in all, and the smallest are saved', () => {
  const hub = createHub({ bytesMax: BYTES_MAX })
  const small = register(hub, 1)
  publish(hub, {})
  for (let user = 2; user < 100; user++) register(hub, user)
  for (let message = 0; message < 50; message++)
    publish(hub, { to: Array.from({ length: 98 }, (_, n) => n + 2), make: () => ({ content: 'x'.repeat(1000) }) })
  const lengthOf = (saved: Iterable<{ json: string }>) => [...saved].reduce((sum, { json }) => sum + json.length, 0)
  const length = lengthOf(hub.save(() => false))
  assert.ok(length <= BYTES_MAX / 8 && length > BYTES_MAX / 16, `${length} characters`)
  const some = [...hub.save(() => false, 1000)]
  assert.deepEqual(
    some.map(({ id }) => id),
    [small.id],
  )
  assert.deepEqual([...hub.save(() => false, 0)], [])
})
