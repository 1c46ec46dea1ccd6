/** The contract of a device: started through UEFI, with no more memory than it asks for. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { passContract } from '../contract/pass.ts'
import { boot, onMachines } from '../support/machine.ts'
import { buildImage } from './images.ts'

test('the contract, of a device that has 256 MB', onMachines(), async (t) => {
  const appliance = await boot(t, await buildImage(), { firmware: 'ovmf', memoryMegabytes: 256 })
  await appliance.answers()
  assert.equal(await appliance.state(), 'Unprovisioned')
  await passContract(t, appliance, 'addresses', 'processors')
  assert.doesNotMatch(appliance.output(), /The firmware ended/)
})
