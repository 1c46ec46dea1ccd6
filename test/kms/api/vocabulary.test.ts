/** `/config/vocabulary`: which members answers have. Contract sections 3.4 and 5 (row 23). */

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { restore, setBackupPassphrase, takeBackup, unlock } from '../../backup/rig.ts'
import { openRig, operationalRig, type Rig } from '../../support/in-process.ts'

const RSA = { id: 'rsa', type: 'RSA', length: 1024, mechanisms: ['RSA_Signature_PKCS1'], label: 'first' }

const MEMBERS = {
  both: {
    item: { id: 'rsa', key: 'rsa' },
    rsa: 'mechanisms type restrictions public label algorithm modulus publicExponent operations',
    ec: 'mechanisms type restrictions public algorithm operations',
    generic: 'mechanisms type restrictions algorithm operations',
    generated: { id: 'made' },
  },
  reference: {
    item: { id: 'rsa' },
    rsa: 'mechanisms type restrictions public label operations',
    ec: 'mechanisms type restrictions public operations',
    generic: 'mechanisms type restrictions operations',
    generated: { id: 'made' },
  },
  original: {
    item: { key: 'rsa' },
    rsa: 'mechanisms algorithm modulus publicExponent operations',
    ec: 'mechanisms algorithm operations',
    generic: 'mechanisms algorithm operations',
    generated: undefined,
  },
} as const

const furnished = async (t: TestContext): Promise<Rig> => {
  const rig = await operationalRig(t)
  await rig.key('rsa', RSA)
  await rig.key('ec')
  await rig.key('aes', { type: 'Generic', length: 128, mechanisms: ['AES_Encryption_CBC'] })
  return rig
}

const set = (rig: Rig, members: unknown): Promise<number> =>
  rig.status('PUT', '/config/vocabulary', { as: 'admin', json: { members } })
const current = async (rig: Rig): Promise<string> =>
  (await rig.call('GET', '/config/vocabulary', { as: 'admin' })).json().members

test('answers have the members of both APIs, or exactly those of one', async (t) => {
  const rig = await furnished(t)
  assert.equal(await current(rig), 'both')
  for (const [members, expected] of Object.entries(MEMBERS)) {
    assert.equal(await set(rig, members), 204)
    assert.equal(await current(rig), members)
    assert.deepEqual((await rig.call('GET', '/keys/rsa*', { as: 'admin' })).json(), [expected.item])
    const [page] = (await rig.call('GET', '/keys/rsa*?details=true', { as: 'admin' })).json().keys
    const details = (await rig.call('GET', '/keys/rsa', { as: 'admin' })).json()
    assert.deepEqual(page, { ...expected.item, ...details })
    const membersOf = async (id: string) =>
      Object.keys((await rig.call('GET', `/keys/${id}`, { as: 'admin' })).json()).sort()
    assert.deepEqual(await membersOf('rsa'), expected.rsa.split(' ').sort(), members)
    assert.deepEqual(await membersOf('ec'), expected.ec.split(' ').sort(), members)
    assert.deepEqual(await membersOf('aes'), expected.generic.split(' ').sort(), members)
    const json = { id: 'made', type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
    const generated = await rig.call('POST', '/keys/generate', { as: 'admin', json })
    const shown = generated.text() === '' ? undefined : generated.json()
    assert.deepEqual([generated.status, shown], [201, expected.generated])
    assert.equal(generated.headers.location, '/api/v1/keys/made')
    assert.equal(await rig.status('DELETE', '/keys/made', { as: 'admin' }), 204)
  }
})

test('members of our own stand in no answer that the reference has, whatever the setting', async (t) => {
  const rig = await operationalRig(t)
  for (const members of Object.keys(MEMBERS)) {
    assert.equal(await set(rig, members), 204)
    const info = (await rig.call('GET', '/system/info', { as: 'admin' })).json()
    assert.deepEqual(Object.keys(info).sort(), [
      ...['akPub', 'deviceId', 'firmwareVersion', 'hardwareVersion', 'pcr', 'softwareBuild', 'softwareVersion'],
    ])
    assert.deepEqual((await rig.call('GET', '/system/software', { as: 'admin' })).json(), {
      version: '1.2.3',
      build: 'N/A',
      rsaEngine: 'N/A',
    })
    const [line] = (await rig.call('GET', '/health/diagnose', { as: 'admin' })).json().clusterLogs
    assert.deepEqual(Object.keys(line).sort(), ['level', 'msg'])
  }
})

test('with other members the representation has another etag', async (t) => {
  const rig = await furnished(t)
  const etags = async () =>
    Promise.all(
      ['/keys', '/keys/rsa'].map(async (path) => (await rig.call('GET', `${path}`, { as: 'admin' })).headers.etag!),
    )
  const [list, key] = await etags()
  assert.equal(await set(rig, 'reference'), 204)
  assert.equal(await rig.status('GET', '/keys', { as: 'admin', headers: { 'if-none-match': list! } }), 200)
  assert.equal(await rig.status('GET', '/keys/rsa', { as: 'admin', headers: { 'if-none-match': key! } }), 200)
  assert.equal(await set(rig, 'both'), 204)
  assert.deepEqual(await etags(), [list, key])
})

test('a setting that is none is 400; a change is in the audit log, with the key that it made no body for', async (t) => {
  const rig = await operationalRig(t)
  for (const members of ['', 'seed', 'BOTH', null, 1, ['both']]) assert.equal(await set(rig, members), 400)
  assert.equal(await rig.status('PUT', '/config/vocabulary', { as: 'admin', json: {} }), 400)
  assert.equal(await rig.status('PUT', '/config/vocabulary', { as: 'admin', json: { members: 'both', more: 1 } }), 400)
  assert.equal(await current(rig), 'both')
  assert.equal(await set(rig, 'original'), 204)
  const json = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  const { headers } = await rig.call('POST', '/keys/generate', { as: 'admin', json })
  const { lines } = (await rig.call('GET', '/audit?limit=2', { as: 'admin' })).json()
  assert.deepEqual(
    [lines[1].action, lines[1].user, lines[1].facts],
    ['PUT /config/vocabulary', 'admin', { members: 'original' }],
  )
  assert.equal(lines[0].key, headers.location!.split('/').at(-1))
})

test('it is in a backup of our own form, and one from before it was there brings the default', async (t) => {
  const source = await operationalRig(t)
  await setBackupPassphrase(source)
  const before = await takeBackup(source, 'coffer')
  assert.equal(await set(source, 'reference'), 204)
  assert.equal(await source.status('PUT', '/config/ntp', { as: 'admin', json: { ntpIP: '192.0.2.5' } }), 204)
  const after = await takeBackup(source, 'coffer')
  for (const [backup, members, ntp] of [
    [after, 'reference', { ntpIP: '192.0.2.5' }],
    [before, 'both', {}],
  ] as const) {
    const rig = await openRig(t)
    const args = { backupPassphrase: 'what opens backups' }
    assert.equal((await restore(rig, args, backup, { as: undefined })).status, 204)
    await unlock(rig)
    assert.equal(await current(rig), members)
    assert.deepEqual((await rig.call('GET', '/config/ntp', { as: 'admin' })).json(), ntp)
  }
  assert.equal((await restore(source, { backupPassphrase: 'what opens backups' }, before)).status, 204)
  assert.equal(await current(source), 'reference') // a device in use keeps its own settings
})
