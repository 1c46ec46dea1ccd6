import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { createIdleTimer } from '../../firmware/base/idle-timer.ts'

const MS = 1000

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

test('a use that takes longer than the time does not end it', async () => {
  let ended = 0
  const timer = createIdleTimer(MS, () => ended++)
  for (let use = 0; use < 3; use++) {
    timer.touch()
    block(MS * 1.2)
    await turn()
    await turn()
  }
  assert.equal(ended, 0)
})

test('it ends once after the last use, and again after another one', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let ended = 0
  const timer = createIdleTimer(10, () => {
    ended++
    resolve()
  })
  timer.touch()
  timer.touch()
  while (ended === 0) await wait(20)
  await promise
  await wait(50)
  assert.equal(ended, 1)
  timer.touch()
  while (ended === 1) await wait(20)
})
