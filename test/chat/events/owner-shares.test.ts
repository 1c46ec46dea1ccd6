/** Event queues of a person and their bots share one part of the room: contract section 9.1. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventHub } from '../../../firmware/chat/events/hub.ts'
import type { Queue } from '../../../firmware/chat/events/queue.ts'
import { clock, createHub, register } from './hubs.ts'

const MIB = 1024 * 1024
const QUEUES_MAX = 20_000

/** Bots have ids from 1000 on: 1000 to 1999 belong to user 1, 2000 to 2999 to user 2. */
const ownerOf = (id: number) => (id < 1000 ? id : Math.floor(id / 1000))
const botsOf = (owner: number, count: number) => Array.from({ length: count }, (_, n) => owner * 1000 + n)

let made = 0
/** Each event has a text of its own, so that nothing is shared. */
function fill(hub: EventHub, userId: number, characters: number): void {
  const batch = hub.begin()
  batch.add({ type: 'message', to: [userId], make: () => ({ content: `${made++}`.padEnd(characters, '.') }) })
  batch.deliver()
}

const isThere = (hub: EventHub, { id, userId }: Queue): boolean =>
  [...hub.queuesOf(userId)].some((one) => one.id === id)

test('room comes from the owner whose queues hold most together, although each of these is small', () => {
  const hub = createHub({ bytesMax: 4 * MIB, ownerOf })
  const idle = [3, 4, 5].map((user) => register(hub, user))
  for (const { userId } of idle) fill(hub, userId, 100_000) // 200 KiB each
  clock.now = 1000
  const bots = botsOf(1, 200).map((bot) => register(hub, bot))
  for (let round = 0; round < 50; round++) for (const { userId } of bots) fill(hub, userId, 1000)
  assert.ok(bots.some((queue) => !isThere(hub, queue)))
  assert.deepEqual(
    idle.map((queue) => isThere(hub, queue)),
    [true, true, true],
  )
})

test('the largest queue of that owner goes first, and of equal ones the least recently polled', () => {
  const hub = createHub({ bytesMax: MIB, ownerOf })
  const other = register(hub, 2)
  fill(hub, 2, 150_000)
  const [small, ...rest] = botsOf(1, 4).map((bot) => {
    clock.now = 10_000 - bot
    return register(hub, bot)
  }) as [Queue, ...Queue[]]
  fill(hub, small.userId, 20_000)
  for (const { userId } of rest) fill(hub, userId, 80_000)
  const latest = register(hub, 1999)
  fill(hub, 1999, 20_000)
  assert.equal(hub.size, 6)
  while (hub.size === 6) fill(hub, 2, 1000)
  const left = [other, small, latest, ...rest].map((queue) => isThere(hub, queue))
  assert.deepEqual(left, [true, true, true, true, true, false], 'the idlest of the three largest')
})

test('every owner has the same share of what is saved for the next start', () => {
  const hub = createHub({ bytesMax: 4 * MIB, ownerOf })
  const idle = register(hub, 3)
  fill(hub, 3, 40_000)
  for (const bot of botsOf(1, 200)) {
    register(hub, bot)
    fill(hub, bot, 2000)
  }
  const saved = new Set(
    Array.from(
      hub.save(() => false, 100_000),
      ({ id }) => id,
    ),
  )
  assert.ok(saved.has(idle.id))
  assert.ok(saved.size > 5 && saved.size < 40, `${saved.size}`)
})

test('when there are as many queues as there may be, one of the owner with most goes', () => {
  const hub = createHub({ bytesMax: 256 * MIB, ownerOf })
  const idle = register(hub, 3)
  clock.now = 1000
  const taken: Queue[] = []
  for (const bot of botsOf(1, 200)) for (let queue = 0; queue < 60; queue++) taken.push(register(hub, bot))
  for (const bot of botsOf(2, 200)) for (let queue = 0; queue < 64 && hub.size < QUEUES_MAX; queue++) register(hub, bot)
  assert.equal(hub.size, QUEUES_MAX)
  clock.now = 2000
  const late = register(hub, 4)
  assert.equal(hub.size, QUEUES_MAX)
  assert.deepEqual(
    [idle, late].map((queue) => isThere(hub, queue)),
    [true, true],
  )
  assert.equal(isThere(hub, taken[0]!), false)
  assert.equal(taken.filter((queue) => !isThere(hub, queue)).length, 1)
})
