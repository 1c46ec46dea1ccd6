/** `/config/mail`: settings, a password among them. Contract sections 3.4 and 4.7. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationalRig, type Rig, UNLOCK } from '../../support/in-process.ts'

const PATH = '/config/mail'
const PASSWORD = 'password-of-the-mail-server'
const DEFAULTS = {
  ...{ server: null, port: 465, security: 'tls', user: null, from: null, to: [], alerts: null },
}
const SERVER = { server: 'mail.example.org', from: 'coffer@example.org', to: ['admin@example.org'] }

const shown = async (rig: Rig) => (await rig.call('GET', PATH, { as: 'admin' })).json()
const put = (rig: Rig, json: unknown) => rig.status('PUT', PATH, { as: 'admin', json })

test('members that are absent stay, and settings can be read while Locked', async (t) => {
  const rig = await operationalRig(t)
  assert.deepEqual(await shown(rig), DEFAULTS)
  const changes = [
    SERVER,
    { port: 587, security: 'starttls' },
    { user: 'coffer', password: PASSWORD },
    { alerts: ['disk'] },
  ]
  for (const change of changes) assert.equal(await put(rig, change), 204, JSON.stringify(change))
  const expected = { ...DEFAULTS, ...Object.assign({}, ...changes) }
  assert.deepEqual(await shown(rig), { ...expected, password: true })
  await rig.appliance.lock()
  rig.appliance.configuration.load()
  assert.deepEqual(rig.appliance.configuration.mail, expected)
  await rig.appliance.unlock(new TextEncoder().encode(UNLOCK))
  assert.deepEqual(await shown(rig), { ...expected, password: true })
})

test('a password stays for the same server, port and user only', async (t) => {
  for (const [change, stays] of [
    [{ to: ['other@example.org'] }, true],
    [{ security: 'starttls' }, true],
    [{ server: 'mail.example.org' }, true],
    [{ server: 'other.example.org' }, false],
    [{ port: 587 }, false],
    [{ user: 'other' }, false],
    [{ user: null }, false],
    [{ password: null }, false],
    [{ server: null }, false],
  ] as const) {
    const rig = await operationalRig(t)
    assert.equal(await put(rig, { ...SERVER, user: 'coffer', password: PASSWORD }), 204)
    assert.equal(await put(rig, change), 204)
    assert.equal((await shown(rig)).password, stays ? true : undefined, JSON.stringify(change))
  }
})

test('no password is in an answer, a log line, an audit line, an error, or in the clear on disk', async (t) => {
  const rig = await operationalRig(t)
  const login = { user: 'coffer', password: PASSWORD }
  const answers = [
    await rig.call('PUT', PATH, { as: 'admin', json: { ...SERVER, ...login } }),
    await rig.call('PUT', PATH, { as: 'admin', json: { ...login, security: 'plain' } }),
    await rig.call('PUT', PATH, { as: 'admin', json: { password: PASSWORD.repeat(10) } }),
    await rig.call('PUT', PATH, { as: 'admin', json: { user: null, password: PASSWORD } }),
    await rig.call('POST', `${PATH}/test`, { as: 'admin' }),
    await rig.call('GET', PATH, { as: 'admin' }),
    await rig.call('GET', '/audit', { as: 'admin' }),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [204, 400, 400, 400, 412, 200, 200],
  )
  for (const { bytes, headers } of answers)
    assert.ok(!`${Buffer.from(bytes)}${JSON.stringify(headers)}`.includes(PASSWORD), String(Buffer.from(bytes)))
  assert.ok(!JSON.stringify(rig.entries).includes(PASSWORD))
  const { lines } = (await rig.call('GET', `/audit?action=PUT ${PATH}`, { as: 'admin' })).json()
  assert.deepEqual(lines.at(-1).facts, { members: 'from password server to user' })
  const etags = new Set<string | undefined>()
  for (const password of [PASSWORD, `${PASSWORD}2`]) {
    await put(rig, { password })
    etags.add((await rig.call('GET', PATH, { as: 'admin' })).headers.etag)
  }
  assert.equal(etags.size, 1, 'the tag does not help to guess it')
})

const INVALID: unknown[] = [
  {},
  { unknown: 1 },
  { server: 'mail.example.org' },
  { ...SERVER, from: null },
  { ...SERVER, to: [] },
  { ...SERVER, server: 'Mail.example.org' },
  { ...SERVER, server: 'mail.example.org:25' },
  { ...SERVER, security: 'none' },
  { ...SERVER, security: 'none', server: '192.0.2.1' },
  { ...SERVER, security: 'none', server: '127.0.0.2' },
  { ...SERVER, security: 'none', server: 'constructor' },
  { port: 0 },
  { security: 'ssl' },
  { password: PASSWORD },
  { user: '' },
  { user: 'a\r\nb' },
  { user: 'coffer', password: '' },
  { from: 'coffer@example.org\r\nBcc: other@example.org' },
  { from: 'Coffer <coffer@example.org>' },
  { from: 'coffer' },
  { from: 'cöffer@example.org' },
  { from: '"a b"@example.org' },
  { to: ['a@example.org>,<b@example.org'] },
  { to: ['a@example.org', 'a@example.org'] },
  { to: Array.from({ length: 11 }, (_, n) => `a${n}@example.org`) },
  { alerts: ['other'] },
  { alerts: ['disk', 'disk'] },
]
test('refuses what cannot be', async (t) => {
  const rig = await operationalRig(t)
  for (const json of INVALID) {
    assert.equal(await put(rig, json), 400, JSON.stringify(json))
    assert.deepEqual(await shown(rig), DEFAULTS)
  }
})

test('mail in the clear stays on the same computer, whatever is changed', async (t) => {
  const rig = await operationalRig(t)
  for (const server of ['localhost', '127.0.0.1', '::1'])
    assert.equal(await put(rig, { ...SERVER, server, security: 'none' }), 204)
  assert.equal(await put(rig, { server: 'mail.example.org' }), 400)
  assert.equal(await put(rig, { server: 'mail.example.org', security: 'tls' }), 204)
  assert.equal(await put(rig, { security: 'none' }), 400)
})
