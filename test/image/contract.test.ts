// @test device 140
/** The contract of a device. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { passContract } from '../contract/pass.ts'
import { boot, onMachines } from '../support/machine.ts'
import { buildImage } from './images.ts'

test('the contract, of a device', onMachines(), async (t) => {
  const appliance = await boot(t, await buildImage())
  await appliance.answers()
  assert.equal(await appliance.state(), 'Unprovisioned')
  await passContract(t, appliance, 'addresses', 'processors')
  assert.doesNotMatch(appliance.output(), /The firmware ended/)
})
