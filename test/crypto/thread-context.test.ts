/** A thread is bound to no request, whose check refers to its body and credentials. */

import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { runAuthorized } from '../../firmware/base/request-authorization.ts'
import { createPool } from '../../firmware/crypto/pool/pool.ts'
import { buildForTests } from '../support/build.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const COST = { N: 2, r: 1, p: 1 }

test('the request that a thread was started for is forgotten while the thread goes on', async (t) => {
  const entry = pathToFileURL(join(dirname(await buildForTests()), 'worker.js'))
  const pool = createPool({ workers: 1, entry, startLater: true })
  t.after(() => pool.close())
  const derive = () => pool.scrypt(new Uint8Array(8), new Uint8Array(16), COST)
  const request = await (async () => {
    const check = () => {}
    await runAuthorized(check, derive)
    return new WeakRef(check)
  })()
  await derive()
  for (let turn = 0; turn < 3; turn++) {
    await new Promise(setImmediate)
    collect()
  }
  assert.equal(request.deref(), undefined)
  await derive()
})
