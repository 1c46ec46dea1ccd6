/** Workers try every algorithm after their start; one that is wrong takes the appliance to Failed. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { runAuthorized } from '../../firmware/base/request-authorization.ts'
import { createPool } from '../../firmware/crypto/pool/pool.ts'
import { ADMIN, createRig, hasCode, PROVISIONING, type TestPool, UNLOCK } from './rig.ts'

const WHOLE = new URL('../../firmware/crypto/pool/worker.ts', import.meta.url)
const BROKEN = new URL('../crypto/broken-worker.ts', import.meta.url)
const REASON = /^Signatures come out wrong \(ECDSA with EC_P384\): this computer or this software is broken$/

const key = (type: 'Curve25519') => ({ ref: 1, type, load: () => new Uint8Array(32).fill(7) })

test('a broken worker leads to Failed, where no key is used and nothing but a restart helps', async (t) => {
  const rig = createRig(t)
  const pool = createPool({ workers: 1, entry: BROKEN })
  t.after(() => pool.close())
  const appliance = await rig.open({ pool })
  await appliance.provision(PROVISIONING)
  const domain = appliance.open()
  domain.counted = 5
  await new Promise<void>((resolve) => appliance.onState((state) => state === 'Failed' && resolve()))
  assert.match(appliance.failure!, REASON)
  assert.ok(rig.messages.some((message) => message.endsWith(`failed: ${appliance.failure}`)))
  assert.ok(domain.closed)
  assert.equal(appliance.audit, undefined)
  await assert.rejects(pool.sign(key('Curve25519'), 'EdDSA', new Uint8Array(1)), hasCode('unavailable'))
  assert.throws(() => appliance.open(), hasCode('unavailable'))
  assert.throws(() => appliance.lock(), hasCode('unavailable'))
  await assert.rejects(appliance.unlock(UNLOCK), hasCode('unavailable'))
  await assert.rejects(appliance.changeUnlockPassphrase(UNLOCK, ADMIN), hasCode('unavailable'))
  assert.equal(appliance.state, 'Failed')
  appliance.close()

  const again = await rig.open()
  assert.equal(again.state, 'Locked')
  await again.unlock(UNLOCK)
  assert.equal(again.open().counted, 5, 'written before')
})

test('a whole one does not, here one that replaces another after a lock', async (t) => {
  const rig = createRig(t)
  const pool = createPool({ workers: 1, entry: WHOLE, startLater: true })
  t.after(() => pool.close())
  const appliance = await rig.open({ pool })
  await appliance.provision(PROVISIONING)
  const tested = new Promise<readonly string[]>((resolve) => pool.onTested(resolve))
  pool.start()
  appliance.lock() // before the first one has said anything
  assert.deepEqual(await tested, [])
  assert.equal(appliance.state, 'Locked')
})

test('every state leads to Failed, also while something is under way', async (t) => {
  const tell = (pool: TestPool) => pool.tell(['one', 'another'])
  for (const prepare of ['nothing', 'provision', 'lock', 'unlock'] as const) {
    const rig = createRig(t)
    const appliance = await rig.open()
    if (prepare !== 'nothing') await appliance.provision(PROVISIONING)
    if (prepare === 'lock' || prepare === 'unlock') appliance.lock()
    rig.pool.tell([])
    assert.notEqual(appliance.state, 'Failed')
    let late: Promise<void> | undefined
    if (prepare === 'nothing') late = appliance.provision(PROVISIONING)
    if (prepare === 'unlock') late = appliance.unlock(UNLOCK)
    tell(rig.pool)
    tell(rig.pool)
    assert.equal(appliance.state, 'Failed')
    assert.match(appliance.failure!, /\(one; another\)/)
    if (late !== undefined) await assert.rejects(late, hasCode('unavailable'))
    assert.equal(appliance.state, 'Failed')
  }
})

test('counts are written then, also where the request is over that the thread was started for', async (t) => {
  const rig = createRig(t)
  const appliance = await rig.open()
  await appliance.provision(PROVISIONING)
  appliance.open().counted = 5
  let isOver = false
  const check = () => {
    if (isOver) throw new CofferError('unauthenticated', 'The account was deleted, or its passphrase was changed')
  }
  runAuthorized(check, () => {
    isOver = true
    rig.pool.tell(['one'])
  })
  assert.equal(appliance.state, 'Failed')
  const again = await rig.open()
  await again.unlock(UNLOCK)
  assert.equal(again.open().counted, 5)
})

test('what was found before the store was open counts', async (t) => {
  const rig = createRig(t)
  const pool = { ...rig.pool, onTested: (listener: (wrong: readonly string[]) => void) => listener(['one']) }
  assert.equal((await rig.open({ pool })).state, 'Failed')
})
