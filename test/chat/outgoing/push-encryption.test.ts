/** Bodies and tokens of notifications, opened and checked by programs that nobody here wrote: http_ece and PyJWT. RFC 8291, RFC 8292. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { encryptPush, isPoint, TEXT_BYTES_MAX } from '../../../firmware/chat/outgoing/push-encryption.ts'
import { createPushTokens } from '../../../firmware/chat/outgoing/push-tokens.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { needsPython, PYTHON } from '../../support/tools.ts'
import { newBrowser } from '../support/push.ts'
import { chatSuite } from '../support/suite.ts'

const { rig } = await chatSuite()

const OPEN = `
import base64, json, sys, http_ece
from cryptography.hazmat.primitives.asymmetric import ec
given = json.load(sys.stdin)
raw = lambda text: base64.urlsafe_b64decode(text + '==')
key = ec.derive_private_key(int.from_bytes(raw(given['key']), 'big'), ec.SECP256R1())
print(json.dumps([
  http_ece.decrypt(raw(body), private_key=key, auth_secret=raw(given['auth']), version='aes128gcm').decode()
  for body in given['bodies']]))
`

const CHECK = `
import base64, json, sys, jwt
from cryptography.hazmat.primitives.asymmetric import ec
given = json.load(sys.stdin)
t, k = [part.split('=', 1)[1] for part in given['authorization'].removeprefix('vapid ').split(', ')]
key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), base64.urlsafe_b64decode(k + '=='))
claims = jwt.decode(t, key, algorithms=['ES256'], audience=given['audience'], options={'verify_exp': False})
print(json.dumps([claims, jwt.get_unverified_header(t)]))
`

const python = (program: string, given: object) =>
  JSON.parse(execFileSync(PYTHON, ['-c', program], { input: JSON.stringify(given), encoding: 'utf8' }))

test('http_ece opens what is encrypted, and all bodies have one length', needsPython(), () => {
  const browser = newBrowser('/a')
  const texts = ['', '{}', 'ä€😀', 'x\u0002', 'x'.repeat(TEXT_BYTES_MAX)]
  const bodies = texts.map((text) => encryptPush(new TextEncoder().encode(text), browser.subscription, systemRandom))
  assert.deepEqual(new Set(bodies.map(({ length }) => length)), new Set([2150]))
  const given = {
    key: browser.privateKey.toString('base64url'),
    auth: browser.auth.toString('base64url'),
    bodies: bodies.map((body) => Buffer.from(body).toString('base64url')),
  }
  assert.deepEqual(python(OPEN, given), texts)
  const again = encryptPush(new TextEncoder().encode('{}'), browser.subscription, systemRandom)
  assert.notDeepEqual(Buffer.from(again).subarray(0, 86), Buffer.from(bodies[1]!).subarray(0, 86))
})

test('PyJWT takes the token of one push service; it lasts 12 hours and is made anew before', needsPython(), () => {
  const tokens = createPushTokens(rig.chat.realm)
  const endpoint = 'https://push.example.org:8443/secret/endpoint'
  const made = (at = endpoint, contact = 'mailto:operator@example.org') => tokens.authorization(at, contact)
  const authorization = made()
  const audience = 'https://push.example.org:8443'
  const [claims, header] = python(CHECK, { authorization, audience })
  const now = Math.floor(rig.now() / 1000)
  assert.deepEqual(claims, { aud: audience, exp: now + 43_200, sub: 'mailto:operator@example.org' })
  assert.deepEqual(header, { typ: 'JWT', alg: 'ES256' })
  assert.ok(authorization.endsWith(`, k=${tokens.publicKey()}`))

  assert.equal(made(`${endpoint}/another`), authorization)
  rig.advance(10 * 3600)
  assert.equal(made(), authorization)
  rig.advance(2 * 3600)
  const [later] = python(CHECK, { authorization: made(), audience })
  assert.equal(later.exp, now + 43_200 + 12 * 3600)
  rig.advance(-30 * 3600) // the operator has set the clock
  const [earlier] = python(CHECK, { authorization: made(), audience })
  assert.equal(earlier.exp, now + 43_200 - 18 * 3600)
  const other = python(CHECK, {
    authorization: made('https://other.example.org/a', 'https://example.org/contact'),
    audience: 'https://other.example.org',
  })
  assert.equal(other[0].sub, 'https://example.org/contact')
})

test('the key of the organization is sealed, and stays the same after a start', () => {
  const key = createPushTokens(rig.chat.realm).publicKey()
  assert.equal(Buffer.from(key, 'base64url').length, 65)
  assert.ok(isPoint(key))
  rig.reopen()
  assert.equal(createPushTokens(rig.chat.realm).publicKey(), key)
  const [organization] = [...rig.chat.realm.state.organization.all()]
  assert.ok(Buffer.from(organization!.sealedPushKey!, 'base64').length > 32 + 16)
})

test('only a point of the curve is the key of a browser', () => {
  const { p256dh } = newBrowser('/a').subscription
  assert.ok(isPoint(p256dh))
  const point = Buffer.from(p256dh, 'base64url')
  const off = Buffer.from(point)
  off[64]! ^= 1
  for (const bad of [off, point.subarray(0, 64), Buffer.alloc(65), Buffer.concat([point, Buffer.alloc(1)])])
    assert.equal(isPoint(bad.toString('base64url')), false)
  assert.equal(isPoint(''), false)
})
