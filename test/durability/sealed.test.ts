// @test long 30
/** Nothing that was entrusted to the appliance can be found on its disk, neither while it is open nor when locked. */

import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { ADMIN, ADMIN_PASSPHRASE, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { createSearch, type Needle, pieces } from './traces.ts'

const KEYS = 200
const USERS = 50
const RSA_KEYS = 4
const CERTIFICATES = 20

let program: string
before(async () => {
  program = await buildForTests()
})

const text = (what: string, value: string): Needle => ({ what, bytes: Buffer.from(value) })
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

test('the search finds every form of what it looks for', (t) => {
  const secret = randomBytes(40)
  const search = createSearch(pieces('secret', secret))
  const directory = makeDataDirectory(t)
  mkdirSync(join(directory, 'below'))
  for (const prefix of [0, 1, 2, 3, 4, 5]) {
    const padded = Buffer.concat([randomBytes(prefix), secret, randomBytes(7)])
    for (const form of [
      padded,
      padded.toString('hex'),
      padded.toString('hex').toUpperCase(),
      padded.toString('base64'),
    ]) {
      writeFileSync(join(directory, 'below', 'file'), form)
      assert.equal(search.searchDirectory(directory).length, 2, `${prefix} ${form}`)
    }
  }
  writeFileSync(join(directory, 'below', 'file'), randomBytes(1_000_000))
  assert.deepEqual(search.searchDirectory(directory), [])
})

test(`after ${KEYS} keys and ${USERS} users nothing of them is on the disk`, { timeout: 300_000 }, async (t) => {
  const data = makeDataDirectory(t)
  const coffer = startCoffer(t, { program, data, settings: { COFFER_LOG: 'warning' } })
  await provision(coffer)
  const needles = [
    text('unlock passphrase', UNLOCK_PASSPHRASE),
    text('admin passphrase', ADMIN_PASSPHRASE),
    text('a role', 'Administrator'),
    text('a key type', 'Curve25519'),
    text('a mechanism', 'ECDSA_Signature'),
    ...(await addUsers(coffer)),
    ...(await addKeys(coffer)),
  ]
  const search = createSearch(needles)
  const store = join(data, 'store')
  assert.ok(
    readdirSync(store).some((file) => file.endsWith('-wal')),
    'the write-ahead log is there to be searched',
  )

  assert.deepEqual(search.searchDirectory(data), [], 'while Operational')
  await expect(204, coffer.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
  assert.deepEqual(search.searchDirectory(data), [], 'with unattended boot')
  await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
  assert.deepEqual(search.searchDirectory(data), [], 'while Locked')
  assert.equal(await coffer.stop(), 0)
  assert.deepEqual(search.searchDirectory(data), [], 'after the end')
})

async function addUsers(coffer: Coffer): Promise<Needle[]> {
  const needles: Needle[] = []
  for (let i = 0; i < USERS; i++) {
    const namespace = i % 10 === 9 ? `namespace-${i}-${randomBytes(4).toString('hex')}` : ''
    const id = `user-${i}-${randomBytes(4).toString('hex')}`
    const userId = namespace ? `${namespace}~${id}` : id
    const realName = `Real Name ${randomBytes(4).toString('hex')}`
    const passphrase = `passphrase ${randomBytes(4).toString('hex')}`
    const tag = `user-tag-${randomBytes(4).toString('hex')}`
    const json = { realName, role: 'Operator', passphrase }
    await expect(201, coffer.call('PUT', `/users/${userId}`, { as: ADMIN, json }))
    await expect(204, coffer.call('PUT', `/users/${userId}/tags/${tag}`, { as: ADMIN }))
    if (namespace) {
      await expect(204, coffer.call('PUT', `/namespaces/${namespace}`, { as: ADMIN }))
      needles.push(text('namespace', namespace))
    }
    needles.push(text('user id', id), text('real name', realName), text('passphrase', passphrase), text('tag', tag))
  }
  return needles
}

async function addKeys(coffer: Coffer): Promise<Needle[]> {
  const needles: Needle[] = []
  for (let i = 0; i < KEYS; i++) {
    const id = `key-${i}-${randomBytes(4).toString('hex')}`
    const label = `label ${randomBytes(6).toString('hex')}`
    const tag = `key-tag-${randomBytes(4).toString('hex')}`
    const { type, mechanism, secret, parts } = i < RSA_KEYS ? rsaKey() : otherKey(i)
    const json = { type, mechanisms: [mechanism], private: secret, label, restrictions: { tags: [tag] } }
    await expect(204, coffer.call('PUT', `/keys/${id}`, { as: ADMIN, json }))
    needles.push(text('key id', id), text('label', label), text('tag', tag), ...parts.flatMap((p) => pieces('key', p)))
    if (i % (KEYS / CERTIFICATES) !== 0) continue
    const certificate = randomBytes(700)
    const call = { as: ADMIN, body: certificate, type: 'application/octet-stream' }
    await expect(201, coffer.call('PUT', `/keys/${id}/cert`, call))
    needles.push(...pieces('certificate', certificate))
  }
  return needles
}

interface ImportedKey {
  type: string
  mechanism: string
  secret: Record<string, string>
  parts: Uint8Array[]
}

function rsaKey(): ImportedKey {
  const jwk = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })
  const [p, q, d, n] = [jwk.p!, jwk.q!, jwk.d!, jwk.n!].map((part) => Buffer.from(part, 'base64url'))
  return {
    type: 'RSA',
    mechanism: 'RSA_Signature_PKCS1',
    secret: { primeP: base64(p!), primeQ: base64(q!), publicExponent: 'AQAB' },
    parts: [p!, q!, d!, n!],
  }
}

function otherKey(i: number): ImportedKey {
  const [type, mechanism, bytes] = (
    [
      ['EC_P256', 'ECDSA_Signature', 32],
      ['Curve25519', 'EdDSA_Signature', 32],
      ['Generic', 'AES_Encryption_CBC', 32],
      ['EC_P384', 'ECDSA_Signature', 48],
    ] as const
  )[i % 4]!
  const secret = randomBytes(bytes)
  secret[0]! &= 0x7f // below the order of either curve
  return { type, mechanism, secret: { data: base64(secret) }, parts: [secret] }
}
