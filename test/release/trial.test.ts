import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createTrial, type Trial } from '../../boot/versions/trial.ts'

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

const TRIAL = { trial: true, counted: false }
const COUNTED = { trial: false, counted: true }
const ALONE = { trial: false, counted: false }
const LISTENING = { type: 'listening', address: '127.0.0.1', port: 1 } as const

test('a version is good once it listens and has opened its store, if there is anything to open', () => {
  for (const state of ['Unprovisioned', 'Operational'] as const) {
    const { calls, trial } = stage()
    trial.begin(TRIAL)
    trial.receive({ type: 'state', state })
    assert.deepEqual(calls, [])
    trial.receive(LISTENING)
    assert.deepEqual(calls, [])
    trial.receive({ type: 'state', state })
    trial.receive({ type: 'state', state: 'Failed' })
    trial.crashed('it crashed')
    assert.deepEqual(calls, ['good', 'told'])
  }
})

test('where people unlock it the trial goes on until somebody has, however long that takes', async () => {
  const { calls, trial } = stage(50)
  trial.begin(TRIAL)
  trial.receive(LISTENING)
  trial.receive({ type: 'state', state: 'Locked' })
  await wait(100)
  assert.deepEqual(calls, [])
  trial.receive({ type: 'state', state: 'Operational' })
  assert.deepEqual(calls, ['good', 'told'])
})

test('a version that dies at the unlock, or cannot read what it opened, is tried again', () => {
  for (const fail of [
    (trial: Trial) => trial.crashed('it ended'),
    (trial: Trial) => trial.receive({ type: 'state', state: 'Locked', reason: 'it ended' }),
    (trial: Trial) => trial.receive({ type: 'state', state: 'Operational', reason: 'it ended' }),
  ]) {
    const { calls, trial } = stage()
    trial.begin(TRIAL)
    trial.receive(LISTENING)
    trial.receive({ type: 'state', state: 'Locked' })
    fail(trial)
    trial.receive({ type: 'state', state: 'Operational' })
    assert.deepEqual(calls, ['it ended', 'retry'])
  }
})

test('a good version beside another one: its start is over once it is ready, in whatever state, and untold', () => {
  for (const state of ['Unprovisioned', 'Locked', 'Operational', 'Failed'] as const) {
    const { calls, trial } = stage()
    trial.begin(COUNTED)
    trial.crashed('it crashed')
    trial.begin(COUNTED)
    trial.receive(LISTENING)
    trial.receive({ type: 'state', state, reason: 'The disk failed' })
    trial.crashed('it crashed')
    assert.deepEqual(calls, ['good'])
  }
})

test('a good version beside another one that does not get ready, or crashes three times before, starts anew', async () => {
  const late = stage(50)
  late.trial.begin(COUNTED)
  await wait(100)
  assert.deepEqual(late.calls, ['it was not ready within 0.05 s', 'retry'])
  const { calls, trial } = stage()
  for (const expected of [[], [], ['it crashed', 'retry']]) {
    trial.begin(COUNTED)
    trial.receive(LISTENING)
    trial.crashed('it crashed')
    assert.deepEqual(calls, expected)
  }
})

test('a version that cannot open the store is stopped and tried again', () => {
  const { calls, trial } = stage()
  trial.begin(TRIAL)
  trial.receive(LISTENING)
  trial.receive({ type: 'state', state: 'Failed', reason: 'The store is of a newer version' })
  trial.receive({ type: 'state', state: 'Operational' })
  assert.deepEqual(calls, ['The store is of a newer version', 'retry'])
})

test('a version that the machine gives no device key is not good, although it is Locked like others', () => {
  const { calls, trial } = stage()
  trial.begin(TRIAL)
  trial.receive(LISTENING)
  trial.receive({ type: 'state', state: 'Locked', reason: 'The device key is withheld: Secure Boot is off' })
  assert.deepEqual(calls, ['The device key is withheld: Secure Boot is off', 'retry'])
})

test('a version that neither crashes nor becomes ready is stopped and tried again', async () => {
  const { calls, trial } = stage(50)
  trial.begin(TRIAL)
  trial.receive(LISTENING)
  trial.receive({ type: 'pong' })
  await wait(100)
  assert.deepEqual(calls, ['it was not ready within 0.05 s', 'retry'])
})

test('a crash ends the try, once', async () => {
  const { calls, trial } = stage(50)
  trial.begin(TRIAL)
  trial.crashed('it ended with exit code 1')
  await wait(100)
  assert.deepEqual(calls, ['it ended with exit code 1', 'retry'])
})

test('a version that cannot be marked good is tried again', () => {
  const { calls, trial } = stage(60_000, () => {
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
  })
  trial.begin(TRIAL)
  trial.receive(LISTENING)
  trial.receive({ type: 'state', state: 'Operational' })
  assert.deepEqual(calls, ['the disk is full', 'retry'])
  const good = stage(60_000, () => {
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
  })
  good.trial.begin(COUNTED)
  good.trial.receive(LISTENING)
  good.trial.receive({ type: 'state', state: 'Operational' })
  assert.deepEqual(good.calls, [], 'a good one goes on; its next start counts')
})

test('a version that is alone is left alone', async () => {
  const { calls, trial } = stage(20)
  trial.begin(TRIAL)
  trial.begin(ALONE)
  trial.receive(LISTENING)
  trial.receive({ type: 'state', state: 'Failed' })
  trial.crashed('it crashed')
  await wait(50)
  assert.deepEqual(calls, [])
})
