/** Tokens that sign people in: those of other programs are taken, and nothing that is not quite one. RFC 7515, 7519, 8725. */

import assert from 'node:assert/strict'
import { createHmac, type createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JwtAlgorithm } from '../../../../../firmware/chat/link/link.ts'
import { checkJwtKey, readToken } from '../../../../../firmware/chat/realm/organization/operator/jwt.ts'
// Made by PyJWT 2.15.1 for hamlet@example.com, good until 2100.
import made from './jwt-test-keys.json' with { type: 'json' }

const NOW_S = 1_800_000_000
const SECRET = Buffer.from('a secret of thirty-two bytes, or more')
const GOOD = { email: 'hamlet@example.com', exp: NOW_S + 60 }

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const signed = (header: object, claims: unknown, key: Uint8Array = SECRET) => {
  const text = `${encode(header)}.${encode(claims)}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}
const read = (token: string, more: Partial<Parameters<typeof readToken>[1]> = {}) =>
  readToken(token, { algorithm: 'HS256', key: SECRET, nowS: NOW_S, audience: '', ...more })
const HEADER = { alg: 'HS256', typ: 'JWT' }

for (const { algorithm, key, token } of made as { algorithm: JwtAlgorithm; key: string; token: string }[])
  test(`${algorithm} of PyJWT is taken under its key and algorithm, and no bit of it may be another`, () => {
    const verification = { algorithm, key: Buffer.from(key) }
    checkJwtKey(algorithm, verification.key)
    assert.equal(read(token, verification)?.email, 'hamlet@example.com')
    for (const other of made) if (other.algorithm !== algorithm) assert.equal(read(other.token, verification), null)
    for (let at = 0; at < token.length; at++) {
      const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
      assert.equal(read(changed, verification), null, `character ${at}`)
    }
    for (const text of [
      `${token}=`,
      ` ${token}`,
      `${token}.`,
      `${token}\n`,
      token.slice(0, -1),
      token.split('.').slice(0, 2).join('.'),
    ])
      assert.equal(read(text, verification), null)
  })

test('the example of RFC 7515, A.1 is right, but of the past', () => {
  const key = Buffer.from(
    'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow',
    'base64url',
  )
  const token =
    'eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  assert.equal(read(token, { key, nowS: 1_300_819_379 })?.iss, 'joe')
  assert.equal(read(token, { key, nowS: 1_300_819_380 }), null)
})

test('the algorithm is the one that was set, whatever a token says', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = Buffer.from(publicKey.export({ type: 'spki', format: 'pem' }))
  // The public key as a secret: the classic mistake.
  for (const algorithm of ['HS256', 'RS256', 'ES256'] as const) {
    if (algorithm !== 'HS256') assert.equal(read(signed(HEADER, GOOD, pem), { algorithm, key: pem }), null)
    for (const alg of ['none', 'None', 'HS384', 'hs256', '', null, undefined, ['HS256']])
      assert.equal(read(signed({ alg }, GOOD, pem), { algorithm, key: pem }), null)
  }
  const unsigned = `${encode({ alg: 'none' })}.${encode(GOOD)}.`
  assert.equal(read(unsigned), null)
  const text = `${encode({ alg: 'RS256' })}.${encode(GOOD)}`
  const token = `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`
  assert.ok(read(token, { algorithm: 'RS256', key: pem }))
  assert.equal(read(token, { algorithm: 'HS256', key: pem }), null)
})

test('it is good in its time, for whom it is meant, and without what must be understood and is not', () => {
  assert.ok(read(signed(HEADER, GOOD)))
  const { email } = GOOD
  for (const claims of [
    ...[{ email }, { email, exp: NOW_S }, { email, exp: String(NOW_S + 60) }, { email, exp: null }],
    ...[
      { ...GOOD, nbf: NOW_S + 1 },
      { ...GOOD, nbf: 'now' },
      { ...GOOD, aud: 'other' },
      { ...GOOD, aud: '' },
      { ...GOOD, aud: [] },
    ],
    ...[[GOOD], null, 7, 'text'],
  ])
    assert.equal(read(signed(HEADER, claims)), null, JSON.stringify(claims))
  assert.ok(read(signed(HEADER, { ...GOOD, nbf: NOW_S })))
  const audience = 'https://chat.example.org'
  for (const aud of [audience, ['other', audience]]) assert.ok(read(signed(HEADER, { ...GOOD, aud }), { audience }))
  assert.equal(read(signed(HEADER, { ...GOOD, aud: 'other' }), { audience }), null)
  assert.equal(read(signed({ ...HEADER, crit: ['b64'], b64: false }, GOOD)), null)
  assert.equal(read(signed(HEADER, { ...GOOD, more: 'x'.repeat(8192) })), null)
})

test('a signature of ES256 has one form, r and s', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = Buffer.from(publicKey.export({ type: 'spki', format: 'pem' }))
  const text = `${encode({ alg: 'ES256' })}.${encode(GOOD)}`
  const of = (dsaEncoding: 'der' | 'ieee-p1363') =>
    `${text}.${sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding }).toString('base64url')}`
  assert.ok(read(of('ieee-p1363'), { algorithm: 'ES256', key }))
  assert.equal(read(of('der'), { algorithm: 'ES256', key }), null)
  assert.equal(read(`${text}.${Buffer.alloc(64).toString('base64url')}`, { algorithm: 'ES256', key }), null)
})

test('a key of another kind, too small, or private, is not set', () => {
  const pem = (key: ReturnType<typeof createPublicKey>) => key.export({ type: 'spki', format: 'pem' }) as string
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const small = pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey)
  const other = pem(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey)
  const own = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  for (const [algorithm, key] of [
    ...[['HS256', 'x'.repeat(31)] as const, ['HS256', pem(rsa.publicKey)] as const],
    ...(['RS256', 'ES256'] as const).flatMap((one) =>
      [small, other, own, '', 'x'.repeat(64)].map((key) => [one, key] as const),
    ),
    ['ES256', pem(rsa.publicKey)] as const,
  ])
    assert.throws(() => checkJwtKey(algorithm, Buffer.from(key)), { code: 'invalid' }, `${algorithm} ${key}`)
  checkJwtKey('RS256', Buffer.from(`\n${pem(rsa.publicKey)}`))
})

test('no text at all makes the reader throw, or is taken', () => {
  const keys = made.map(({ algorithm, key }) => ({ algorithm: algorithm as JwtAlgorithm, key: Buffer.from(key) }))
  const part = fc.oneof(
    fc.base64String(),
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
    fc.string(),
  )
  const token = fc.oneof(
    fc.string(),
    fc.tuple(part, part, part).map((parts) => parts.join('.')),
  )
  fc.assert(fc.property(token, (text) => keys.every((key) => read(text, key) === null)))
})
