// @test device 110
/** The image for arm64: it starts by itself from its disk, makes a key and signs with it. */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ADMIN, expect, provision } from '../support/appliance.ts'
import { boot, onMachines } from '../support/machine.ts'
import { buildImage, type Image } from './images.ts'

const options = onMachines('arm64')

let image: Image
before(async () => {
  if (options.skip === false) image = await buildImage({ architecture: 'arm64' })
})

test('an arm64 machine starts from its disk, is provisioned, makes a key and signs with it', options, async (t) => {
  const appliance = await boot(t, image, { architecture: 'arm64', firmware: 'ovmf' })
  t.diagnostic(`first HTTPS answer after ${(await appliance.answers()) / 1000} s`)
  assert.equal(await appliance.state(), 'Unprovisioned')
  await provision(appliance)
  const operator = { realName: 'Web', role: 'Operator', passphrase: 'operator of the web' }
  await expect(201, appliance.call('PUT', '/users/web', { as: ADMIN, json: operator }))
  const key = { id: 'web', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
  await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json: key }))
  const json = { mode: 'ECDSA', message: Buffer.alloc(32).toString('base64') }
  await expect(200, appliance.call('POST', '/keys/web/sign', { as: 'web:operator of the web', json }))
})
