/** `/config/acme`: settings, secrets among them. Contract sections 3.4 and 4.7. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Workshop } from '../../configuration/authority.ts'
import { operationalRig, type Rig, UNLOCK } from '../../support/in-process.ts'
import { needs } from '../../support/tools.ts'

const PATH = '/config/acme'
const KEY = 'c2VjcmV0LW9mLXRoZS1leHRlcm5hbC1hY2NvdW50'
const DIRECTORY = 'https://acme.example.org/directory'

const OFF = { state: 'off', failures: 0 }
const DEFAULTS = {
  directory: null,
  contact: [],
  termsAgreed: false,
  eab: null,
  challenge: 'http-01',
  profile: null,
  appliance: [],
  chat: [],
  account: null,
  ports: { appliance: OFF, chat: OFF },
}

const shown = async (rig: Rig) => (await rig.call('GET', PATH, { as: 'admin' })).json()
const put = (rig: Rig, json: unknown) => rig.status('PUT', PATH, { as: 'admin', json })

test('members that are absent stay, and settings survive a lock', async (t) => {
  const rig = await operationalRig(t)
  assert.deepEqual(await shown(rig), DEFAULTS)
  const changes = [
    { directory: DIRECTORY, contact: ['admin@example.org'], termsAgreed: true },
    { challenge: 'tls-alpn-01', profile: 'shortlived' },
    { eab: { kid: 'account-1', key: KEY } },
  ]
  for (const change of changes) assert.equal(await put(rig, change), 204)
  const expected = { ...DEFAULTS, ...Object.assign({}, ...changes), eab: { kid: 'account-1', key: true } }
  assert.deepEqual(await shown(rig), expected)
  await rig.appliance.lock()
  await rig.appliance.unlock(new TextEncoder().encode(UNLOCK))
  assert.deepEqual(await shown(rig), expected)
})

test('the key of an external account stays for the same kid only, and ends with the directory', async (t) => {
  const rig = await operationalRig(t)
  assert.equal(await put(rig, { directory: DIRECTORY, eab: { kid: 'one' } }), 400)
  assert.equal(await put(rig, { directory: DIRECTORY, eab: { kid: 'one', key: KEY } }), 204)
  assert.equal(await put(rig, { eab: { kid: 'one' } }), 204)
  assert.equal(await put(rig, { eab: { kid: 'two' } }), 400)
  assert.deepEqual((await shown(rig)).eab, { kid: 'one', key: true })
  assert.equal(await put(rig, { directory: null }), 204)
  assert.equal((await shown(rig)).eab, null)
  assert.equal(await put(rig, { directory: DIRECTORY, eab: { kid: 'one' } }), 400)
})

test('no secret is in an answer, log line, audit line, error, or in the clear on disk', async (t) => {
  const rig = await operationalRig(t)
  const answers = [
    await rig.call('PUT', PATH, { as: 'admin', json: { directory: DIRECTORY, eab: { kid: 'one', key: KEY } } }),
    await rig.call('PUT', PATH, { as: 'admin', json: { challenge: 'none', eab: { kid: 'one', key: KEY } } }),
    await rig.call('PUT', PATH, { as: 'admin', json: { eab: { kid: 'one', key: `${KEY}=` } } }),
    await rig.call('GET', PATH, { as: 'admin' }),
    await rig.call('GET', '/audit', { as: 'admin' }),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [204, 400, 400, 200, 200],
  )
  for (const { bytes, headers } of answers)
    assert.ok(!`${Buffer.from(bytes)}${JSON.stringify(headers)}`.includes(KEY), String(Buffer.from(bytes)))
  assert.ok(!JSON.stringify(rig.entries).includes(KEY))
  const { lines } = (await rig.call('GET', `/audit?action=${PATH}`, { as: 'admin' })).json()
  assert.deepEqual(lines.at(-1).facts, { members: 'directory eab' })
  const device = rig.appliance.deviceRecords.read('the record', (area) => area.get('acme'))
  assert.ok(!Buffer.from(device!).includes(KEY), 'sealed by a key of the domain, too')
})

const INVALID: unknown[] = [
  {},
  { unknown: 1 },
  { account: null },
  { directory: 'http://acme.example.org/directory' },
  { directory: 'https://user@acme.example.org/directory' },
  { directory: 'https://acme.example.org/directory#x' },
  { directory: '' },
  { contact: ['nobody'] },
  { contact: Array(11).fill('a@example.org') },
  { termsAgreed: 'true' },
  { challenge: 'dns-01' },
  { profile: '' },
  { profile: 'a b' },
  { appliance: ['*.example.org'] },
  { appliance: ['Example.org'] },
  { appliance: ['münchen.example.org'] },
  { appliance: ['example.org', 'example.org'] },
  { appliance: ['2001:db8:0:0::1'] },
  { appliance: ['example.org:443'] },
  { chat: Array.from({ length: 101 }, (_, i) => `n${i}.example.org`) },
  { eab: { kid: 'one', key: 'not base64url!' } },
  { eab: { kid: 'one', key: true } },
]
for (const json of INVALID)
  test(`refuses ${JSON.stringify(json).slice(0, 80)}`, async (t) => {
    const rig = await operationalRig(t)
    assert.equal(await put(rig, json), 400)
    assert.deepEqual(await shown(rig), DEFAULTS)
  })

test('names of both kinds, a hundred for each port', async (t) => {
  const rig = await operationalRig(t)
  const names = Array.from({ length: 97 }, (_, i) => `n${i}.example.org`)
  const appliance = [...names, '192.0.2.7', '2001:db8::1', 'xn--mnchen-3ya.example.org']
  assert.equal(await put(rig, { directory: DIRECTORY, appliance, chat: appliance }), 204)
  assert.deepEqual((await shown(rig)).appliance, appliance)
})

test('a certificate is ordered for a port with names only, and once in ten seconds', async (t) => {
  const rig = await operationalRig(t)
  const renew = (port: string) => rig.status('POST', `${PATH}/renew`, { as: 'admin', json: { port } })
  assert.equal(await renew('appliance'), 412)
  assert.equal(await put(rig, { directory: DIRECTORY, appliance: ['coffer.example.org'] }), 204)
  assert.equal(await renew('appliance'), 204)
  assert.equal(await renew('appliance'), 429)
  assert.equal(await renew('chat'), 412)
  assert.equal(await renew('other'), 400)
})

test(
  'names of the appliance are refused while a cluster CA has to sign its certificate',
  needs('openssl'),
  async (t) => {
    const rig = await operationalRig(t)
    const workshop = new Workshop()
    t.after(() => workshop.remove())
    const root = workshop.root('root')
    const call = (method: string, path: string, more: object) => rig.call(method, path, { as: 'admin', ...more })
    const csr = (await call('POST', '/config/tls/csr.pem', { json: { commonName: 'box.example' } })).text()
    const { pem } = workshop.issue({ name: 'box', csr, issuer: root })
    const headers = { 'content-type': 'application/x-pem-file' }
    for (const [path, body] of [
      ['/config/tls/cert.pem', pem],
      ['/cluster/tls/ca.pem', root.pem],
    ] as const)
      assert.equal((await call('PUT', path, { body, headers })).status, 201)
    assert.equal(await put(rig, { directory: DIRECTORY, chat: ['chat.example.org'] }), 204)
    assert.equal(await put(rig, { appliance: ['coffer.example.org'] }), 412)
  },
)
