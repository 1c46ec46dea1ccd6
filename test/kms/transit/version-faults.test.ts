// @test short 15
/** Versions of keys on the transit API: audit lines of odd bodies, decodes of large keys, late changes of other nodes, wiped input. */

import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { auditEvent } from '../../../firmware/kms/api/audit-event.ts'
import type { Caller } from '../../../firmware/kms/domain/roles.ts'
import { expect } from '../../support/appliance.ts'
import type { Rig } from '../../support/in-process.ts'
import { ask, openTransit, say } from './rig.ts'

const ADMINISTRATOR: Caller = { userId: 'admin', namespace: '', role: 'Administrator' }
const INPUT = Buffer.from('an input that is as long as it takes').toString('base64')

let rig: Rig
let admin: string
let web: string

before(async () => {
  ;({ rig, admin, web } = await openTransit())
})
after(() => rig.close())

const ok = (token: string, path: string, body?: object, method?: string) => ask(rig, token, path, body, method)

async function make(name: string, type: string, versions: number): Promise<void> {
  await ok(admin, `keys/${name}`, { type })
  for (let version = 2; version <= versions; version++) await ok(admin, `keys/${name}/rotate`)
}

const newestLine = async () => (await expect(200, rig.call('GET', '/audit?limit=1', { as: 'admin' }))).json().lines[0]

test('a change has its audit line whatever members it has that nobody reads', async () => {
  await make('odd', 'ed25519', 3)
  for (const odd of [{ toString: 1 }, { toString: 1, valueOf: 1 }, [{ toString: 1 }]]) {
    await ok(admin, 'keys/odd/config', {
      min_decryption_version: 2,
      min_encryption_version: 2,
      min_available_version: odd,
    })
    const { action, facts } = await newestLine()
    assert.equal(action, 'POST /v1/transit/keys/{name}/config')
    assert.deepEqual(facts, { min_decryption_version: '2', min_encryption_version: '2' })
  }
  await ok(admin, 'keys/odd/trim', { min_available_version: 2, min_decryption_version: { toString: 1 } })
  const { action, key, kind, facts } = await newestLine()
  assert.deepEqual(
    [action, key, kind, facts],
    ['POST /v1/transit/keys/{name}/trim', 'odd', 'change', { min_available_version: '2' }],
  )
})

test('facts that cannot be made are left out, and the line stays', () => {
  const facts = (): never => {
    throw new TypeError('Cannot convert object to primitive value')
  }
  const endpoint = { method: 'PUT', path: '/keys/:id', facts }
  const attempt = { endpoint, caller: ADMINISTRATOR, address: '192.0.2.1', params: { id: 'a' }, request: {} }
  const event = auditEvent(attempt as unknown as Parameters<typeof auditEvent>[0], 204, 'now')
  assert.deepEqual([event.action, event.key, event.result, event.facts], ['PUT /keys/{id}', 'a', 204, undefined])
})

/** Number of times that the record of a key with versions is parsed while `act` runs. */
async function decodes(t: TestContext, act: () => Promise<unknown>): Promise<number> {
  const parse = t.mock.method(JSON, 'parse')
  await act()
  const count = parse.mock.calls.filter(({ arguments: [text] }) => String(text).includes('"v":{"k":[')).length
  parse.mock.restore()
  return count
}

test('a request decodes the public keys of a key once, however many versions or items it has', async (t) => {
  await make('large', 'mldsa-44', 12)
  await make('rsa', 'rsa-2048', 2)
  const read = (path: string) => async () =>
    void (await expect(200, rig.call('GET', path.replace('v1', '//v1'), { headers: { 'x-vault-token': admin } })))
  const versions = async () => void (await expect(200, rig.call('GET', '/keys/large/versions', { as: 'admin' })))
  assert.equal(await decodes(t, versions), 1, 'GET versions')
  assert.equal(await decodes(t, read('v1/transit/keys/large')), 1, 'the key')
  assert.equal(await decodes(t, read('v1/transit/export/public-key/large')), 1, 'export')
  const signed = await ok(web, 'sign/large', {
    batch_input: Array.from({ length: 150 }, (_, n) => ({ input: INPUT, key_version: 1 + (n % 12) })),
  })
  const batch_input = signed.batch_results.map(({ signature }: { signature: string }) => ({ input: INPUT, signature }))
  const verify = async () => {
    const { batch_results } = await ok(web, 'verify/large', { batch_input })
    assert.ok(batch_results.every(({ valid }: { valid: boolean }) => valid))
  }
  assert.equal(await decodes(t, verify), 1, 'verify')
  const plaintexts = Array.from({ length: 100 }, (_, n) => ({ plaintext: INPUT, key_version: 1 + (n % 2) }))
  const encrypt = () => ok(web, 'encrypt/rsa', { batch_input: plaintexts })
  assert.equal(await decodes(t, encrypt), 1, 'encrypt')
})

/** As a node of a cluster to which a change of another node comes with the barrier. */
async function lagging<T>(arrives: () => Promise<unknown>, act: () => Promise<T>): Promise<T> {
  let left = 1
  const barrier = async (): Promise<boolean> => {
    if (left-- === 1) await arrives()
    return true
  }
  Object.defineProperty(rig.appliance, 'replica', { configurable: true, value: { barrier, n: 1 } })
  try {
    return await act()
  } finally {
    Reflect.deleteProperty(rig.appliance, 'replica')
    assert.ok(left <= 0, 'the barrier was awaited')
  }
}

test('a version of another node that has not arrived is awaited before it is refused', async () => {
  await make('late', 'aes256-gcm96', 1)
  await make('signer', 'ed25519', 1)
  const { keys } = rig.appliance.open()
  const rotated = (name: string) => () => keys.rotate(ADMINISTRATOR, name)
  const encrypted = (body: object) => ok(web, 'encrypt/late', body)
  const { key_version } = await lagging(rotated('late'), () => encrypted({ plaintext: INPUT, key_version: 2 }))
  assert.equal(key_version, 2)
  const { batch_results } = await lagging(rotated('late'), () =>
    encrypted({ batch_input: [{ plaintext: INPUT }, { plaintext: INPUT, key_version: '3' }] }),
  )
  assert.deepEqual(
    batch_results.map((result: { key_version: number }) => result.key_version),
    [3, 3],
  )
  const signed = `vault:v2:${Buffer.alloc(64).toString('base64')}`
  const valid = await lagging(rotated('signer'), () => ok(web, 'verify/signer', { input: INPUT, signature: signed }))
  assert.deepEqual(valid, { valid: false })
  const { ciphertext } = await encrypted({ plaintext: INPUT, key_version: 1 })
  await keys.changeVersions(ADMINISTRATOR, 'late', { minDecryption: 2 })
  const allowed = () => keys.changeVersions(ADMINISTRATOR, 'late', { minDecryption: 1 })
  assert.deepEqual(await lagging(allowed, () => ok(web, 'decrypt/late', { ciphertext })), { plaintext: INPUT })
  const none = await lagging(
    async () => {},
    () => say(rig, 'POST', 'transit/encrypt/late', { token: web, body: { plaintext: INPUT, key_version: 9 } }),
  )
  assert.equal(none.status, 400)
})

const isWiped = ({ buffer, byteOffset, byteLength }: Buffer): boolean =>
  (buffer as ArrayBuffer).detached || new Uint8Array(buffer, byteOffset, byteLength).every((byte) => byte === 0)

interface BufferMethods {
  write(...args: unknown[]): number
  toString(...args: unknown[]): string
}

test('input is wiped in requests that are refused before the key is used', async (t) => {
  await make('wiped', 'aes256-gcm96', 1)
  const written = t.mock.method(Buffer.prototype as unknown as BufferMethods, 'write')
  const shown = t.mock.method(Buffer.prototype as unknown as BufferMethods, 'toString')
  for (const [path, member] of [
    ['encrypt/wiped', 'plaintext'],
    ['hmac/wiped', 'input'],
  ] as const) {
    const body = { [member]: INPUT, key_version: 9 }
    assert.equal((await say(rig, 'POST', `transit/${path}`, { token: web, body })).status, 400)
  }
  const body = { bits: 512, key_version: 9 }
  assert.equal((await say(rig, 'POST', 'transit/datakey/plaintext/wiped', { token: web, body })).status, 400)
  const decoded = written.mock.calls.filter(({ arguments: [text] }) => text === INPUT)
  const made = shown.mock.calls.filter(
    ({ arguments: [encoding], this: bytes }) => encoding === 'base64' && (bytes as Buffer).length === 64,
  )
  t.mock.restoreAll()
  const kept = [...decoded, ...made].map(({ this: bytes }) => bytes as Buffer)
  assert.deepEqual(kept.map(isWiped), [true, true, true])
})
