/** The log server over TLS and its client's key in backups: which form holds them, and what a restore leaves. Contract section 8. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BACKUP_FORMATS } from '../../firmware/backup/backups.ts'
import type { Rig } from '../support/in-process.ts'
import { BACKUP, furnishedRig, restore, restoredElsewhere, takeBackup, unlock } from './rig.ts'

const SETTINGS = { port: 6515, send: 'audit', fingerprints: [`sha-256${':0A'.repeat(32)}`] }
const DEFAULTS = { port: 6514, send: 'all', fingerprints: [] }

async function shown(rig: Rig) {
  const { port, send, fingerprints } = (await rig.call('GET', '/config/syslog', { as: 'admin' })).json()
  return { port, send, fingerprints }
}

const publicKey = async (rig: Rig) => {
  const { status, text } = await rig.call('GET', '/config/syslog/tls/public.pem', { as: 'admin' })
  return status === 200 ? text() : status
}

async function set(rig: Rig): Promise<void> {
  assert.equal(await rig.status('PUT', '/config/syslog', { as: 'admin', json: SETTINGS }), 204)
  const json = { type: 'EC_P256' }
  assert.equal(await rig.status('POST', '/config/syslog/tls/generate', { as: 'admin', json }), 204)
}

for (const format of BACKUP_FORMATS)
  test(`a full restore of the form ${format} ${format === 'coffer' ? 'brings them' : 'leaves none'}`, async (t) => {
    const rig = await furnishedRig(t)
    await set(rig)
    const key = await publicKey(rig)
    assert.equal(typeof key, 'string')
    const fresh = await restoredElsewhere(t, await takeBackup(rig, format))
    await unlock(fresh)
    assert.deepEqual(await shown(fresh), format === 'coffer' ? SETTINGS : DEFAULTS)
    assert.equal(await publicKey(fresh), format === 'coffer' ? key : 404)
  })

test('a partial restore leaves them as they are', async (t) => {
  const rig = await furnishedRig(t)
  const backup = await takeBackup(rig, 'coffer')
  await set(rig)
  const key = await publicKey(rig)
  assert.equal((await restore(rig, { backupPassphrase: BACKUP }, backup)).status, 204)
  assert.deepEqual(await shown(rig), SETTINGS)
  assert.equal(await publicKey(rig), key)
})

test("a client's key alone is said to be missing from the form of a NetHSM", async (t) => {
  const rig = await furnishedRig(t)
  const json = { type: 'EC_P256' }
  assert.equal(await rig.status('POST', '/config/syslog/tls/generate', { as: 'admin', json }), 204)
  const { headers } = await rig.call('POST', '/system/backup?format=nethsm', { as: 'backup' })
  assert.equal(headers['coffer-backup-omits'], 'syslog')
})
