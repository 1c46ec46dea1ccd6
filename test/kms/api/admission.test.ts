/**
 * Rights at the arrival of a request must still hold when it acts: every body of every endpoint is held back while the
 * state, the caller or the rights change, and so is every operation that takes its time. Contract section 7.1.
 */

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { DECLARATIONS } from '../../../firmware/app.ts'
import type { ApplianceState } from '../../../firmware/base/states.ts'
import type { CryptoPool } from '../../../firmware/crypto/types.ts'
import type { Declaration } from '../../../firmware/kms/pipeline/endpoint.ts'
import { BACKUP, digestStore, restore, setBackupPassphrase, takeBackup, unlock } from '../../backup/rig.ts'
import { type Reply, splitLine } from '../../support/client.ts'
import { ADMIN, openRig, operationalRig, type Rig, UNLOCK } from '../../support/in-process.ts'

const NEW = 'another passphrase'
const base64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64')
const ed25519 = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
const imported = { ...ed25519, private: { data: base64(32) } }
const newUser = { realName: 'new', role: 'Administrator', passphrase: NEW }
const change = { newPassphrase: NEW, currentPassphrase: UNLOCK }
const aes = { mode: 'AES_CBC', iv: base64(16) }

interface Sample {
  path?: string
  json?: unknown
  body?: Uint8Array<ArrayBuffer>
  type?: string
  status: number
}

/** Requests that change or use something. Any other endpoint is sent an empty object, which gets it less far. */
const samples = (backup: Uint8Array<ArrayBuffer>): Record<string, Sample> => ({
  'POST /provision': {
    json: { unlockPassphrase: UNLOCK, adminPassphrase: ADMIN, systemTime: '2030-01-01T00:00:00Z' },
    status: 204,
  },
  'POST /unlock': { json: { passphrase: UNLOCK }, status: 204 },
  'POST /random': { json: { length: 8 }, status: 200 },
  'POST /keys': { json: imported, status: 201 },
  'POST /keys/generate': { json: ed25519, status: 201 },
  'PUT /keys/:id': { path: '/keys/new', json: imported, status: 204 },
  'POST /keys/:id/move': { path: '/keys/moved', json: { newId: 'elsewhere' }, status: 200 },
  'PUT /keys/:id/label': { path: '/keys/key', json: { label: 'new' }, status: 204 },
  'PUT /keys/:id/cert': { path: '/keys/key', body: new Uint8Array(3), type: 'application/octet-stream', status: 201 },
  'PUT /keys/:id/versions': { path: '/keys/key', json: { minDecryption: 1 }, status: 204 },
  'POST /keys/:id/sign': { path: '/keys/key', json: { mode: 'EdDSA', message: 'AAAA' }, status: 200 },
  'POST /keys/:id/encrypt': { path: '/keys/aes', json: { ...aes, message: base64(16) }, status: 200 },
  'POST /keys/:id/decrypt': { path: '/keys/aes', json: { ...aes, encrypted: base64(16) }, status: 200 },
  'POST /keys/:id/csr.pem': { path: '/keys/key', json: { commonName: 'x' }, status: 200 },
  'POST /users': { json: newUser, status: 201 },
  'POST /users/:namespace~': { path: '/users/{namespace}~', json: newUser, status: 201 },
  'PUT /users/:user': { path: '/users/{prefix}new', json: newUser, status: 201 },
  'POST /users/:user/passphrase': { path: '/users/{prefix}victim', json: { passphrase: NEW }, status: 204 },
  'POST /users/:user/access-keys': { path: '/users/{prefix}boss', json: { name: 'ci' }, status: 201 },
  'PUT /config/unlock-passphrase': { json: change, status: 204 },
  'PUT /config/unattended-boot': { json: { status: 'on' }, status: 204 },
  'PUT /config/time': { json: { time: '2031-01-01T00:00:00Z' }, status: 204 },
  'PUT /config/backup-passphrase': { json: { passphrase: NEW }, status: 204 },
  'PUT /config/network': { json: { ipAddress: '192.0.2.1', netmask: '255.255.255.0' }, status: 204 },
  'PUT /config/logging': { json: { ipAddress: '0.0.0.0', port: 514, logLevel: 'info' }, status: 204 },
  'POST /config/tls/csr.pem': { json: { commonName: 'x' }, status: 200 },
  'POST /config/tls/generate': { json: { type: 'EC_P256' }, status: 204 },
  'POST /system/update': { body: Buffer.from('070701'), status: 400 },
  'POST /system/restore': {
    path: `/system/restore?backupPassphrase=${encodeURIComponent(BACKUP)}`,
    body: backup,
    type: 'application/octet-stream',
    status: 204,
  },
})

interface Held {
  name: string
  expected: number | undefined
  answer: Promise<Reply>
  opened: Promise<void>
  release: () => void
}

const withBody = (states: ApplianceState): Declaration<never>[] =>
  (DECLARATIONS as readonly Declaration<never>[]).filter(
    ({ body, states: offered }) => body !== undefined && offered.includes(states),
  )

/** Sends all of a body but its last byte. `team` stands for users of a namespace. */
function hold(rig: Rig, declaration: Declaration<never>, backup: Uint8Array<ArrayBuffer>, team = ''): Held {
  const { method, path, access, body } = declaration
  const name = `${method} ${path}`
  const sample = samples(backup)[name] ?? { json: {}, status: 0 }
  const parts = (sample.path ?? path).replace('{namespace}', team || 'later').replace('{prefix}', team && `${team}~`)
  const tail = path.split('/').slice(parts.split('?')[0]!.split('/').length).join('/')
  const line = `${method} ${parts.replace(/:\w+/g, 'f')}${tail && `/${tail}`}`
  const bytes = sample.body ?? Buffer.from(JSON.stringify(sample.json))
  const types = body?.kind === 'raw' || body?.kind === 'stream' ? body.types : ['application/json']
  const opened = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  async function* pieces() {
    yield bytes.subarray(0, -1)
    opened.resolve()
    await released.promise
    yield bytes.subarray(-1)
  }
  const role = access === 'public' ? undefined : access.roles[0] === 'Operator' ? 'op' : 'boss'
  const answer = rig.call(...splitLine(line), {
    as: role && (team ? `${team}~${role}` : role),
    body: ReadableStream.from(pieces()),
    headers: { 'content-type': sample.type ?? types[0]! },
  })
  void answer.then(() => opened.resolve())
  return { name, expected: sample.status || undefined, answer, opened: opened.promise, release: released.resolve }
}

async function holdAll(rig: Rig, backup: Uint8Array<ArrayBuffer>, state: ApplianceState, team = ''): Promise<Held[]> {
  const usable = withBody(state).filter(({ access }) => team === '' || (access !== 'public' && access.scope === 'any'))
  const held = usable.map((declaration) => hold(rig, declaration, backup, team))
  await Promise.all(held.map(({ opened }) => opened))
  return held
}

/** With a caller for each role, in root or in a namespace, and keys, one of which the Operator may use by its tag. */
async function furnished(t: TestContext, team = ''): Promise<[rig: Rig, backup: Uint8Array<ArrayBuffer>]> {
  const rig = await operationalRig(t)
  const prefix = team && `${team}~`
  await setBackupPassphrase(rig)
  const json = { type: 'EC_P256' } // the log server's client has no key before
  assert.equal(await rig.status('POST', '/config/syslog/tls/generate', { as: 'admin', json }), 204)
  await rig.user(`${prefix}boss`, 'Administrator')
  if (team !== '') await rig.call('PUT', `/namespaces/${team}`, { as: 'admin' })
  const as = `${prefix}boss`
  await rig.user(`${prefix}op`, 'Operator', as)
  await rig.user(`${prefix}victim`, 'Operator', as)
  assert.equal(await rig.status('PUT', `/users/${prefix}op/tags/berlin`, { as }), 204)
  const restrictions = { tags: ['berlin'] }
  await rig.key('key', { restrictions }, as)
  await rig.key('moved', {}, as)
  const mechanisms = ['AES_Encryption_CBC', 'AES_Decryption_CBC']
  await rig.key('aes', { type: 'Generic', length: 128, mechanisms, restrictions }, as)
  assert.equal(await rig.status('POST', '/random', { as: `${prefix}op`, json: { length: 1 } }), 200) // remembered from now on
  return [rig, await takeBackup(rig)]
}

/** Everything but the audit log and the counts of operations, which uses leave behind that are in time. */
const contents = (rig: Rig): string => digestStore(rig.dataDirectory)

async function outcome(held: readonly Held[]): Promise<Map<string, number>> {
  const statuses = await Promise.all(held.map(async ({ name, answer }) => [name, (await answer).status] as const))
  return new Map(statuses)
}

const all = (held: readonly Held[], status: number) => new Map(held.map(({ name }) => [name, status]))

const remove = async (rig: Rig, ...ids: string[]) => {
  for (const id of ids) assert.equal(await rig.status('DELETE', `/users/${id}`, { as: 'admin' }), 204)
}

/** Events while bodies are held, and the answers to the requests. */
const EVENTS: Record<string, [happen: (rig: Rig, backup: Uint8Array<ArrayBuffer>) => Promise<void>, status: number]> = {
  'a lock': [async (rig) => assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204), 412],
  'a lock and an unlock': [
    async (rig) => {
      assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
      await unlock(rig)
    },
    412,
  ],
  'a restore': [
    async (rig, backup) => {
      assert.equal((await restore(rig, { backupPassphrase: BACKUP }, backup)).status, 204)
      assert.equal(rig.appliance.state, 'Operational')
    },
    412,
  ],
  'the deletion of the caller': [(rig) => remove(rig, 'boss', 'op'), 401],
  'another role of the caller, who is deleted and made anew with the same passphrase': [
    async (rig) => {
      await remove(rig, 'boss', 'op')
      await rig.user('boss', 'Metrics')
      await rig.user('op', 'Metrics')
    },
    401,
  ],
  'the same user made anew': [
    async (rig) => {
      await remove(rig, 'boss', 'op')
      await rig.user('boss', 'Administrator')
      await rig.user('op', 'Operator')
    },
    401,
  ],
  'another passphrase of the caller': [
    async (rig) => {
      for (const id of ['boss', 'op'])
        assert.equal(
          await rig.status('POST', `/users/${id}/passphrase`, { as: 'admin', json: { passphrase: 'after reset' } }),
          204,
        )
    },
    401,
  ],
}

for (const [name, [happen, status]] of Object.entries(EVENTS)) {
  test(`no body is acted upon that was held over ${name}`, async (t) => {
    const [rig, backup] = await furnished(t)
    const held = await holdAll(rig, backup, 'Operational')
    assert.ok(held.length >= 28)
    await happen(rig, backup)
    const before = contents(rig)
    if (status === 412) assert.deepEqual(await outcome(held), all(held, status), 'without waiting for the rest')
    for (const { release } of held) release()
    assert.deepEqual(await outcome(held), all(held, status))
    assert.equal(contents(rig), before)
  })
}

test('no body is acted upon that was held over the deletion of the namespace', async (t) => {
  const [rig, backup] = await furnished(t, 'team')
  const held = await holdAll(rig, backup, 'Operational', 'team')
  assert.ok(held.length >= 12)
  assert.equal(await rig.status('DELETE', '/namespaces/team', { as: 'admin' }), 204)
  const before = contents(rig)
  for (const { release } of held) release()
  assert.deepEqual(await outcome(held), all(held, 403))
  assert.equal(contents(rig), before)
})

test('tags that were taken while a body was held count, and nothing else ends', async (t) => {
  const [rig, backup] = await furnished(t)
  const held = await holdAll(rig, backup, 'Operational')
  assert.equal(await rig.status('DELETE', '/users/op/tags/berlin', { as: 'admin' }), 204)
  const restored = held.find(({ name }) => name === 'POST /system/restore')!
  for (const one of held) {
    if (one === restored) continue // it would end the others
    one.release()
    const { status, text } = await one.answer
    if (/sign|encrypt|decrypt/.test(one.name)) assert.equal(status, 403, one.name)
    else assert.equal(status, one.expected ?? status, `${one.name}: ${text()}`)
    assert.ok(status < 500, one.name)
  }
  restored.release()
  assert.equal((await restored.answer).status, 204)
})

test('what is public before provisioning ends with it: a stranger neither takes over nor stands in the way', async (t) => {
  const [, backup] = await furnished(t)
  const rig = await openRig(t)
  const held = [
    ...(await holdAll(rig, backup, 'Unprovisioned')),
    ...(await Promise.all(Array.from({ length: 12 }, () => holdAll(rig, backup, 'Unprovisioned')))).flat(),
  ]
  const json = { unlockPassphrase: 'of the owner', adminPassphrase: ADMIN, systemTime: '2030-01-02T03:04:05Z' }
  assert.equal(await rig.status('POST', '/provision', { json }), 204)
  const statuses = new Set((await outcome(held)).values())
  assert.deepEqual(
    [...statuses].filter((status) => status !== 503),
    [412],
  )
  for (const { release } of held) release()
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  assert.equal(await rig.status('POST', '/unlock', { json: { passphrase: UNLOCK } }), 403)
  rig.nowMs += 1000
  assert.equal(await rig.status('POST', '/unlock', { json: { passphrase: 'of the owner' } }), 204)
})

test("restores that are held keep nobody's own restore waiting", async (t) => {
  const [, backup] = await furnished(t)
  const rig = await openRig(t)
  const uploads = withBody('Unprovisioned').filter(({ path }) => path === '/system/restore')
  const held = Array.from({ length: 20 }, () => hold(rig, uploads[0]!, backup))
  await Promise.all(held.map(({ opened }) => opened))
  assert.equal((await restore(rig, { backupPassphrase: BACKUP }, backup, { as: undefined })).status, 204)
  assert.equal(rig.appliance.state, 'Locked')
  for (const { release } of held) release()
  for (const { answer } of held) assert.ok([412, 503].includes((await answer).status))
})

test('an unlock that was held over another one and a lock opens nothing', async (t) => {
  const [rig, backup] = await furnished(t)
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  const held = await holdAll(rig, backup, 'Locked')
  await unlock(rig)
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  for (const { release } of held) release()
  assert.deepEqual(await outcome(held), all(held, 412))
  assert.equal(rig.appliance.state, 'Locked')
})

/** When nothing more is answered for so long, all the others wait at the gate. */
const CALM_CHECKS = 5
const CALM_CHECK_MS = 100

/** Operations wait until `open` is called; operations after `let` do not wait. */
function gate(pool: CryptoPool): { let: () => void; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const names = ['sign', 'decrypt', 'encrypt', 'generate', 'importRsa', 'importRaw', 'scrypt'] as const
  const originals = Object.fromEntries(names.map((name) => [name, pool[name]]))
  for (const name of names) {
    const original = pool[name] as (...parameters: unknown[]) => Promise<unknown>
    const copy = (value: unknown) => (value instanceof Uint8Array ? value.slice() : value)
    const waiting = (...parameters: unknown[]) => {
      const copies = parameters.map(copy)
      return promise.then(() => original(...copies))
    }
    Object.assign(pool, { [name]: waiting })
  }
  return { let: () => Object.assign(pool, originals), open: resolve }
}

for (const name of [
  'a lock',
  'the deletion of the caller',
  'another role of the caller, who is deleted and made anew with the same passphrase',
  'another passphrase of the caller',
]) {
  test(`nothing that took its time is done or given out after ${name}`, async (t) => {
    const [rig, backup] = await furnished(t)
    const { let: letOthers, open } = gate(rig.pool)
    const held = await holdAll(rig, backup, 'Operational')
    for (const { release } of held) release()
    const inTime = new Set<Held>()
    for (const one of held) void one.answer.then(() => inTime.add(one))
    let early = new Set<Held>()
    for (let calm = 0; calm < CALM_CHECKS; calm = inTime.size === early.size ? calm + 1 : 0) {
      early = new Set(inTime)
      await sleep(CALM_CHECK_MS)
    }
    letOthers()
    const [happen, status] = EVENTS[name]!
    await happen(rig, backup)
    const before = contents(rig)
    open()
    const late = held.filter((one) => !early.has(one))
    assert.ok(late.length >= 13, `${late.map((one) => one.name)}`)
    const statuses = await outcome(late)
    const unexpected = rig.entries.filter(({ message }) => message.includes('unexpected'))
    assert.deepEqual([statuses, unexpected], [all(late, status), []])
    assert.equal(contents(rig), before)
  })
}

const CHANGES: [line: string, json?: unknown][] = [
  ['POST /keys/moved/move', { newId: 'elsewhere' }],
  ['PUT /keys/key/label', { label: 'new' }],
  ['DELETE /keys/aes'],
  ['DELETE /users/victim'],
  ['PUT /users/op/tags/paris'],
  ['PUT /namespaces/later'],
]

for (const [line, json] of CHANGES)
  test(`${line} that a lock comes upon is either made or refused`, async (t) => {
    const [rig] = await furnished(t)
    let status = 412
    // A turn later each time, until it waits to be stored: then the lock stores it
    for (let turns = 0; status === 412; turns++) {
      const before = contents(rig)
      assert.equal(await rig.status('GET', '/account', { as: 'boss' }), 200) // remembered from now on
      const asked = rig.status(...splitLine(line), { as: 'boss', json })
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
      for (let step = 0; step < 1000; step++) await null // all that is done in this turn
      await rig.appliance.lock()
      status = await asked
      assert.equal(contents(rig) !== before, status < 300, `${status}, locked after ${turns} turns`)
      await unlock(rig)
    }
    assert.ok(status < 300)
  })

test('a turn in a queue is that of the request that waits for it, not of the one that leaves it', async (t) => {
  const [rig] = await furnished(t)
  const { let: letOthers, open } = gate(rig.pool)
  const json = { passphrase: NEW }
  const gone = rig.call('PUT', '/config/backup-passphrase', { as: 'boss', json })
  await sleep(20)
  const stays = rig.call('PUT', '/config/backup-passphrase', { as: 'admin', json })
  await sleep(20)
  letOthers()
  await remove(rig, 'boss')
  open()
  assert.equal((await gone).status, 401)
  assert.equal((await stays).status, 204)
})

test('an answer that is sent as it is made ends with the request that asked for it', async (t) => {
  const [rig] = await furnished(t)
  const whole = await takeBackup(rig)
  assert.ok(whole.length > 0)
  const taking = rig.call('POST', '/system/backup', { as: 'backup' })
  await remove(rig, 'backup')
  const { status, bytes } = await taking
  assert.ok(status === 401 || bytes.length < whole.length)
})

test('a namespaced Administrator does not learn which users exist elsewhere', async (t) => {
  const rig = await operationalRig(t)
  await rig.user('team~boss', 'Administrator')
  await rig.call('PUT', '/namespaces/team', { as: 'admin' })
  const ask = (id: string, headers: Record<string, string>) =>
    rig.status('PUT', `/users/${id}`, { as: 'team~boss', json: newUser, headers })
  for (const headers of [{ 'if-none-match': '*' }, { 'if-match': '*' }, { 'if-match': '"x"' }, {}] as Record<
    string,
    string
  >[])
    for (const id of ['admin', 'nobody', 'other~x'])
      assert.equal(await ask(id, headers), 403, `${id} ${JSON.stringify(headers)}`)
  assert.equal(await ask('team~boss', { 'if-none-match': '*' }), 412)
  assert.equal(await ask('team~new', { 'if-none-match': '*' }), 201)
})
