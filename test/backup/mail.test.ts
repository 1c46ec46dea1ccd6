/** Settings of mail in backups: which form holds them, and what a restore leaves. Contract sections 4.7 and 8. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BACKUP_FORMATS } from '../../firmware/backup/backups.ts'
import type { Rig } from '../support/in-process.ts'
import { BACKUP, furnishedRig, restore, restoredElsewhere, takeBackup, unlock } from './rig.ts'

const PASSWORD = 'password-of-the-mail-server'
const SETTINGS = {
  ...{ server: 'mail.example.org', user: 'coffer', password: PASSWORD },
  ...{ from: 'coffer@example.org', to: ['admin@example.org'] },
}

const shown = async (rig: Rig) => (await rig.call('GET', '/config/mail', { as: 'admin' })).json()

async function set(rig: Rig, json: object): Promise<void> {
  assert.equal(await rig.status('PUT', '/config/mail', { as: 'admin', json }), 204)
}

for (const format of BACKUP_FORMATS)
  test(`a full restore of the form ${format} ${format === 'coffer' ? 'brings them' : 'leaves none'}`, async (t) => {
    const rig = await furnishedRig(t)
    await set(rig, SETTINGS)
    const backup = await takeBackup(rig, format)
    assert.ok(!Buffer.from(backup).includes(PASSWORD))
    const fresh = await restoredElsewhere(t, backup)
    const { mail } = fresh.appliance.configuration // while Locked
    assert.equal(mail.password, format === 'coffer' ? PASSWORD : undefined)
    await unlock(fresh)
    const { server, password } = await shown(fresh)
    assert.deepEqual([server, password], format === 'coffer' ? ['mail.example.org', true] : [null, undefined])
  })

test('a partial restore leaves them as they are', async (t) => {
  const rig = await furnishedRig(t)
  const backup = await takeBackup(rig, 'coffer')
  await set(rig, SETTINGS)
  assert.equal((await restore(rig, { backupPassphrase: BACKUP }, backup)).status, 204)
  assert.equal((await shown(rig)).server, 'mail.example.org')
})
