// @test short 15
/** Versions of keys in backups of both forms. Contract section 8.2. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { BackupStatus } from '../../firmware/client/types.ts'
import { expect } from '../support/appliance.ts'
import type { Rig } from '../support/in-process.ts'
import { furnishedRig, restore, restoredElsewhere, takeBackup, unlock } from './rig.ts'

const versions = (id: string) => `/keys/${id}/versions`
const versionsOf = async (rig: Rig, id: string) =>
  (await rig.call('GET', versions(id), { as: 'admin' })).json<{ latest: number; versions: unknown[] }>()
const idsOf = async (rig: Rig) =>
  (await rig.call('GET', '/keys?types=all', { as: 'admin' })).json<{ id: string }[]>().map(({ id }) => id)

async function rotatedRig(t: TestContext): Promise<Rig> {
  const rig = await furnishedRig(t)
  for (let n = 0; n < 2; n++) await expect(201, rig.call('POST', versions('tagged'), { as: 'admin' }))
  await expect(201, rig.call('POST', versions('plain'), { as: 'admin' }))
  const json = { minDecryption: 2, minEncryption: 2, minAvailable: 2 }
  await expect(204, rig.call('PUT', versions('plain'), { as: 'admin', json }))
  return rig
}

test('the default is the own form, whose reason is in the log, and it restores all versions', async (t) => {
  const rig = await rotatedRig(t)
  const status = (await rig.call('GET', '/system/backup-status', { as: 'backup' })).json<BackupStatus>()
  assert.deepEqual(status, { defaultFormat: 'coffer', nethsmOmits: ['key-versions'] })
  const seen = rig.entries.length
  const { headers, bytes } = await expect(200, rig.call('POST', '/system/backup', { as: 'backup' }))
  assert.equal(headers['coffer-backup-form'], 'coffer')
  assert.equal(headers['coffer-backup-omits'], undefined)
  const lines = rig.entries.slice(seen).map(({ message }) => message)
  assert.ok(
    lines.some((line) => /in the form of Coffer, since .* NetHSM cannot hold: key-versions$/.test(line)),
    lines.join(),
  )
  const before = await Promise.all(['tagged', 'plain'].map((id) => versionsOf(rig, id)))
  const other = await restoredElsewhere(t, new Uint8Array(bytes))
  await unlock(other)
  other.use('admin', 'admin passphrase')
  assert.deepEqual(await Promise.all(['tagged', 'plain'].map((id) => versionsOf(other, id))), before)
  await expect(201, other.call('POST', versions('tagged'), { as: 'admin' }))
  assert.equal((await versionsOf(other, 'tagged')).latest, 4)
})

test('the form of a NetHSM has version 1 of each key, and names and logs what it omits', async (t) => {
  const rig = await rotatedRig(t)
  const seen = rig.entries.length
  const { headers } = await expect(200, rig.call('POST', '/system/backup?format=nethsm', { as: 'backup' }))
  assert.equal(headers['coffer-backup-omits'], 'key-versions')
  assert.ok(rig.entries.slice(seen).some(({ message }) => /incomplete, it omits: key-versions$/.test(message)))
  const pem = (await rig.call('GET', '/keys/tagged/public.pem', { as: 'admin' })).text()
  const backup = await takeBackup(rig, 'nethsm')
  const other = await restoredElsewhere(t, backup)
  await unlock(other)
  other.use('admin', 'admin passphrase')
  assert.deepEqual(await idsOf(other), ['lasting', 'tagged'])
  assert.equal((await other.call('GET', '/keys/tagged/public.pem', { as: 'admin' })).text(), pem)
  assert.equal((await versionsOf(other, 'tagged')).latest, 1)
})

test('a restore into the same appliance leaves nothing of versions that are not in the backup', async (t) => {
  const rig = await furnishedRig(t)
  const backup = await takeBackup(rig, 'coffer')
  for (let n = 0; n < 3; n++) await expect(201, rig.call('POST', versions('tagged'), { as: 'admin' }))
  await expect(204, restore(rig, {}, backup))
  assert.equal((await versionsOf(rig, 'tagged')).latest, 1)
  const status = (await rig.call('GET', '/system/backup-status', { as: 'backup' })).json<BackupStatus>()
  assert.deepEqual(status.nethsmOmits, [])
  await expect(201, rig.call('POST', versions('tagged'), { as: 'admin' }))
  assert.equal((await versionsOf(rig, 'tagged')).latest, 2)
})
