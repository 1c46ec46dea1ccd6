/** Strings that nobody uses any more are not in memory once garbage is wiped, wherever they lay. */

import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { FIRMWARE_ENVIRONMENT } from '../../boot/supervisor/firmware-process.ts'
import { wipeGarbage } from '../../firmware/base/garbage.ts'
import { NOTHING, search, type Traces, tracesOfText } from '../crypto/memory-search.ts'
import { secretOf } from './garbage-program.ts'

function start(t: TestContext, program: string, secrets: number): { child: ChildProcess; sought: Traces[] } {
  const seed = Math.floor(Math.random() * 2 ** 32)
  const child = fork(new URL(program, import.meta.url), [`${seed}`, `${secrets}`], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: FIRMWARE_ENVIRONMENT,
  })
  t.after(() => child.kill('SIGKILL'))
  const sought = Array.from({ length: secrets }, (_, n) => tracesOfText(`secret ${n}`, secretOf(seed, n)))
  return { child, sought }
}

test('nothing is left of strings between objects in use', async (t) => {
  const { child, sought } = start(t, 'garbage-program.ts', 2000)
  assert.deepEqual(await once(child, 'message'), [true, undefined])
  assert.deepEqual(search(child.pid!, sought), NOTHING)
})

test('nothing is left of strings on freed pages that threads have taken', async (t) => {
  const { child, sought } = start(t, 'pooled-pages-program.ts', 100)
  assert.deepEqual(await once(child, 'message'), ['used', undefined])
  assert.notDeepEqual(search(child.pid!, sought), NOTHING)
  child.send('wipe')
  assert.deepEqual(await once(child, 'message'), ['wiped', undefined])
  assert.deepEqual(search(child.pid!, sought), NOTHING)
})

test('garbage is wiped once after a wipe under way, however often it is asked for meanwhile', async () => {
  const order: string[] = []
  const { promise: threadsAreDone, resolve: endThreads } = Promise.withResolvers<void>()
  const wipe = (name: string, threads: Promise<void>) =>
    wipeGarbage(() => {
      order.push(name)
      return threads
    })
  const first = wipe('first', threadsAreDone).then(() => order.push('first has ended'))
  await setImmediate()
  const others = ['second', 'third'].map((name) => wipe(name, Promise.resolve()))
  await setImmediate()
  endThreads()
  await Promise.all([first, ...others])
  assert.deepEqual(order, ['first', 'first has ended', 'second'])
})
