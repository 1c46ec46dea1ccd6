/** The cluster of one, where there is no etcd: contract sections 3.6 and 4.8. */

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { Workshop } from '../../configuration/authority.ts'
import { splitLine } from '../../support/client.ts'
import { openRig, operationalRig, type Rig, UNLOCK } from '../../support/in-process.ts'
import { needs } from '../../support/tools.ts'

const URLS = { urls: ['https://192.0.2.7:2380'] }
const FIRST = { name: 'first', urls: ['https://192.0.2.1:2380'], id: 'ab', learner: false }
const JOINER = { name: '', urls: ['https://192.0.2.2:2380', 'https://[2001:db8::2]:2380/'] }
const JOIN = { members: [FIRST, JOINER], joinerKit: 'AAAA', backupPassphrase: 'backup passphrase' }
const NOT_AVAILABLE = 'Clustering is not available: this appliance has no etcd'
const ETAG = { 'if-match': '"another"' }

async function answers(rig: Rig, line: string, status: number, message: string | RegExp, json?: unknown) {
  const answer = await rig.call(...splitLine(line), { as: 'admin', ...(json === undefined ? {} : { json }) })
  assert.equal(answer.status, status, `${line}: ${answer.text()}`)
  assert.match(answer.json().message, typeof message === 'string' ? new RegExp(`^${message}$`) : message)
}

const memberOf = async (rig: Rig) => (await rig.call('GET', '/cluster/members', { as: 'admin' })).json()[0]

test('tells one member: this node, the same after a lock, with the address of the network settings', async (t) => {
  const rig = await operationalRig(t)
  const first = await rig.call('GET', '/cluster/members', { as: 'admin' })
  const [member] = first.json()
  assert.equal(first.json().length, 1)
  assert.match(member.id, /^[0-9a-f]{16}$/)
  const { deviceId } = (await rig.call('GET', '/system/info', { as: 'admin' })).json()
  const expected = { id: member.id, name: deviceId, urls: ['https://192.168.1.1:2380'], learner: false }
  assert.deepEqual(member, expected)

  const network = { ipAddress: '192.0.2.9', netmask: '255.255.255.0', gateway: '0.0.0.0' }
  assert.equal(await rig.status('PUT', '/config/network', { as: 'admin', json: network }), 204)
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  assert.equal(await rig.status('GET', '/cluster/members', { as: 'admin' }), 412)
  assert.equal(await rig.status('POST', '/unlock', { json: { passphrase: UNLOCK } }), 204)
  const second = await rig.call('GET', '/cluster/members', { as: 'admin' })
  assert.deepEqual(second.json(), [{ ...expected, urls: ['https://192.0.2.9:2380'] }])
  assert.notEqual(second.headers.etag, first.headers.etag)
})

test('another node has another id', async (t) => {
  const rig = await operationalRig(t)
  const other = await openRig(t, new Uint8Array(32).fill(8))
  const json = { unlockPassphrase: UNLOCK, adminPassphrase: 'admin passphrase', systemTime: '2030-01-02T03:04:05Z' }
  assert.equal(await other.status('POST', '/provision', { json }), 204)
  assert.notEqual((await memberOf(rig)).id, (await memberOf(other)).id)
})

test('a member is not added: 412 without a backup passphrase, then 400', async (t) => {
  const rig = await operationalRig(t)
  const add = (status: number, message: string | RegExp, json: unknown) =>
    answers(rig, 'POST /cluster/members', status, message, json)
  await add(412, 'No backup passphrase is set', URLS)
  const bad = [{}, { urls: [] }, { urls: 'https://a:2380' }, { urls: ['http://a:2380'] }, { ...URLS, more: 1 }]
  bad.push({ urls: [`https://${'a'.repeat(1024)}`] }, { urls: ['https://'] })
  for (const json of bad) await add(400, /^(body|urls)/, json)
  const json = { newPassphrase: 'backup passphrase', currentPassphrase: '' }
  assert.equal(await rig.status('PUT', '/config/backup-passphrase', { as: 'admin', json }), 204)
  await add(400, NOT_AVAILABLE, URLS)
  await add(400, NOT_AVAILABLE, { urls: ['https://any.host/path'] })
  assert.equal(await rig.status('POST', '/cluster/members', { as: 'admin', body: JSON.stringify(URLS) }), 415)
  assert.equal(
    await rig.status('POST', '/cluster/members', { as: 'admin', json: URLS, headers: { accept: 'text/html' } }),
    406,
  )
})

test('its own member is neither changed, removed nor promoted; others are missing', async (t) => {
  const rig = await operationalRig(t)
  const { id } = await memberOf(rig)
  const missing = id.startsWith('f') ? '1' : 'f'
  for (const [method, after, json] of [
    ['PUT', '', URLS],
    ['DELETE', ''],
    ['POST', '/promote'],
  ] as const) {
    const line = (id: string) => `${method} /cluster/members/${id}${after}`
    await answers(rig, line(id), 400, NOT_AVAILABLE, json)
    await answers(rig, line(missing), 404, 'No such member', json)
    for (const bad of ['0x1', 'G', '1'.repeat(17), 'AB', '%00']) await answers(rig, line(bad), 400, /^member/, json)
    if (method !== 'PUT') assert.equal(await rig.status(...splitLine(line(id)), { as: 'admin', headers: ETAG }), 412)
  }
  // A PUT looks for its resource after its body, the others before.
  await answers(rig, `PUT /cluster/members/${missing}`, 400, /^urls/, { urls: [1] })
  assert.equal(await rig.status('PUT', `/cluster/members/${id}`, { as: 'admin', body: JSON.stringify(URLS) }), 415)
  assert.equal((await memberOf(rig)).id, id)
})

test(
  'it joins no cluster: what is no join is 400, then 412 without a cluster CA, then 400',
  needs('openssl'),
  async (t) => {
    const rig = await operationalRig(t)
    const join = (status: number, message: string | RegExp, json: unknown) =>
      answers(rig, 'POST /cluster/join', status, message, json)
    const { backupPassphrase: _, ...incomplete } = JOIN
    const member = (more: object) => ({ ...JOIN, members: [{ ...FIRST, ...more }, JOINER] })
    for (const json of [
      {},
      incomplete,
      { ...JOIN, more: 1 },
      { ...JOIN, joinerKit: 1 },
      { ...JOIN, members: [] },
      { ...JOIN, members: [JOINER] },
      { ...JOIN, members: [FIRST, { ...JOINER, name: 'second' }] },
      { ...JOIN, members: [FIRST, JOINER, { ...JOINER, urls: ['https://192.0.2.3:2380'] }] },
      { ...JOIN, members: [FIRST, JOINER, { ...FIRST, urls: ['https://192.0.2.3:2380'] }] },
      member({ urls: JOINER.urls.slice(0, 1) }),
      member({ urls: [] }),
      ...['https://a', 'https://a:2381', 'http://a:2380', 'https://:2380', 'https://a:2380/x', 'https://a@b:2380'].map(
        (url) => member({ urls: [url] }),
      ),
      member({ name: 1 }),
      member({ learner: 'no' }),
      member({ more: 1 }),
    ])
      await join(400, /^(body|members|joinerKit|backupPassphrase)/, json)
    await join(412, 'No cluster CA is set', JOIN)
    await join(412, 'No cluster CA is set', member({ id: null, learner: null })) // as NetHSM 5.1
    await setClusterCa(t, rig)
    await join(400, NOT_AVAILABLE, JOIN)
    const text = await rig.call('POST', '/cluster/join', { as: 'admin', body: JSON.stringify(JOIN) })
    assert.equal(text.json().message, NOT_AVAILABLE, 'the content type is not looked at')
  },
)

async function setClusterCa(t: TestContext, rig: Rig): Promise<void> {
  const workshop = new Workshop()
  t.after(() => workshop.remove())
  const issuer = workshop.root('root')
  const { text: csr } = await rig.call('POST', '/config/tls/csr.pem', { as: 'admin', json: { commonName: 'node' } })
  const put = (path: string, body: string) =>
    rig.status('PUT', `/config/tls/${path}`, {
      as: 'admin',
      body,
      headers: { 'content-type': 'application/x-pem-file' },
    })
  assert.equal(await put('cert.pem', workshop.issue({ name: 'node', csr: csr(), issuer }).pem), 201)
  assert.equal(await put('cluster-ca.pem', issuer.pem), 201)
}

test('a failed node lets nobody force it: 401 for whatever passphrase, one failed attempt a second', async (t) => {
  const failed = await openRig(t, null)
  const force = (passphrase?: string) =>
    failed.status('POST', '/cluster/force-new', {
      as: passphrase === undefined ? undefined : `unlock:${passphrase}`,
    })
  assert.equal(await force(), 401)
  assert.equal(await force(UNLOCK), 401)
  assert.equal(await force(UNLOCK), 429)
  failed.nowMs += 1000
  assert.equal(await force('wrong'), 401)
  assert.equal(await failed.status('GET', '/cluster/members', { as: 'admin' }), 412)
})

test('nor is one forced that is alone: its unlock passphrase is asked for, and then it is in no cluster', async (t) => {
  const rig = await operationalRig(t)
  const force = async (user: string, passphrase: string) => {
    const { status, json } = await rig.call('POST', '/cluster/force-new', { as: `${user}:${passphrase}` })
    return [status, json().message]
  }
  for (const state of ['Operational', 'Locked']) {
    assert.equal(rig.appliance.state, state)
    assert.equal(await rig.status('POST', '/cluster/force-new'), 401)
    assert.deepEqual(await force('admin', UNLOCK), [401, 'Only user unlock may do this'])
    assert.deepEqual(await force('unlock', 'not the unlock passphrase'), [401, 'Wrong passphrase'])
    assert.equal((await force('unlock', UNLOCK))[0], 429)
    rig.nowMs += 1000
    assert.deepEqual(await force('unlock', UNLOCK), [412, 'This node is in no cluster'])
    if (state === 'Operational') assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  }
  const fresh = await openRig(t)
  assert.equal(await fresh.status('POST', '/cluster/force-new'), 412)
})
