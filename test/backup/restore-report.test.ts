/** A backup of a NetHSM with what cannot be represented here is restored all the same, and a report lists what is missing. */

import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { encodeUser } from '../../firmware/backup/nethsm/records.ts'
import type { RestoreReport } from '../../firmware/client/types.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { expect, stateOf } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { ADMIN, openRig, type Rig } from '../support/in-process.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'
import { ADMINISTRATOR, forge } from './forge.ts'
import { BACKUP, furnishedRig, OTHER_DEVICE, restore, restoredElsewhere, takeBackup, unlock } from './rig.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)

const KEY = { mechanisms: [], priv: { raw: 'AAAAAAAAAAAAAAAAAAAAAA==' }, cert: null, operations: 0, restrictions: {} }
const keyWith = (change: object) => utf8(JSON.stringify({ ...KEY, ...change }))
const userWith = (change: object) =>
  utf8(JSON.stringify({ ...JSON.parse(new TextDecoder().decode(ADMINISTRATOR)), ...change }))

async function restored(
  t: test.TestContext,
  domain: Record<string, Uint8Array>,
  settings: Record<string, string> = {},
): Promise<Rig> {
  const rig = await openRig(t, OTHER_DEVICE)
  const backup = forge([], { '/authentication/admin': ADMINISTRATOR, ...domain }, settings)
  const { status, text } = await restore(rig, { backupPassphrase: BACKUP }, backup, { as: undefined })
  assert.equal(status, 204, text())
  await unlock(rig)
  return rig
}

const reportOf = (rig: Rig): RestoreReport => rig.appliance.backups.restoreReport as RestoreReport
const partsOf = (rig: Rig): string[] => reportOf(rig).leftOut.map(({ entry, part }) => `${entry}: ${part}`)

test('of keys all that can be is kept, and the rest is in the report', async (t) => {
  const pem = (namedCurve: string) =>
    generateKeyPairSync('ec', { namedCurve }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  const rig = await restored(t, {
    '/namespace/team': utf8('"team"'),
    '/key/.team/p224': keyWith({ priv: { PEM: pem('secp224r1') } }),
    '/key/p256': keyWith({ priv: { PEM: pem('prime256v1') }, mechanisms: ['ECDSA_Signature'] }),
    '/key/large': keyWith({ priv: { raw: Buffer.alloc(1025).toString('base64') } }),
    '/key/one-odd-tag': keyWith({ restrictions: { tags: ['good', 'bad tag', '~'] } }),
    '/key/odd-tags': keyWith({ restrictions: { tags: ['bad tag'] } }),
    '/key/no-tags': keyWith({ restrictions: { tags: [] } }),
    '/key/mechanisms': keyWith({ mechanisms: ['AES_Encryption_CBC', 'Unheard_Of', 'ECDSA_Signature'] }),
    '/key/label': keyWith({ label: 'x'.repeat(33), operations: 5 }),
    '/key/cert': keyWith({ cert: ['text/html', 'x'] }),
    '/key/count': keyWith({ operations: -1 }),
    '/authentication/king': userWith({ role: 'King' }),
    '/authentication/tagged': userWith({ role: 'Operator', tags: ['good', ''] }),
  })
  const { keys } = rig.appliance.open()
  assert.deepEqual(
    keys.list('', {}).sort(),
    ['cert', 'count', 'label', 'mechanisms', 'no-tags', 'odd-tags', 'one-odd-tag', 'p256'].sort(),
  )
  assert.deepEqual(keys.list('team', {}), [])
  assert.deepEqual(partsOf(rig).sort(), [
    'key cert: certificate',
    'key count: operations',
    'key label: label',
    'key large: all',
    'key mechanisms: mechanisms',
    'key odd-tags: tags',
    'key odd-tags: tags',
    'key one-odd-tag: tags',
    'key team/p224: all',
    'user king: all',
    'user tagged: tags',
  ])
  assert.equal(reportOf(rig).more, 0)
  const tagsOf = (id: string) => keys.get('', id).tags
  assert.deepEqual(tagsOf('one-odd-tag'), ['good'])
  assert.deepEqual(tagsOf('no-tags'), [])
  assert.deepEqual(tagsOf('odd-tags'), ['restored-odd-tag'], 'a restricted key is not open to every Operator')
  assert.deepEqual(keys.get('', 'mechanisms').mechanisms, ['AES_Encryption_CBC'])
  assert.match(
    reportOf(rig).leftOut.find(({ entry }) => entry === 'key mechanisms')!.reason,
    /"Unheard_Of", "ECDSA_Signature"/,
  )
  const logged = rig.entries.filter(({ message }) => message.includes('restored backup')).length
  assert.equal(logged, reportOf(rig).leftOut.length)
})

test('settings that cannot be read or that lock out are left out, one by one', async (t) => {
  const network = { ipv4: { cidr: '10.1.2.3/16', gateway: '10.1.0.1' } }
  const rig = await restored(
    t,
    {},
    {
      'ip-config': JSON.stringify({ ...network, ipv6: { cidr: 'nonsense' } }),
      'log-config': '{"port":0,"ipAddress":"192.0.2.7","logLevel":"info"}',
      'time-offset': 'soon',
      'coffer-vocabulary': '{"members":"reference"}',
      certificate: 'x',
      'private-key': 'x',
    },
  )
  const { configuration } = rig.appliance
  assert.deepEqual(configuration.network, { ipAddress: '10.1.2.3', netmask: '255.255.0.0', gateway: '10.1.0.1' })
  assert.deepEqual(configuration.logging, { ipAddress: '192.0.2.7', port: 0, logLevel: 'info' })
  assert.equal(configuration.members, 'reference')
  assert.deepEqual(partsOf(rig), ['setting ip-config: ipv6', 'setting time-offset: all', 'setting certificate: all'])

  const other = await restored(
    t,
    {},
    {
      'ip-config': '{"ipv4":{"cidr":"224.0.0.1/8","gateway":null}}',
      'log-config': '{"port":70000,"ipAddress":"192.0.2.7","logLevel":"info"}',
      'coffer-vocabulary': '{"members":"x"}',
    },
  )
  assert.equal(other.appliance.configuration.network.ipAddress, '192.168.1.1')
  assert.deepEqual(partsOf(other), [
    'setting ip-config: all',
    'setting log-config: all',
    'setting coffer-vocabulary: all',
  ])
  assert.match(reportOf(other).leftOut[0]!.reason, /multicast/)
})

test('the report is bounded, and the next restore replaces it', async (t) => {
  const broken = Object.fromEntries(Array.from({ length: 510 }, (_, n) => [`/key/broken-${n}`, utf8('{}')]))
  const salt = systemRandom(16)
  const passphrase = { salt, digest: createHmac('sha256', salt).update(ADMIN).digest(), cost: 'hmac' as const }
  const rights = { role: 'Administrator', tags: [], accessKeys: [], revocations: [] } as const
  const admin = encodeUser({ id: 'admin', realName: 'admin', ...rights, passphrase })
  const rig = await restored(t, { ...broken, '/authentication/admin': admin })
  const report = async () => (await expect(200, rig.call('GET', '/system/restore-report', { as: 'admin' }))).json()
  const { leftOut, more } = await report()
  assert.deepEqual([leftOut.length, more], [500, 10])
  const backup = await takeBackup(await furnishedRig(t), 'coffer')
  assert.equal((await restore(rig, { backupPassphrase: BACKUP }, backup)).status, 204)
  await unlock(rig)
  assert.deepEqual(await report(), { leftOut: [], more: 0 })
  assert.equal(await rig.status('GET', '/system/restore-report', {}), 401)
})

test('the vocabulary is part of a backup in this form', async (t) => {
  const rig = await furnishedRig(t)
  assert.equal(await rig.status('PUT', '/config/vocabulary', { as: 'admin', json: { members: 'reference' } }), 204)
  const backup = await takeBackup(rig, 'nethsm')
  const fresh = await restoredElsewhere(t, backup)
  await unlock(fresh)
  assert.equal(fresh.appliance.configuration.members, 'reference')
  assert.deepEqual(reportOf(fresh), { leftOut: [], more: 0 })
})

const FIXTURE = join(
  process.env.COFFER_VECTORS ?? new URL('../../../shared/vectors', import.meta.url).pathname,
  'nethsm/backup_v0_201.bin',
)
const NO_FIXTURE = existsSync(FIXTURE) ? {} : { skip: `no ${FIXTURE}` }

test('a backup that a NetHSM made is moved in, logging port 0 and all', {
  timeout: 300_000,
  ...NO_FIXTURE,
}, async (t) => {
  const coffer = startCoffer(t, { program: await buildForTests(), data: makeDataDirectory(t) })
  const query = new URLSearchParams({ backupPassphrase: 'backupPassphrase' })
  await expect(204, coffer.call('POST', `/system/restore?${query}`, { body: readFileSync(FIXTURE) }))
  assert.equal(await stateOf(coffer), 'Locked')
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: 'UnlockPassphrase' } }))
  const as = 'admin:Administrator'
  const json = async (path: string) => (await expect(200, coffer.call('GET', path, { as }))).json<unknown>()
  assert.deepEqual(
    ((await json('/users')) as { user: string }[]).map(({ user }) => user),
    ['admin', 'backup', 'metrics', 'namespace1~nadmin', 'namespace1~noperator', 'operator'],
  )
  assert.deepEqual(
    ((await json('/keys')) as { id: string }[]).map(({ id }) => id),
    ['MyAESKey', 'myKey1'],
  )
  assert.deepEqual(await json('/config/logging'), { ipAddress: '0.0.0.0', port: 0, logLevel: 'info' })
  assert.deepEqual(await json('/config/network'), {
    ipAddress: '192.168.1.201',
    netmask: '255.255.255.0',
    gateway: '192.168.1.100',
  })
  assert.deepEqual(await json('/system/restore-report'), { leftOut: [], more: 0 })
})
