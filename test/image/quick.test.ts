/** The flashed image starts and answers, by itself and in time, under software emulation. Runs in `make test`. */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  ADMIN,
  boot,
  buildImage,
  expect,
  type Image,
  makeDisk,
  onMachines,
  provision,
  UNLOCK_PASSPHRASE,
} from './rig.ts'

const OVMF_MS_MAX = 20_000
const DIRECT_MS_MAX = 10_000
const TRIES_MAX = 3 // the times are of an idle computer: the best of these counts
const SMALLEST_MEGABYTES = 256

let image: Image
before(async () => {
  if (onMachines().skip === false) image = await buildImage()
})

for (const [firmware, boundMs] of [
  ['ovmf', OVMF_MS_MAX],
  ['direct', DIRECT_MS_MAX],
] as const) {
  test(`answers over HTTPS within ${boundMs / 1000} s of its first start (${firmware})`, onMachines(), async (t) => {
    const times: number[] = []
    while (times.length < TRIES_MAX && Math.min(...times) >= boundMs) {
      const appliance = await boot(t, image, { firmware })
      times.push(await appliance.answers())
      assert.equal(await appliance.state(), 'Unprovisioned')
      await appliance.kill()
    }
    t.diagnostic(`${firmware}: first HTTPS answer after ${times.map((ms) => (ms / 1000).toFixed(1)).join(', ')} s`)
    assert.ok(Math.min(...times) < boundMs, `${times} ms`)
  })
}

test(
  `lives in ${SMALLEST_MEGABYTES} MB of memory, through OVMF, and keeps its keys over a shutdown`,
  onMachines(),
  async (t) => {
    const disk = makeDisk(t, image)
    const options = { disk, firmware: 'ovmf', memoryMegabytes: SMALLEST_MEGABYTES } as const
    const first = await boot(t, image, options)
    await first.answers()
    await provision(first)
    const key = { id: 'web', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
    await expect(201, first.call('POST', '/keys/generate', { as: ADMIN, json: key }))
    const operator = { realName: 'Web', role: 'Operator', passphrase: 'operator of the web' }
    await expect(201, first.call('PUT', '/users/web', { as: ADMIN, json: operator }))
    const sign = {
      as: 'web:operator of the web',
      json: { mode: 'ECDSA', message: Buffer.alloc(32).toString('base64') },
    }
    await expect(200, first.call('POST', '/keys/web/sign', sign))
    await expect(204, first.call('POST', '/system/shutdown', { as: ADMIN }))
    assert.equal(await first.ended, 0, 'the machine powers itself off')

    const second = await boot(t, image, options)
    await second.answers()
    assert.equal(await second.state(), 'Locked')
    await expect(204, second.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
    await expect(200, second.call('POST', '/keys/web/sign', sign))
  },
)
