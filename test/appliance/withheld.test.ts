/** A device key that the machine holds back: the store is whole, and nothing opens it. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN, createRig, digestDirectory, hasCode, PROVISIONING, UNLOCK } from './rig.ts'

const WITHHELD = { deviceKey: null, withheld: 'Secure Boot is off' }
const REASON = /^The device key is withheld: Secure Boot is off$/

test('the appliance stays Locked although unattended boot is on, and touches nothing', async (t) => {
  const rig = createRig(t)
  const first = await rig.open()
  await first.provision(PROVISIONING)
  first.setUnattendedBoot(true)
  first.close()
  const before = digestDirectory(rig.directory)

  const closed = await rig.open(WITHHELD)
  assert.equal(closed.state, 'Locked')
  assert.match(closed.failure!, REASON)
  assert.ok(rig.messages.some((message) => message.endsWith(closed.failure!)))
  assert.equal(closed.audit, undefined)
  for (const passphrase of [UNLOCK, ADMIN]) await assert.rejects(closed.unlock(passphrase), hasCode('storage', REASON))
  await assert.rejects(closed.provision(PROVISIONING), hasCode('unavailable'))
  assert.throws(() => closed.open(), hasCode('unavailable'))
  assert.throws(() => closed.lock(), hasCode('unavailable'))
  await assert.rejects(closed.changeUnlockPassphrase(UNLOCK, ADMIN), hasCode('unavailable'))
  assert.equal(closed.state, 'Locked')
  closed.close()
  assert.deepEqual(digestDirectory(rig.directory), before)

  const again = await rig.open()
  assert.equal(again.state, 'Operational', 'started as it was, it opens by itself')
  assert.equal(again.failure, undefined)
})
