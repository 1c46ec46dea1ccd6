/** Strings that nobody uses any more are not in memory once garbage is wiped, wherever they lay. */

import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { FIRMWARE_ENVIRONMENT } from '../../boot/supervisor/firmware-process.ts'
import { NOTHING, search, tracesOfText } from '../crypto/memory-search.ts'
import { secretOf } from './garbage-program.ts'

const SECRETS = 2000

test('nothing is left of strings between objects in use', async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  const child = fork(new URL('garbage-program.ts', import.meta.url), [`${seed}`, `${SECRETS}`], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: FIRMWARE_ENVIRONMENT,
  })
  t.after(() => child.kill('SIGKILL'))
  assert.deepEqual(await once(child, 'message'), [true, undefined])
  const sought = Array.from({ length: SECRETS }, (_, n) => tracesOfText(`secret ${n}`, secretOf(seed, n)))
  assert.deepEqual(search(child.pid!, sought), NOTHING)
})
