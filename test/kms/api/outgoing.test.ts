/** `/config/outgoing`: settings, the secret among them, and the test of a connection. Contract sections 3.4 and 4.7. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import { openRig, operationalRig, type Rig } from '../../support/in-process.ts'

const PATH = '/config/outgoing'
const SECRET = 'a password of the proxy'
const PROXY = { host: 'proxy.example.org', port: 3128, user: 'coffer' }

const DEFAULTS = { resolvers: [], proxy: null, proxyExcept: [], authorities: '', publicAuthorities: true }

const shown = async (rig: Rig) => (await rig.call('GET', PATH, { as: 'admin' })).json()
const put = (rig: Rig, json: unknown) => rig.status('PUT', PATH, { as: 'admin', json })

test('members that are absent stay, and settings survive a restart', async (t) => {
  const rig = await operationalRig(t)
  assert.deepEqual(await shown(rig), DEFAULTS)
  const { cert } = await makeTlsIdentity(systemRandom)
  const changes = [
    { resolvers: ['192.0.2.1', '192.0.2.1:5353', '2001:db8::1', '[2001:db8::1]:53'] },
    { proxy: PROXY },
    { proxyExcept: ['hooks.example.org', '.example.net', '10.0.0.0/8', '2001:db8::/32', '192.0.2.7'] },
    { authorities: cert, publicAuthorities: false },
  ]
  for (const change of changes) assert.equal(await put(rig, change), 204)
  const expected = Object.assign({}, ...changes)
  assert.deepEqual(await shown(rig), expected)
  rig.appliance.configuration.load()
  assert.deepEqual(await shown(rig), expected)
})

test('a password is never shown, and stays for the same proxy and user only', async (t) => {
  const rig = await operationalRig(t)
  const isSet = async () => (await shown(rig)).proxy.password
  assert.equal(await put(rig, { proxy: { ...PROXY, password: SECRET } }), 204)
  assert.deepEqual((await shown(rig)).proxy, { ...PROXY, password: true })
  assert.equal(await put(rig, { resolvers: ['192.0.2.1'] }), 204)
  assert.equal(await put(rig, { proxy: PROXY }), 204)
  assert.equal(await isSet(), true)
  assert.equal(rig.appliance.configuration.outgoing.proxy?.password, SECRET)
  for (const other of [{ host: 'other.example.org' }, { port: 3129 }, { user: 'another' }]) {
    assert.equal(await put(rig, { proxy: { ...PROXY, ...other } }), 204)
    assert.equal(await isSet(), undefined, JSON.stringify(other))
    assert.equal(await put(rig, { proxy: { ...PROXY, password: SECRET } }), 204)
  }
  assert.equal(await put(rig, { proxy: { ...PROXY, password: null } }), 204)
  assert.equal(await isSet(), undefined)
})

test('a password is in no answer, log line, audit line or error', async (t) => {
  const rig = await operationalRig(t)
  const answers = [
    await rig.call('PUT', PATH, { as: 'admin', json: { proxy: { ...PROXY, password: SECRET } } }),
    await rig.call('PUT', PATH, { as: 'admin', json: { proxy: { ...PROXY, port: 0, password: SECRET } } }),
    await rig.call('PUT', PATH, {
      as: 'admin',
      body: `{"proxy": {"password": "${SECRET}"`,
      type: 'application/json',
    } as never),
    await rig.call('GET', PATH, { as: 'admin' }),
    await rig.call('GET', '/audit', { as: 'admin' }),
  ]
  assert.deepEqual(answers.map(({ status }) => status).slice(0, 2), [204, 400])
  for (const { bytes, headers } of answers)
    assert.ok(!`${Buffer.from(bytes)}${JSON.stringify(headers)}`.includes(SECRET), String(Buffer.from(bytes)))
  assert.ok(!JSON.stringify(rig.entries).includes(SECRET))
  const { lines } = (await rig.call('GET', `/audit?action=${PATH}`, { as: 'admin' })).json()
  assert.deepEqual(lines.at(-1).facts, { members: 'proxy' })
})

const INVALID: unknown[] = [
  {},
  { unknown: 1 },
  { resolvers: ['resolver.example.org'] },
  { resolvers: ['192.0.2.1:0'] },
  { resolvers: ['192.0.2.1:65536'] },
  { resolvers: ['[192.0.2.1]:53'] },
  { resolvers: ['2001:db8::1:5353:x'] },
  { resolvers: Array(5).fill('192.0.2.1') },
  { proxy: { host: 'proxy.example.org' } },
  { proxy: { host: 'Proxy.example.org', port: 1 } },
  { proxy: { host: 'http://proxy', port: 1 } },
  { proxy: { host: '127.1', port: 1 } },
  { proxy: { host: 'a b', port: 1 } },
  { proxy: { host: 'proxy', port: 1, user: 'a:b' } },
  { proxy: { host: 'proxy', port: 1, password: 'without a user' } },
  { proxyExcept: ['*.example.org'] },
  { proxyExcept: ['10.0.0.0/33'] },
  { proxyExcept: ['2001:db8::/129'] },
  { proxyExcept: ['example.org/8'] },
  { proxyExcept: ['10.0.0.0/8/9'] },
  { proxyExcept: Array(33).fill('example.org') },
  { authorities: 'nothing' },
  { authorities: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' },
  { publicAuthorities: 'true' },
]
for (const json of INVALID)
  test(`refuses ${JSON.stringify(json).slice(0, 80)}`, async (t) => {
    const rig = await operationalRig(t)
    assert.equal(await put(rig, json), 400)
    assert.deepEqual(await shown(rig), DEFAULTS)
  })

test('more certificates than it takes are refused, and so is a key among them', async (t) => {
  const rig = await operationalRig(t)
  const { cert, key } = await makeTlsIdentity(systemRandom)
  assert.equal(await put(rig, { authorities: cert.repeat(64) }), 204)
  assert.equal(await put(rig, { authorities: cert.repeat(65) }), 400)
  assert.equal(await put(rig, { authorities: `${cert}${Buffer.from(key)}` }), 400)
})

test('a test of a connection says why it fails', async (t) => {
  const rig = await operationalRig(t)
  const json = { host: '127.0.0.1', port: 443, tls: true }
  const { status, json: read } = await rig.call('POST', `${PATH}/test`, { as: 'admin', json })
  assert.equal(status, 200)
  assert.deepEqual(read(), {
    addresses: [],
    problem: 'Cannot connect: its name leads to an address that nothing is sent to',
  })
})

test('a backup in our own form brings the settings back, the password included', async (t) => {
  const rig = await operationalRig(t)
  assert.equal(await put(rig, { proxy: { ...PROXY, password: SECRET } }), 204)
  const json = { newPassphrase: 'backup passphrase', currentPassphrase: '' }
  assert.equal(await rig.status('PUT', '/config/backup-passphrase', { as: 'admin', json }), 204)
  const backup = (await rig.call('POST', '/system/backup?format=coffer', { as: 'backup' })).bytes
  const other = await openRig(t, new Uint8Array(32).fill(9))
  const query = '?backupPassphrase=backup%20passphrase'
  assert.equal(await other.status('POST', `/system/restore${query}`, { body: backup }), 204)
  assert.deepEqual(other.appliance.configuration.outgoing.proxy, { ...PROXY, password: SECRET })
})
