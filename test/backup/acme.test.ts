/** Settings and account of ACME in backups: which form holds them, and what a restore leaves. Contract sections 4.7 and 8. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BACKUP_FORMATS } from '../../firmware/backup/backups.ts'
import type { Rig } from '../support/in-process.ts'
import { BACKUP, furnishedRig, restore, restoredElsewhere, takeBackup, unlock } from './rig.ts'

const SETTINGS = {
  directory: 'https://acme.example.org/directory',
  contact: ['admin@example.org'],
  eab: { kid: 'one', key: 'c2VjcmV0LW9mLXRoZS1leHRlcm5hbC1hY2NvdW50' },
}

const shown = async (rig: Rig) => (await rig.call('GET', '/config/acme', { as: 'admin' })).json()

async function set(rig: Rig, json: object): Promise<void> {
  assert.equal(await rig.status('PUT', '/config/acme', { as: 'admin', json }), 204)
}

for (const format of BACKUP_FORMATS)
  test(`a full restore of the form ${format} ${format === 'coffer' ? 'brings them' : 'leaves none'}`, async (t) => {
    const rig = await furnishedRig(t)
    await set(rig, SETTINGS)
    const backup = await takeBackup(rig, format)
    assert.ok(!Buffer.from(backup).includes(SETTINGS.eab.key))
    const fresh = await restoredElsewhere(t, backup)
    await unlock(fresh)
    const { directory, contact, eab } = await shown(fresh)
    if (format === 'coffer')
      assert.deepEqual({ directory, contact, eab }, { ...SETTINGS, eab: { kid: 'one', key: true } })
    else assert.deepEqual({ directory, contact, eab }, { directory: null, contact: [], eab: null })
  })

test('a partial restore leaves them as they are', async (t) => {
  const rig = await furnishedRig(t)
  const backup = await takeBackup(rig, 'coffer')
  await set(rig, SETTINGS)
  assert.equal((await restore(rig, { backupPassphrase: BACKUP }, backup)).status, 204)
  assert.equal((await shown(rig)).directory, SETTINGS.directory)
})

test('settings that another domain key has sealed count as not set', async (t) => {
  const other = await furnishedRig(t)
  const backup = await takeBackup(other, 'coffer')
  const rig = await furnishedRig(t)
  await set(rig, SETTINGS)
  assert.equal((await restore(rig, { backupPassphrase: BACKUP }, backup)).status, 204)
  await unlock(rig)
  assert.equal((await shown(rig)).directory, null)
  await set(rig, { directory: SETTINGS.directory })
  assert.equal((await shown(rig)).directory, SETTINGS.directory)
})
