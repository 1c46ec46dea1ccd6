/** Compressed answers. Contract section 1.9. */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, iago } = await chatSuite({ hamlet: 'member', iago: 'member' })

const LONG = 'a text that is written by a user. '.repeat(200)

async function fetchBytes(path: string, encoding: string | null, client = hamlet, method = 'GET', more = {}) {
  const authorization = `Basic ${Buffer.from(`${client.user.email}:${client.key}`).toString('base64')}`
  const headers = { authorization, ...(encoding !== null && { 'accept-encoding': encoding }), ...more }
  const response = await rig.chat.api.request(`http://chat.example/api/v1${path}`, { method, headers })
  assert.equal(response.status, 200)
  const bytes = Buffer.from(await response.arrayBuffer())
  return { coding: response.headers.get('content-encoding'), length: response.headers.get('content-length'), bytes }
}

before(() => iago.post('/messages', { type: 'direct', to: [hamlet.user.id], content: LONG }))
const MESSAGES = '/messages?anchor=newest&num_before=10&num_after=0'

const DECODERS = { gzip: gunzipSync, zstd: zstdDecompressSync }

for (const [encoding, expected] of [
  ['gzip', 'gzip'],
  ['gzip, deflate, br', 'gzip'],
  ['gzip, deflate, br, zstd', 'zstd'],
  ['ZSTD;q=0.5, gzip', 'zstd'],
  ['zstd;q=0, gzip;q=0.001', 'gzip'],
] as const)
  test(`a long answer is as the plain one once it is decompressed: ${encoding}`, async () => {
    const plain = await fetchBytes(MESSAGES, null)
    const small = await fetchBytes(MESSAGES, encoding)
    assert.deepEqual([plain.coding, small.coding], [null, expected])
    assert.ok(small.bytes.length < plain.bytes.length / 2)
    assert.equal(small.length, String(small.bytes.length))
    assert.deepEqual(DECODERS[expected](small.bytes), plain.bytes)
  })

for (const encoding of [null, '', 'identity', 'deflate, br', 'gzip;q=0, zstd; q=0.0', 'xgzip'])
  test(`a client that takes neither coding gets what it always got: ${encoding}`, async () => {
    const { coding, bytes } = await fetchBytes(MESSAGES, encoding)
    assert.equal(coding, null)
    assert.equal(JSON.parse(bytes.toString()).messages[0].content.includes('written by a user'), true)
  })

test('a short answer is not compressed', async () => {
  assert.equal((await fetchBytes('/drafts', 'gzip')).coding, null)
})

test('an answer with a key of a bot is never compressed, one without is', async () => {
  const register = '/register?fetch_event_types=["realm_bot","realm_user","realm"]'
  const before474 = { 'x-service-feature-level': '460' }
  assert.equal((await fetchBytes(register, 'gzip, zstd', iago, 'POST', before474)).coding, 'zstd')
  await iago.post('/bots', { full_name: 'Keeper', short_name: 'keeper' })
  const { coding, bytes } = await fetchBytes(register, 'gzip, zstd', iago, 'POST', before474)
  assert.match(bytes.toString(), /"api_key":"\w{32}"/)
  assert.equal(coding, null)
  assert.equal((await fetchBytes(register, 'gzip, zstd', iago, 'POST')).coding, 'zstd', 'it has no key since 474')
})

test('an answer with links of invitations is never compressed', async () => {
  for (let n = 0; n < 40; n++) await rig.owner.post('/invites/multiuse', { invite_expires_in_minutes: null })
  const { coding, bytes } = await fetchBytes('/invites', 'gzip', rig.owner)
  assert.ok(bytes.length > 4096)
  assert.equal(coding, null)
})

test('text that looks like a secret does not keep an answer from being compressed', async () => {
  await iago.post('/messages', {
    type: 'direct',
    to: [hamlet.user.id],
    content: `{"api_key":"${'x'.repeat(32)}"} ${LONG}`,
  })
  assert.equal((await fetchBytes(MESSAGES, 'gzip')).coding, 'gzip')
})
