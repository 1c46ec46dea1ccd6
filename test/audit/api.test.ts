/** Lines that requests leave in the audit log, and how Administrators read it. Contract section 7.6. */

import assert from 'node:assert/strict'
import test, { mock } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { DECLARATIONS } from '../../firmware/app.ts'
import type { AuditLine } from '../../firmware/audit/chain.ts'
import { CofferError } from '../../firmware/base/error.ts'
import { splitLine } from '../support/client.ts'
import { ADMIN, openRig, operationalRig, type Rig, UNLOCK } from '../support/in-process.ts'
import { verify } from './rig.ts'

const lines = async (rig: Rig, query = ''): Promise<AuditLine[]> =>
  (await rig.call('GET', `/audit${query}`, { as: 'admin' })).json().lines

/** The newest line without what differs from run to run. */
async function newest(rig: Rig): Promise<object> {
  const { sequence, kind: _, previous, previousOfKind: __, hash, time, ...rest } = (await lines(rig, '?limit=1'))[0]!
  assert.match(time, /^2030-01-02T03:0\d:\d\dZ$/)
  return rest
}

const line = (action: string, result: number, more: Partial<AuditLine> = {}) => ({
  user: 'admin',
  address: '',
  action,
  key: '',
  namespace: '',
  result,
  ...more,
})

/** A group of lines waits so long at least: firmware/audit/flush-timer.ts. */
const GROUP_MS_MIN = 400

test('the log begins with provisioning', async (t) => {
  const rig = await openRig(t)
  const json = { unlockPassphrase: UNLOCK, adminPassphrase: ADMIN, systemTime: '2030-01-02T03:04:05Z' }
  assert.equal(await rig.status('POST', '/provision', { json: { ...json, adminPassphrase: 'short' } }), 400)
  assert.equal(await rig.status('POST', '/provision', { json }), 204)
  const found = (await lines(rig)).map(({ user, action, result, sequence }) => [user, action, result, sequence])
  assert.deepEqual(found, [
    ['', 'POST /provision', 204, 2],
    ['', 'POST /provision', 400, 1],
  ])
})

test('every change names who, what and the outcome', async (t) => {
  const rig = await operationalRig(t)
  const sign = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  const user = { realName: 'Somebody', role: 'Operator', passphrase: 'a passphrase' }
  const steps: [call: string, json: unknown, expected: object | ((id: string) => object)][] = [
    [
      'POST /keys/generate',
      { id: 'k1', ...sign },
      line('POST /keys/generate', 201, { key: 'k1', facts: { type: 'Curve25519' } }),
    ],
    [
      'POST /keys/generate',
      { id: 'k1', ...sign },
      line('POST /keys/generate', 409, { key: 'k1', facts: { type: 'Curve25519' } }),
    ],
    ['POST /keys/generate', sign, (key) => line('POST /keys/generate', 201, { key, facts: { type: 'Curve25519' } })],
    ['POST /keys/generate', { ...sign, more: 1 }, line('POST /keys/generate', 400)],
    ['PUT /keys/k1/label', { label: 'a label' }, line('PUT /keys/{id}/label', 204, { key: 'k1' })],
    ['PUT /keys/k1/label', { label: 'a label' }, line('PUT /keys/{id}/label', 304, { key: 'k1' })],
    [
      'PUT /keys/k1/restrictions/tags/t1',
      undefined,
      line('PUT /keys/{id}/restrictions/tags/{tag}', 204, { key: 'k1', facts: { tag: 't1' } }),
    ],
    ['POST /keys/k1/move', { newId: 'k2' }, line('POST /keys/{id}/move', 200, { key: 'k1', facts: { newId: 'k2' } })],
    ['DELETE /keys/k1', undefined, line('DELETE /keys/{id}', 404, { key: 'k1' })],
    ['DELETE /keys/k2', undefined, line('DELETE /keys/{id}', 204, { key: 'k2' })],
    ['PUT /users/u1', user, line('PUT /users/{user}', 201, { facts: { user: 'u1', role: 'Operator' } })],
    ['POST /users', user, (made) => line('POST /users', 201, { facts: { role: 'Operator', made } })],
    [
      'PUT /users/u1/tags/t1',
      undefined,
      line('PUT /users/{user}/tags/{tag}', 204, { facts: { user: 'u1', tag: 't1' } }),
    ],
    ['DELETE /users/admin', undefined, line('DELETE /users/{user}', 400, { facts: { user: 'admin' } })],
    ['PUT /namespaces/ns', undefined, line('PUT /namespaces/{namespace}', 204, { facts: { namespace: 'ns' } })],
    [
      'PUT /config/unattended-boot',
      { status: 'on' },
      line('PUT /config/unattended-boot', 204, { facts: { status: 'on' } }),
    ],
    ['PUT /config/audit', { lines: 5000 }, line('PUT /config/audit', 204, { facts: { lines: '5000' } })],
  ]
  for (const [call, json, expected] of steps) {
    const answer = await rig.call(...splitLine(call), { as: 'admin', ...(json === undefined ? {} : { json }) })
    const wanted = typeof expected === 'function' ? expected(answer.json().id) : expected
    assert.deepEqual(await newest(rig), wanted, call)
  }
})

test('every use of a key is a line, with the namespace and without what was used', async (t) => {
  const rig = await operationalRig(t)
  await rig.user('ns~admin', 'Administrator')
  assert.equal(await rig.status('PUT', '/namespaces/ns', { as: 'admin' }), 204)
  await rig.user('ns~operator', 'Operator', 'ns~admin')
  await rig.key('ed', {}, 'ns~admin')
  const message = Buffer.from('a confidential message').toString('base64')
  const use = (mode: string) => rig.status('POST', '/keys/ed/sign', { as: 'ns~operator', json: { mode, message } })
  const used = { user: 'ns~operator', namespace: 'ns', key: 'ed' }
  assert.equal(await use('EdDSA'), 200)
  assert.deepEqual(await newest(rig), line('POST /keys/{id}/sign', 200, used))
  assert.equal(await use('ECDSA'), 400)
  assert.deepEqual(await newest(rig), line('POST /keys/{id}/sign', 400, used))
  assert.equal(await rig.status('POST', '/keys/ed/csr.pem', { as: 'ns~admin', json: { commonName: 'x' } }), 200)
  assert.deepEqual(await newest(rig), line('POST /keys/{id}/csr.pem', 200, { ...used, user: 'ns~admin' }))
  const before = (await lines(rig))[0]!.sequence
  for (const path of ['/keys', '/keys/ed', '/keys/ed/public.pem', '/users/ns~operator'])
    assert.equal(await rig.status('GET', `${path}`, { as: 'ns~admin' }), 200)
  assert.equal(await rig.status('POST', '/random', { as: 'ns~operator', json: { length: 8 } }), 200)
  assert.equal((await lines(rig))[0]!.sequence, before, 'reading and random bytes leave no line')
  const text = JSON.stringify(await lines(rig, '?limit=1000'))
  for (const secret of [message, ADMIN, UNLOCK, 'passphrase of']) assert.equal(text.includes(secret), false, secret)
})

test('a refused caller leaves a line, also where reading leaves none', async (t) => {
  const rig = await operationalRig(t)
  rig.use('nobody', 'a wrong passphrase')
  assert.equal(await rig.status('GET', '/users', { as: 'nobody' }), 401)
  assert.deepEqual(await newest(rig), line('GET /users', 401, { user: 'nobody' }))
  assert.equal(await rig.status('GET', '/users', { as: 'nobody' }), 429)
  assert.deepEqual(await newest(rig), line('GET /users', 429, { user: 'nobody' }))
  assert.equal(await rig.status('GET', '/users?secret=in-the-query'), 401)
  assert.deepEqual(await newest(rig), line('GET /users', 401, { user: '' }))
  assert.equal(await rig.status('GET', '/users', { as: 'operator' }), 403)
  assert.deepEqual(await newest(rig), line('GET /users', 403, { user: 'operator' }))
  assert.equal(await rig.status('DELETE', '/keys/%7Bnot%20an%20id%7D', { as: 'operator' }), 403)
  assert.deepEqual(await newest(rig), line('DELETE /keys/{id}', 403, { user: 'operator' }))
  const before = (await lines(rig))[0]!.sequence
  assert.equal(await rig.status('GET', '/nothing'), 404)
  assert.equal(await rig.status('POST', '/unlock', { json: {} }), 412)
  assert.equal(await rig.status('GET', '/info'), 200)
  assert.equal((await lines(rig))[0]!.sequence, before, 'what reached nothing leaves no line')
})

test('locking and unlocking, right or wrong, are recorded while the domain is closed', async (t) => {
  const rig = await operationalRig(t)
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  assert.equal(await rig.status('GET', '/audit', { as: 'admin' }), 412)
  assert.equal(await rig.status('POST', '/unlock', { json: { passphrase: 'wrong passphrase' } }), 403)
  rig.nowMs += 1000
  assert.equal(await rig.status('POST', '/unlock', { json: { passphrase: UNLOCK } }), 204)
  const found = (await lines(rig, '?limit=3')).map(({ user, action, result }) => [user, action, result])
  assert.deepEqual(found, [
    ['', 'POST /unlock', 204],
    ['', 'POST /unlock', 403],
    ['admin', 'POST /lock', 204],
  ])
})

test('a change is on disk before its answer, a use of a key soon after', async (t) => {
  const rig = await operationalRig(t)
  await rig.key('ed')
  const count = () => rig.appliance.writes
  let before = count()
  assert.equal(await rig.status('PUT', '/keys/ed/label', { as: 'admin', json: { label: 'x' } }), 204)
  assert.equal(count() - before, 2, 'the change and its line')
  before = count()
  const json = { mode: 'EdDSA', message: '' }
  const startedMs = performance.now()
  for (let n = 0; n < 20; n++) assert.equal(await rig.status('POST', '/keys/ed/sign', { as: 'operator', json }), 200)
  const groupsMax = 1 + (performance.now() - startedMs) / GROUP_MS_MIN
  assert.ok(count() - before <= groupsMax, `${count() - before} groups of at most ${groupsMax}`)
  for (let tries = 0; tries < 3000 && count() === before; tries++) await wait(20)
  assert.ok(count() > before)
  assert.equal((await lines(rig, '?limit=1000&action=/sign')).length, 20)
})

test('pages, filters, and what they refuse', async (t) => {
  const rig = await operationalRig(t)
  for (const id of ['a', 'b', 'c']) await rig.key(id)
  const sequences = async (query: string) => (await lines(rig, query)).map(({ key }) => key)
  assert.deepEqual(await sequences('?action=generate'), ['c', 'b', 'a'])
  assert.deepEqual(await sequences('?action=POST%20/keys&key=b'), ['b'])
  assert.deepEqual(await sequences('?user=operator'), [])
  assert.deepEqual(await sequences('?from=2031-01-01T00:00:00Z'), [])
  assert.deepEqual(await sequences('?action=generate&from=2030-01-02T03:04:05Z&to=2030-01-02T04:00:00Z'), [
    'c',
    'b',
    'a',
  ])
  const { json } = await rig.call('GET', '/audit?limit=2', { as: 'admin' })
  assert.equal(json().lines.length, 2)
  assert.equal(json().next, json().lines[1].sequence)
  const older = (await rig.call('GET', `/audit?limit=2&before=${json().next}`, { as: 'admin' })).json()
  assert.equal(older.lines[0].sequence, json().next - 1)
  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=x',
    'before=0',
    'before=1e3',
    'from=yesterday',
    'key=a%20b',
    'user=~',
  ])
    assert.equal(await rig.status('GET', `/audit?${query}`, { as: 'admin' }), 400, query)
})

test('only root Administrators read it and set how much is kept', async (t) => {
  const rig = await operationalRig(t)
  await rig.user('ns~admin', 'Administrator')
  assert.equal(await rig.status('PUT', '/namespaces/ns', { as: 'admin' }), 204)
  for (const call of ['GET /audit', 'GET /audit/export', 'GET /config/audit', 'PUT /config/audit']) {
    for (const as of ['operator', 'metrics', 'backup', 'ns~admin'])
      assert.equal(await rig.status(...splitLine(call), { as }), 403, call)
    assert.equal(await rig.status(...splitLine(call)), 401, call)
  }
  const initial = { changes: 100_000, refusals: 100_000, uses: 100_000, whenFull: 'overwrite' }
  assert.deepEqual((await rig.call('GET', '/config/audit', { as: 'admin' })).json(), initial)
  for (const json of [
    { lines: 999 },
    { lines: 10_000_001 },
    { lines: '5000' },
    { lines: 1000, more: 1 },
    { uses: 999 },
    { whenFull: 'stop' },
    {},
  ])
    assert.equal(await rig.status('PUT', '/config/audit', { as: 'admin', json }), 400)
  assert.equal(await rig.status('PUT', '/config/audit', { as: 'admin', json: { lines: 1000, refusals: 2000 } }), 204)
  assert.equal(await rig.status('PUT', '/config/audit', { as: 'admin', json: { uses: 5000, whenFull: 'refuse' } }), 204)
  const configured = { changes: 1000, refusals: 2000, uses: 5000, whenFull: 'refuse' }
  assert.deepEqual((await rig.call('GET', '/config/audit', { as: 'admin' })).json(), configured)
})

test('the export holds every line and verifies; a lock ends it', async (t) => {
  const rig = await operationalRig(t)
  const { status, text, headers } = await rig.call('GET', '/audit/export', { as: 'admin' })
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'application/jsonl')
  const texts = text().trimEnd().split('\n')
  const { key } = (await rig.call('GET', '/audit', { as: 'admin' })).json().head
  const { problems, lines: count } = await verify(texts, { key })
  assert.deepEqual(problems, [])
  assert.equal(count, texts.length - 1)

  const { handle } = DECLARATIONS.find(({ path }) => path === '/audit/export')!
  const result = await handle({ services: { appliance: rig.appliance } } as Parameters<typeof handle>[0])
  assert.ok('stream' in result)
  const chunks = result.stream[Symbol.asyncIterator]()
  assert.equal((await chunks.next()).done, false)
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  await assert.rejects(Promise.resolve(chunks.next()), /not available/)
  assert.equal(await rig.status('GET', '/audit/export', { as: 'admin' }), 412)
})

test('the lowest role pushes nothing out with what is refused', async (t) => {
  const rig = await operationalRig(t)
  await rig.key('ed')
  assert.equal(await rig.status('PUT', '/config/audit', { as: 'admin', json: { lines: 1000 } }), 204)
  const changes = (await lines(rig, '?limit=1000')).map(({ action }) => action)
  for (let n = 0; n < 1500; n++) assert.equal(await rig.status('GET', '/users', { as: 'metrics' }), 403)
  assert.equal((await lines(rig, '?limit=1000&user=metrics')).length, 100)
  rig.nowMs += 10_000
  for (let n = 0; n < 2; n++) assert.equal(await rig.status('GET', '/users', { as: 'metrics' }), 403)
  assert.equal((await lines(rig, '?limit=1000&user=metrics')).length, 101, 'one more each ten seconds')
  for (let n = 0; n < 1500; n++)
    assert.equal(
      await rig.status('POST', '/keys/nothing/sign', { as: 'operator', json: { mode: 'EdDSA', message: '' } }),
      404,
    )
  const kept = (await lines(rig, '?limit=1000&user=admin')).map(({ action }) => action)
  assert.deepEqual(
    kept,
    changes.filter((action) => action !== 'POST /provision'),
  )
  assert.equal((await lines(rig, '?limit=1000&action=sign')).length, 100, 'what came to no key is no use')
  const { text } = await rig.call('GET', '/audit/export', { as: 'admin' })
  assert.deepEqual((await verify(text().trimEnd().split('\n'))).problems, [])
})

test('the lowest roles push no change out with their own: their passphrases, and backups', async (t) => {
  const rig = await operationalRig(t)
  assert.equal(await rig.status('PUT', '/config/audit', { as: 'admin', json: { lines: 1000 } }), 204)
  const json = { newPassphrase: 'backup passphrase', currentPassphrase: '' }
  assert.equal(await rig.status('PUT', '/config/backup-passphrase', { as: 'admin', json }), 204)
  const changes = await lines(rig, '?limit=1000&user=admin')
  const answers = { 204: 0, 200: 0, 429: 0 } as Record<number, number>
  for (let n = 0; n < 550; n++) {
    const passphrase = 'passphrase of operator'
    answers[await rig.status('POST', '/users/operator/passphrase', { as: 'operator', json: { passphrase } })]!++
    answers[await rig.status('POST', '/system/backup', { as: 'backup' })]!++
  }
  assert.ok(answers[204]! >= 100 && answers[200]! >= 100 && answers[429]! > 500, JSON.stringify(answers))
  assert.deepEqual(await lines(rig, '?limit=1000&user=admin'), changes)
  for (let n = 0; n <= 100; n++)
    assert.equal(await rig.status('PUT', '/config/time', { as: 'admin', json: { time: '2030-01-02T03:04:05Z' } }), 204)
})

test('full of uses that were not exported, keys are refused if so configured, and nothing else is', async (t) => {
  const rig = await operationalRig(t)
  await rig.key('ed')
  assert.equal(
    await rig.status('PUT', '/config/audit', { as: 'admin', json: { lines: 1000, whenFull: 'refuse' } }),
    204,
  )
  const sign = () => rig.call('POST', '/keys/ed/sign', { as: 'operator', json: { mode: 'EdDSA', message: '' } })
  for (let n = 0; n < 1000; n++) assert.equal((await sign()).status, 200)
  const refused = await sign()
  assert.equal(refused.status, 503)
  assert.match(refused.json().message, /have not been exported/)
  assert.equal(await rig.status('PUT', '/keys/ed/label', { as: 'admin', json: { label: 'x' } }), 204)
  assert.equal((await rig.call('GET', '/audit/export', { as: 'admin' })).status, 200)
  assert.equal((await sign()).status, 200)
})

test('what the cluster did and the disk does not take is told in the log, and ends nothing', async (t) => {
  const rig = await operationalRig(t)
  mock.method(rig.appliance.audit!, 'record', () => Promise.reject(new CofferError('storage', 'The disk is full')))
  rig.appliance.leaveFailed('The other members of the cluster have removed this node')
  await wait(20)
  assert.equal(rig.appliance.state, 'Failed')
  assert.ok(rig.entries.some(({ message }) => message.endsWith('cannot record a cluster event: The disk is full')))
})

test('full of uses that were not exported, neither refused uses nor those of no key push one out', async (t) => {
  const rig = await operationalRig(t)
  await rig.key('ed')
  const config = { uses: 1000, whenFull: 'refuse' }
  assert.equal(await rig.status('PUT', '/config/audit', { as: 'admin', json: config }), 204)
  const sign = async (key: string, status: number, json: object = { mode: 'EdDSA', message: '' }) =>
    assert.equal(await rig.status('POST', `/keys/${key}/sign`, { as: 'operator', json }), status)
  for (let n = 0; n < 1100; n++) await sign('nothing', 404)
  for (let n = 0; n < 1100; n++) await sign('ed', 400, { mode: 'EdDSA' })
  for (let n = 0; n < 1000; n++) await sign('ed', 200)
  for (let n = 0; n < 900; n++) await sign('ed', 503)
  for (let n = 0; n < 600; n++) await sign('nothing', 404)
  const { text } = await rig.call('GET', '/audit/export', { as: 'admin' })
  const texts = text().trimEnd().split('\n')
  const signed = texts
    .slice(0, -1)
    .map((text): AuditLine => JSON.parse(text))
    .filter(({ key }) => key !== '')
  const uses = signed.filter(({ kind }) => kind === 'use').map(({ result }) => result)
  assert.deepEqual(uses, Array(1000).fill(200))
  assert.equal(signed.filter(({ user }) => user === 'operator').length, 1100, 'a hundred refusals of the operator')
  assert.deepEqual((await verify(texts)).problems, [])
  await sign('ed', 200)
})
