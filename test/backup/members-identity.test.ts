/** The members' identity in backups: which form holds it, which restore brings it, and names that nobody knows. Contract section 8. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BACKUP_FORMATS } from '../../firmware/backup/backups.ts'
import { openRig, type Rig } from '../support/in-process.ts'
import { ADMINISTRATOR, forge } from './forge.ts'
import { BACKUP, furnishedRig, OTHER_DEVICE, restore, takeBackup, unlock, useUsersOf } from './rig.ts'

const MEMBER = '/cluster/tls'
const PORT = '/config/tls'
const ARGUMENTS = { backupPassphrase: BACKUP }

async function generate(rig: Rig): Promise<string> {
  const json = { type: 'EC_P256' }
  assert.equal(await rig.status('POST', `${MEMBER}/generate`, { as: 'admin', json }), 204)
  return chainOf(rig, MEMBER)
}

const chainOf = async (rig: Rig, owner: string): Promise<string> =>
  (await rig.call('GET', `${owner}/cert.pem`, { as: 'admin' })).text()

const isOwn = (rig: Rig): boolean => rig.appliance.configuration.clusterTls.isOwn

async function restored(rig: Rig, backup: Uint8Array<ArrayBuffer>): Promise<void> {
  const { status, text } = await restore(rig, ARGUMENTS, backup)
  assert.equal(status, 204, text())
}

for (const format of BACKUP_FORMATS)
  test(`a full restore of the form ${format} ${format === 'coffer' ? 'brings it' : 'leaves none'}`, async (t) => {
    const rig = await furnishedRig(t)
    const chain = await generate(rig)
    const fresh = await openRig(t, OTHER_DEVICE)
    useUsersOf(fresh, 'backup')
    await restored(fresh, await takeBackup(rig, format))
    assert.equal(isOwn(fresh), format === 'coffer', 'at once')
    await unlock(fresh)
    assert.equal(await chainOf(fresh, MEMBER), format === 'coffer' ? chain : await chainOf(fresh, PORT))
    assert.equal(await chainOf(fresh, PORT), await chainOf(rig, PORT))
  })

for (const format of BACKUP_FORMATS)
  test(`a partial restore of the form ${format} leaves it as it is`, async (t) => {
    const rig = await furnishedRig(t)
    const without = await takeBackup(rig, format)
    const chain = await generate(rig)
    const withIt = await takeBackup(rig, format)
    await restored(rig, without)
    assert.equal(await chainOf(rig, MEMBER), chain)
    const next = await generate(rig)
    await restored(rig, withIt)
    assert.equal(await chainOf(rig, MEMBER), next)
  })

test('a full restore of a backup without it leaves members the identity of the port', async (t) => {
  const rig = await furnishedRig(t)
  const fresh = await openRig(t, OTHER_DEVICE)
  await restored(fresh, await takeBackup(rig, 'coffer'))
  await unlock(fresh)
  assert.ok(!isOwn(fresh))
  assert.equal(await chainOf(fresh, MEMBER), await chainOf(rig, PORT))
})

test('the form of a NetHSM, which has no place for it, says so', async (t) => {
  const rig = await furnishedRig(t)
  await generate(rig)
  const status = (await rig.call('GET', '/system/backup-status', { as: 'admin' })).json()
  assert.deepEqual(status, { defaultFormat: 'nethsm', nethsmOmits: ['cluster-tls'] })
  for (const [format, omits] of [
    ['nethsm', 'cluster-tls'],
    ['coffer', undefined],
  ] as const) {
    const { headers } = await rig.call('POST', `/system/backup?format=${format}`, { as: 'backup' })
    assert.deepEqual([headers['coffer-backup-form'], headers['coffer-backup-omits']], [format, omits])
  }
})

test('entries of unknown names under /config/ and /local/ are passed over, in a full and in a partial restore', async (t) => {
  const unknown = new TextEncoder().encode('NetHSM 5.1 may have added it')
  const backup = forge(
    [
      ['/config/cluster-tls-policy', unknown],
      ['/config/cluster/tls', unknown],
      ['/local/0123456789/cluster-key/attended', unknown],
      ['/local/another-device/config/cluster-key', unknown],
    ],
    { '/authentication/admin': ADMINISTRATOR, '/config/cluster-certificate': unknown.slice() },
    { 'cluster-key': 'sealed as the other settings are', 'cluster-certificate': 'likewise' },
  )
  const fresh = await openRig(t, OTHER_DEVICE)
  await restored(fresh, backup)
  assert.equal(fresh.appliance.state, 'Locked')
  await unlock(fresh)
  assert.ok(!isOwn(fresh))
  assert.equal(fresh.entries.filter(({ level }) => level === 'warning').length, 0)

  const rig = await furnishedRig(t)
  const chain = await generate(rig)
  await restored(rig, backup)
  await unlock(rig)
  assert.equal(rig.appliance.configuration.clusterTls.identity.cert, chain)
})
