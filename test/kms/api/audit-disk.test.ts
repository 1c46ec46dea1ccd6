/** An audit log that is to be larger than by default: what fits on the disk, and the room that is kept for it. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { floorBytes } from '../../../firmware/base/disk-space.ts'
import { expect } from '../../support/appliance.ts'
import { makeOperationalRig } from '../../support/in-process.ts'

const MIB = 1024 * 1024
const TOTAL = 1024 * MIB
const RESERVE = floorBytes('records', TOTAL)
const LINE_BYTES = 512
const DEFAULTS = { changes: 100_000, refusals: 100_000, uses: 100_000, whenFull: 'overwrite' }

async function onDisk(t: TestContext, freeBytes: number) {
  const disk = { totalBytes: TOTAL, freeBytes }
  const rig = await makeOperationalRig({}, { readDisk: () => disk })
  t.after(rig.close)
  const configure = (json: object) => rig.call('PUT', '/config/audit', { as: 'admin', json })
  const settings = async () => (await expect(200, rig.call('GET', '/config/audit', { as: 'admin' }))).json()
  return { disk, rig, configure, settings }
}

test('a log that does not fit beside the reserve is refused with sizes, and nothing is set', async (t) => {
  const lines = 100_000
  const { disk, configure, settings } = await onDisk(t, RESERVE + lines * LINE_BYTES)
  const refused = await expect(507, configure({ uses: 200_001, whenFull: 'refuse' }))
  assert.match(
    refused.json<{ message: string }>().message,
    /^The audit log does not fit on the disk: it may grow by 48 MiB, and 48 MiB are free for it$/,
  )
  assert.deepEqual(await settings(), DEFAULTS)
  await expect(507, configure({ lines: 150_000 })) // of all kinds together it is more
  await expect(204, configure({ uses: 200_000 }))
  assert.deepEqual(await settings(), { ...DEFAULTS, uses: 200_000 })
  await expect(507, configure({ changes: 100_001 }))

  disk.freeBytes = 0
  await expect(204, configure({ whenFull: 'refuse' }))
  await expect(204, configure({ uses: 150_000 }))
  await expect(204, configure({ lines: 1000 }))
  await expect(204, configure({ lines: 100_000 })) // the reserve is meant for it
})

test('no log takes more than half of the disk, however much is free', async (t) => {
  const { configure } = await onDisk(t, TOTAL)
  await expect(507, configure({ uses: 10_000_000 }))
  await expect(204, configure({ uses: 1_000_000 }))
})

test('what the log may still grow by is taken by nobody else', async (t) => {
  const { disk, rig, configure } = await onDisk(t, TOTAL)
  const promised = 200_000 * LINE_BYTES
  await expect(204, configure({ uses: 300_000 }))
  const json = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  disk.freeBytes = RESERVE + promised - 1
  await expect(507, rig.call('POST', '/keys/generate', { as: 'admin', json }))
  assert.equal((await expect(200, rig.call('GET', '/health/ready'))).headers['coffer-disk'], 'low')
  const figures = await rig.call('GET', '/metrics', { as: 'metrics', headers: { accept: 'text/plain' } })
  assert.match(figures.text(), new RegExp(`^coffer_disk_reserve_bytes ${RESERVE + promised}$`, 'm'))
  disk.freeBytes = RESERVE + promised
  await expect(201, rig.call('POST', '/keys/generate', { as: 'admin', json }))
  await expect(204, configure({ uses: 100_000 }))
  disk.freeBytes = RESERVE
  await expect(201, rig.call('POST', '/keys/generate', { as: 'admin', json }))
})
