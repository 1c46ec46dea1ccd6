/** `/config/syslog`: settings, state, and the client's key. Contract sections 3.4, 4.7 and 7.6. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { openRig, operationalRig, type Rig } from '../../support/in-process.ts'

const PATH = '/config/syslog'
const FINGERPRINT = `sha-256${':0A'.repeat(32)}`
const DEFAULTS = { server: null, port: 6514, send: 'all', fingerprints: [] }
const OFF = { state: 'off', confirmed: 0, waiting: 0 }
const WAITING = {
  state: 'waiting',
  confirmed: 3,
  waiting: 4,
  problem: 'Cannot forward: it could not be reached',
} as const

const withForwarder = { forwarder: { view: () => WAITING } }

const shown = async (rig: Rig) => (await rig.call('GET', PATH, { as: 'admin' })).json()
const put = (rig: Rig, json: unknown) => rig.status('PUT', PATH, { as: 'admin', json })

test('members that are absent stay, and settings survive a restart', async (t) => {
  const rig = await operationalRig(t, withForwarder)
  assert.deepEqual(await shown(rig), { ...DEFAULTS, ...WAITING })
  const changes = [
    { server: 'log.example.org' },
    { port: 6515 },
    { send: 'audit' },
    { fingerprints: [FINGERPRINT, FINGERPRINT.replaceAll('A', '9')] },
    { server: '2001:db8::1' },
  ]
  for (const change of changes) assert.equal(await put(rig, change), 204)
  const expected = { ...Object.assign({}, ...changes), ...WAITING }
  assert.deepEqual(await shown(rig), expected)
  rig.appliance.configuration.load()
  assert.deepEqual(await shown(rig), expected)
  const { headers } = await rig.call('GET', PATH, { as: 'admin' })
  assert.equal(headers['cache-control'], 'no-cache')
})

const INVALID: unknown[] = [
  {},
  { unknown: 1 },
  { server: '' },
  { server: 'Log.example.org' },
  { server: 'log.example.org:6514' },
  { server: '127.1' },
  { port: 0 },
  { port: 65_536 },
  { send: 'nothing' },
  { fingerprints: ['0A'] },
  { fingerprints: [FINGERPRINT.toLowerCase()] },
  { fingerprints: [FINGERPRINT.replace('sha-256', 'sha-1')] },
  { fingerprints: [`${FINGERPRINT}:0A`] },
  { fingerprints: Array(5).fill(FINGERPRINT) },
  { state: 'off' },
]

test('bad input is refused with its place, and changes nothing', async (t) => {
  const rig = await operationalRig(t, withForwarder)
  for (const json of INVALID) {
    const { status, json: read } = await rig.call('PUT', PATH, { as: 'admin', json })
    assert.equal(status, 400, JSON.stringify(json))
    assert.equal(typeof read().message, 'string')
  }
  assert.deepEqual(await shown(rig), { ...DEFAULTS, ...WAITING })
})

test('without a process for outgoing connections a server is refused, and nothing is forwarded', async (t) => {
  const rig = await operationalRig(t)
  assert.equal(await put(rig, { server: 'log.example.org' }), 412)
  assert.equal(await put(rig, { server: null, send: 'log' }), 204)
  assert.deepEqual(await shown(rig), { ...DEFAULTS, send: 'log', ...OFF })
})

test('the audit log names what was set, and the server', async (t) => {
  const rig = await operationalRig(t, withForwarder)
  assert.equal(await put(rig, { server: 'log.example.org', port: 6515 }), 204)
  assert.equal(await put(rig, { server: null }), 204)
  const { lines } = (await rig.call('GET', `/audit?action=${PATH}`, { as: 'admin' })).json()
  assert.deepEqual(
    lines.map(({ facts }: { facts: object }) => facts),
    [{ members: 'server' }, { members: 'port server', server: 'log.example.org' }],
  )
})

test("the client's key is there once it was generated, and its certificate can be set", async (t) => {
  const rig = await operationalRig(t)
  const tls = (method: string, path: string, more: object = {}) =>
    rig.call(method, `${PATH}/tls/${path}`, { as: 'admin', ...more })
  const subject = { json: { commonName: 'coffer' } }
  for (const [method, path, more] of [
    ['GET', 'public.pem', {}],
    ['GET', 'cert.pem', {}],
    ['POST', 'csr.pem', subject],
    ['PUT', 'cert.pem', { body: 'none', type: 'application/x-pem-file' }],
  ] as const)
    assert.equal((await tls(method, path, more)).status, 404, `${method} ${path}`)
  assert.equal((await tls('POST', 'generate', { json: { type: 'EC_P256' } })).status, 204)
  const first = new X509Certificate((await tls('GET', 'cert.pem')).text())
  assert.equal(first.subject, 'CN=coffer')
  assert.match((await tls('POST', 'csr.pem', subject)).text(), /BEGIN CERTIFICATE REQUEST/)
  const { identity } = rig.appliance.configuration.syslogTls
  assert.ok(!Buffer.from((await tls('GET', 'public.pem')).bytes).includes('PRIVATE'))
  assert.equal((await tls('PUT', 'cert.pem', { body: identity.cert, type: 'application/x-pem-file' })).status, 201)
  const other = rig.appliance.configuration.tls.identity.cert
  assert.equal((await tls('PUT', 'cert.pem', { body: other, type: 'application/x-pem-file' })).status, 400)
  assert.equal((await tls('POST', 'generate', { json: { type: 'RSA', length: 2048 } })).status, 204)
  assert.notEqual(new X509Certificate((await tls('GET', 'cert.pem')).text()).fingerprint256, first.fingerprint256)
})

test('nobody but root administrators reads or sets it, and only while Operational', async (t) => {
  const rig = await operationalRig(t, withForwarder)
  for (const method of ['GET', 'PUT']) {
    const more = method === 'PUT' ? { json: { port: 1 } } : {}
    assert.equal(await rig.status(method, PATH, { as: 'operator', ...more }), 403)
    assert.equal(await rig.status(method, PATH, more), 401)
  }
  const fresh = await openRig(t)
  assert.equal(await fresh.status('GET', PATH), 412)
})
