import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createTrial } from '../../boot/trial.ts'

function stage(readyMsMax = 60_000, markGood = () => {}) {
  const calls: string[] = []
  const slots = {
    markGood: () => {
      markGood()
      calls.push('good')
    },
    noteFailure: (problem: string) => calls.push(problem),
  }
  const trial = createTrial({ slots, retry: () => calls.push('retry'), onGood: () => calls.push('told'), readyMsMax })
  return { calls, trial }
}

const LISTENING = { type: 'listening', address: '127.0.0.1', port: 1 } as const

test('a version is good once it listens and has opened its store', () => {
  for (const state of ['Unprovisioned', 'Locked', 'Operational'] as const) {
    const { calls, trial } = stage()
    trial.begin(true)
    trial.hear({ type: 'state', state })
    assert.deepEqual(calls, [])
    trial.hear(LISTENING)
    assert.deepEqual(calls, [])
    trial.hear({ type: 'state', state })
    trial.hear({ type: 'state', state: 'Failed' })
    trial.crashed('it crashed')
    assert.deepEqual(calls, ['good', 'told'])
  }
})

test('a version that cannot open the store is stopped and tried again', () => {
  const { calls, trial } = stage()
  trial.begin(true)
  trial.hear(LISTENING)
  trial.hear({ type: 'state', state: 'Failed', reason: 'The store is of a newer version' })
  trial.hear({ type: 'state', state: 'Operational' })
  assert.deepEqual(calls, ['The store is of a newer version', 'retry'])
})

test('a version that the machine gives no device key is not good, although it is Locked like others', () => {
  const { calls, trial } = stage()
  trial.begin(true)
  trial.hear(LISTENING)
  trial.hear({ type: 'state', state: 'Locked', reason: 'The device key is withheld: Secure Boot is off' })
  assert.deepEqual(calls, ['The device key is withheld: Secure Boot is off', 'retry'])
})

test('a version that neither crashes nor becomes ready is stopped and tried again', async () => {
  const { calls, trial } = stage(50)
  trial.begin(true)
  trial.hear(LISTENING)
  trial.hear({ type: 'pong' })
  await wait(100)
  assert.deepEqual(calls, ['it was not ready within 0.05 s', 'retry'])
})

test('a crash ends the try, once', async () => {
  const { calls, trial } = stage(50)
  trial.begin(true)
  trial.crashed('it ended with exit code 1')
  await wait(100)
  assert.deepEqual(calls, ['it ended with exit code 1', 'retry'])
})

test('a version that cannot be marked good is tried again', () => {
  const { calls, trial } = stage(60_000, () => {
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
  })
  trial.begin(true)
  trial.hear(LISTENING)
  trial.hear({ type: 'state', state: 'Locked' })
  assert.deepEqual(calls, ['the disk is full', 'retry'])
})

test('a version that is not on trial is left alone', async () => {
  const { calls, trial } = stage(20)
  trial.begin(true)
  trial.begin(false)
  trial.hear(LISTENING)
  trial.hear({ type: 'state', state: 'Failed' })
  trial.crashed('it crashed')
  await wait(50)
  assert.deepEqual(calls, [])
})
