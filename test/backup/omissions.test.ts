/** A backup that does not hold everything says so, is not the default, and does not count as the last one. Contract section 8.2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatBackups } from '../../firmware/backup/chat.ts'
import type { BackupStatus } from '../../firmware/client/types.ts'
import type { Rig } from '../support/in-process.ts'
import { furnishedRig } from './rig.ts'

const MAGIC = '_NETHSM_BACKUP_'

const statusOf = async (rig: Rig, as: string) =>
  (await rig.call('GET', '/system/backup-status', { as })).json<BackupStatus>()

async function backUp(rig: Rig, query = '') {
  const { status, bytes, headers, text } = await rig.call('POST', `/system/backup${query}`, { as: 'backup' })
  assert.equal(status, 200, text())
  return {
    form: headers['coffer-backup-form'],
    omits: headers['coffer-backup-omits'],
    isNethsm: Buffer.from(bytes).toString('latin1', 0, MAGIC.length) === MAGIC,
  }
}

const SETTINGS = [
  ['namespace-quotas', '/namespaces/team/quota', { keys: 7 }, 'coffer'],
  // Single settings: clients that read the form of a NetHSM alone have them, too.
  ['ntp', '/config/ntp', { ntpIP: '192.0.2.9' }, 'nethsm'],
  ['console', '/config/console', { status: 'off' }, 'nethsm'],
  ['outgoing', '/config/outgoing', { resolvers: ['192.0.2.9'] }, 'nethsm'],
  ['acme', '/config/acme', { termsAgreed: true }, 'nethsm'],
  ['syslog', '/config/syslog', { port: 6515 }, 'nethsm'],
  ['mail', '/config/mail', { alerts: ['disk'] }, 'nethsm'],
  ['interfaces', '/config/interfaces', { transit: 'on', tokenHours: 24 }, 'nethsm'],
] as const

test('the form of a NetHSM is the default while it holds everything', async (t) => {
  const rig = await furnishedRig(t)
  assert.deepEqual(await statusOf(rig, 'admin'), { defaultFormat: 'nethsm', nethsmOmits: [] })
  assert.deepEqual(await backUp(rig), { form: 'nethsm', omits: undefined, isNethsm: true })
  assert.ok((await statusOf(rig, 'backup')).lastComplete)
})

for (const [name, path, json, byDefault] of SETTINGS)
  test(`with ${name} the default is the form ${byDefault}, and that of a NetHSM names what it omits`, async (t) => {
    const rig = await furnishedRig(t)
    assert.equal(await rig.status('PUT', path, { as: 'admin', json }), 204)
    assert.deepEqual(await statusOf(rig, 'backup'), { defaultFormat: byDefault, nethsmOmits: [name] })
    assert.deepEqual(await backUp(rig, '?format=nethsm'), { form: 'nethsm', omits: name, isNethsm: true })
    assert.equal((await statusOf(rig, 'admin')).lastComplete, undefined)
    assert.equal((await backUp(rig)).form, byDefault)
    assert.deepEqual(await backUp(rig, '?format=coffer'), { form: 'coffer', omits: undefined, isNethsm: false })
    assert.ok((await statusOf(rig, 'admin')).lastComplete)
  })

test('settings that are the defaults again are no omission', async (t) => {
  const rig = await furnishedRig(t)
  for (const [path, json] of [
    ['/config/ntp', { ntpIP: '192.0.2.9' }],
    ['/config/ntp', {}],
    ['/config/console', { status: 'on' }],
    ['/config/outgoing', { resolvers: ['192.0.2.9'] }],
    ['/config/outgoing', { resolvers: [] }],
    ['/config/acme', { termsAgreed: true }],
    ['/config/acme', { termsAgreed: false }],
    ['/config/syslog', { port: 6515 }],
    ['/config/syslog', { port: 6514 }],
    ['/config/mail', { alerts: [] }],
    ['/config/mail', { alerts: null }],
  ] as const)
    assert.equal(await rig.status('PUT', path, { as: 'admin', json }), 204)
  assert.deepEqual(await statusOf(rig, 'admin'), { defaultFormat: 'nethsm', nethsmOmits: [] })
})

test('a backup in the own form without the files of a chat that has failed is incomplete, too', async (t) => {
  const rig = await furnishedRig(t)
  rig.appliance.backups.chat = { exists: true, copy: async () => null } as unknown as ChatBackups
  assert.deepEqual(await backUp(rig), { form: 'coffer', omits: 'chat', isNethsm: false })
  assert.equal((await statusOf(rig, 'admin')).lastComplete, undefined)
})

test('only those outside any namespace who manage or make backups are told', async (t) => {
  const rig = await furnishedRig(t)
  for (const as of ['operator', 'team~chief'])
    assert.equal(await rig.status('GET', '/system/backup-status', { as }), 403, as)
})
