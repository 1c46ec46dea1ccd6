// @test long 30 slow
/** Bodies, texts with a version and tokens of the transit API: whatever comes is answered below 500, in the form of errors. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TRANSIT_DECLARATIONS } from '../../firmware/kms/transit/dialect.ts'
import { openTransit, say } from '../kms/transit/rig.ts'
import type { Rig } from '../support/in-process.ts'
import { damaged, forAWhile, seconds } from './support.ts'

const MEMBERS = [
  'plaintext',
  'ciphertext',
  'associated_data',
  'context',
  'key_version',
  'batch_input',
  'partial_failure_response_code',
  'bits',
  'input',
  'hash_algorithm',
  'algorithm',
  'prehashed',
  'signature_algorithm',
  'salt_length',
  'marshaling_algorithm',
  'signature',
  'hmac',
  'format',
  'bytes',
  'type',
  'key_size',
  'derived',
  'exportable',
  'auto_rotate_period',
  'deletion_allowed',
  'min_decryption_version',
  'min_encryption_version',
  'min_available_version',
  'token',
  'ttl',
  'display_name',
  'path',
  'paths',
  'reference',
  '__proto__',
  'toString',
]
const WORDS = [
  'aGVsbG8=',
  'aGVsbG8',
  'vault:v1:aGVsbG8=',
  'vault:v2:aGVsbG8=',
  'vault:v0:',
  'vault:v99999999999:AA==',
  'vault:v1:AA==:AA==',
  'vault:v-1:AA==',
  'vault:v1',
  'sha2-256',
  'sha3-512',
  'none',
  'pss',
  'pkcs1v15',
  'jws',
  'auto',
  'hex',
  'aes256-gcm96',
  'hmac',
  '1h30m',
  '0',
  '-1',
  'true',
  '\0',
  '\ud800',
  '',
  'x'.repeat(5000),
]
/** Bodies that were right or nearly right, from which the damaged ones are made. */
const CORPUS = [
  '{"plaintext":"aGVsbG8="}',
  '{"plaintext":"aGVsbG8=","associated_data":"QUFE","key_version":"1"}',
  '{"batch_input":[{"plaintext":"aGVsbG8="},{"plaintext":"?"},{"plaintext":null}]}',
  '{"input":"aGVsbG8=","prehashed":true,"hash_algorithm":"sha2-512","marshaling_algorithm":"jws"}',
  '{"input":"aGVsbG8=","signature":"vault:v1:MEUCIQD"}',
  '{"input":"aGVsbG8=","hmac":"vault:v1:AAAA"}',
  '{"bits":512}',
  '{"type":"hmac","key_size":"32"}',
  '{"deletion_allowed":1,"min_decryption_version":1e0}',
  '{"ttl":"1h","display_name":"ci"}',
  '{"a":1,"a":{"a":[[[[]]]]}}',
  'null',
  '',
  '[]',
  '\ufeff{}',
]

const leaf = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.constantFrom(0, 1, -1, 2, 256, 1e300, 0.5, null, true, false),
  fc.base64String({ maxLength: 400 }).map((text) => `vault:v1:${text}`),
  fc.base64String({ maxLength: 64 }),
)
const { value } = fc.letrec<{ value: unknown; object: object; array: unknown[] }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, leaf, tie('object'), tie('array')),
  array: fc.array(tie('value'), { maxLength: 5 }),
  object: fc
    .array(fc.tuple(fc.constantFrom(...MEMBERS), tie('value')), { maxLength: 6 })
    .map((members) => Object.fromEntries(members)),
}))
const members = fc
  .array(fc.tuple(fc.constantFrom(...MEMBERS), value), { maxLength: 6 })
  .map((pairs) => Object.fromEntries(pairs))
const body = damaged(
  fc
    .oneof(
      { weight: 10, arbitrary: fc.constantFrom(...CORPUS) },
      { weight: 10, arbitrary: members.map((object) => JSON.stringify(object)) },
      { weight: 1, arbitrary: fc.nat(100_000).map((depth) => '['.repeat(depth)) },
    )
    .map((text) => Buffer.from(text)),
)

const KEYS = ['app', 'signer', 'rsa', 'ed', 'mac', 'missing']
/** Logins would be limited after the first one; a revoked token would end the run. */
const LEFT_OUT = /\/login|revoke|create/
const endpoints = TRANSIT_DECLARATIONS.filter(({ body, path }) => body !== undefined && !LEFT_OUT.test(path))

async function fuzzedRig(): Promise<{ rig: Rig; tokens: string[] }> {
  const { rig, admin, web } = await openTransit()
  for (const [name, type] of Object.entries({ app: 'aes256-gcm96', signer: 'ecdsa-p256', ed: 'ed25519' }))
    assert.equal((await say(rig, 'POST', `transit/keys/${name}`, { token: admin, body: { type } })).status, 200)
  await say(rig, 'POST', 'transit/keys/mac', { token: admin, body: { type: 'hmac', key_size: 32 } })
  await say(rig, 'POST', 'transit/keys/rsa', { token: admin, body: { type: 'rsa-2048' } })
  return { rig, tokens: [admin, web] }
}

function expectForm({ status, body }: { status: number; body: unknown }, asked: string): void {
  if (body !== null && typeof body === 'object' && 'data' in body) return // a client chooses the status of a partial failure
  assert.ok(status < 500, `${asked}: ${status} ${JSON.stringify(body)}`)
  if (status === 204) return
  const { errors } = body as { errors: unknown[] }
  assert.ok(Array.isArray(errors) && errors.every((text) => typeof text === 'string'), asked)
}

test(`whatever comes as a body is answered below 500, for ${seconds} s`, async (t) => {
  const { rig, tokens } = await fuzzedRig()
  t.after(() => rig.close())
  const asked = fc.tuple(fc.constantFrom(...endpoints), fc.constantFrom(...KEYS), body)
  const runs = await forAWhile(asked, async ([{ method, path, access }, key, bytes]) => {
    const target = path
      .replace('/v1/', '')
      .replace(':kind', 'plaintext')
      .replace(':name', key)
      .replace(/:\w+/g, 'sha2-256')
    if (method === 'POST' && /keys\/:name$/.test(path)) return // makes keys, RSA among them
    const isForOperators = access !== 'public' && access.roles.includes('Operator')
    const { status, bytes: answered } = await rig.call(method, `//v1/${target}`, {
      headers: { 'x-vault-token': tokens[isForOperators ? 1 : 0]! },
      body: bytes,
    })
    expectForm({ status, body: answered.length === 0 ? null : JSON.parse(String(answered)) }, `${method} ${target}`)
  })
  assert.ok(runs > 50, String(runs))
  assert.deepEqual(
    rig.entries.filter(({ level }) => level === 'error'),
    [],
  )
})

test(`no damaged token is one, for ${seconds} s`, async (t) => {
  const { rig, tokens } = await fuzzedRig()
  t.after(() => rig.close())
  const key = await rig.call('POST', '/users/web/access-keys', { as: 'web', json: { name: 'fuzz' } })
  const all = [...tokens, key.json<{ token: string }>().token]
  const one = damaged(fc.constantFrom(...all).map((token) => Buffer.from(token)))
  const runs = await forAWhile(one, (bytes) => {
    const text = bytes.toString('latin1')
    const read = rig.appliance.open().tokens.read(text)
    if (read !== null) assert.ok(all.includes(text), text)
  })
  assert.ok(runs > 100, String(runs))
  for (const token of all) assert.ok(rig.appliance.open().tokens.read(token))
})
