/** Notifications that wait: one for each conversation, accounts in turn, bounded. Contract section 3.9.1. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createPushQueue, type PushResult, type PushSlot } from '../../../firmware/chat/outgoing/push-queue.ts'

const slot = (userId: number, keyId = userId, recipient = 1): PushSlot => ({ userId, keyId, recipient, topic: 0 })

/** Sends wait until they are answered, in their order. */
function openQueue(pauseMs = 1e6, spacingMs = 0) {
  const sent: [keyId: number, messageId: number, tries: number][] = []
  const begunMs: number[] = []
  const waiting: ((againMs: number | null, hostPauseMs?: number) => void)[] = []
  const { add, ...others } = createPushQueue({
    pauseMs,
    spacingMs,
    send: ({ keyId }, messageId, tries) => {
      sent.push([keyId, messageId, tries])
      begunMs.push(performance.now())
      const { promise, resolve } = Promise.withResolvers<PushResult>()
      waiting.push((againMs, hostPauseMs = 0) => resolve({ againMs, hostPauseMs }))
      return promise
    },
  })
  /** By default each account has a sender and a push service of its own. */
  const queue = {
    ...others,
    add: (one: PushSlot, messageId: number, senderId = one.userId, host = `${one.userId}`) =>
      add(one, messageId, { senderId, host }),
  }
  const turns = async (count = 50) => {
    for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  const answerAll = async () => {
    for (;;) {
      await turns()
      if (waiting.length === 0) return
      for (const answer of waiting.splice(0)) answer(null)
    }
  }
  return { queue, sent, begunMs, waiting, turns, answerAll }
}

test('further messages of a conversation wait, and only the newest of them is told', async () => {
  const { queue, sent, waiting, turns } = openQueue(20)
  queue.add(slot(1), 10)
  queue.add(slot(1), 11) // it has not been sent yet
  await turns()
  assert.deepEqual(sent, [[1, 11, 0]])
  for (const id of [12, 13]) queue.add(slot(1), id)
  waiting[0]!(null)
  await turns(5)
  queue.add(slot(1, 1, 2), 14) // another conversation does not wait
  await turns(5)
  assert.deepEqual(sent.slice(1), [[1, 14, 0]])
  while (sent.length < 3) await wait(5)
  assert.deepEqual(sent[2], [1, 13, 0])
  queue.stop()
})

test('there is time for others between two notifications', async () => {
  const { queue, sent, begunMs } = openQueue(1e6, 20)
  for (let user = 0; user < 4; user++) queue.add(slot(user), 1)
  while (sent.length < 4) await wait(1)
  assert.ok(begunMs[3]! - begunMs[0]! >= 55)
  queue.stop()
})

test('a try again is of the newest message, and after the last one the next message begins anew', async () => {
  const { queue, sent, waiting } = openQueue(1)
  queue.add(slot(1), 10)
  while (sent.length < 1) await wait(1)
  waiting[0]!(1)
  while (sent.length < 2) await wait(1)
  queue.add(slot(1), 11)
  waiting[1]!(1)
  while (sent.length < 3) await wait(1)
  waiting[2]!(null)
  await wait(5)
  queue.add(slot(1), 12)
  while (sent.length < 4) await wait(1)
  assert.deepEqual(sent, [
    [1, 10, 0],
    [1, 10, 1],
    [1, 11, 2],
    [1, 12, 0],
  ])
  queue.stop()
})

test('eight are sent at once, two of one account, and accounts take turns', async () => {
  const { queue, sent, waiting, turns } = openQueue()
  for (let n = 0; n < 20; n++) queue.add(slot(1, 100 + n), 1)
  queue.add(slot(2, 200), 1)
  await turns()
  assert.deepEqual(
    sent.map(([key]) => key),
    [100, 200, 101],
  )
  for (let user = 3; user < 20; user++) queue.add(slot(user, user), 1)
  await turns()
  assert.equal(sent.length, 8)
  waiting.shift()!(null)
  await turns()
  assert.equal(sent.length, 9)
  queue.stop()
})

test('an account has at most 200 that wait, all together 20,000, of one host 15,000', async () => {
  const { queue, sent, answerAll } = openQueue(0)
  for (let n = 0; n < 300; n++) queue.add(slot(1, n), 1)
  await answerAll()
  assert.equal(sent.length, 200)
  await wait(20)
  queue.add(slot(1, 1000), 1)
  await answerAll()
  assert.equal(sent.length, 201)

  for (const [host, count] of [
    ['other', 20_000],
    ['one', 15_000],
  ] as const) {
    const all = openQueue(1e6)
    for (let user = 0; user < 25_000; user++) all.queue.add(slot(user), 1, 1, user < 8000 ? 'one' : host)
    while (all.sent.length < count) await all.answerAll()
    await all.answerAll()
    assert.equal(all.sent.length, count)
    await all.queue.quiet()
    all.queue.stop()
  }
})

test('a sender who fills the queue, or that of an account, loses own notifications and no others', async () => {
  const all = openQueue()
  all.queue.add(slot(1), 1, 7)
  for (let user = 2; user < 30_000; user++) all.queue.add(slot(user), 2, 8, 'host')
  for (let user = 40_000; user < 40_100; user++) all.queue.add(slot(user), 3, 9)
  while (all.sent.length < 15_101) await all.answerAll()
  const told = (message: number) => all.sent.filter(([, id]) => id === message).length
  assert.deepEqual([told(1), told(3)], [1, 100])
  assert.deepEqual(all.sent.filter(([, id]) => id === 2).map(([key]) => key)[0], 15_000, 'the newest stay')
  all.queue.stop()

  const one = openQueue()
  for (let topic = 0; topic < 300; topic++) one.queue.add(slot(1, 1, topic), 1, 8)
  one.queue.add(slot(1, 1, 1000), 2, 7)
  one.queue.add(slot(1, 1, 299), 3, 7) // to a conversation that waits; it is not the flood's any more
  for (let topic = 300; topic < 700; topic++) one.queue.add(slot(1, 1, topic), 1, 8)
  await one.answerAll()
  assert.equal(one.sent.length, 200)
  assert.deepEqual(
    one.sent.map(([, id]) => id).filter((id) => id !== 1),
    [3, 2],
  )
  one.queue.stop()
})

test('a push service that does not answer has three places, and is left alone for a while', async () => {
  const { queue, sent, waiting, turns } = openQueue()
  for (let user = 0; user < 100; user++) queue.add(slot(user), 1, user, 'dead')
  await turns()
  assert.equal(sent.length, 3)
  for (let user = 200; user < 205; user++) queue.add(slot(user), 1, user, user < 203 ? 'a' : 'b')
  await turns()
  assert.equal(sent.length, 8)
  const begun = performance.now()
  for (const answer of waiting.splice(0, 3)) answer(1e6, 200)
  await turns()
  for (let user = 300; user < 303; user++) queue.add(slot(user), 1, user, 'c')
  await turns()
  assert.deepEqual(
    sent.slice(8).map(([key]) => key),
    [300, 301, 302],
  )
  for (const answer of waiting.splice(0)) answer(null)
  await queue.quiet()
  while (sent.length < 14) await wait(5)
  assert.ok(performance.now() - begun >= 190)
  assert.deepEqual(
    sent.slice(11).map(([key]) => key),
    [3, 4, 5],
  )
  queue.stop()
})

test('after the stop nothing is sent', async () => {
  const { queue, sent, waiting, turns } = openQueue(1)
  queue.add(slot(1), 1)
  await turns()
  queue.add(slot(1), 2)
  queue.add(slot(2), 3)
  queue.stop()
  waiting[0]!(null)
  queue.add(slot(3), 4)
  await wait(20)
  assert.equal(sent.length, 1)
})
