// @test short 15
/** Versions of keys on the transit API. CONTRACT.md of firmware/kms/transit, "Versions". */

import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Rig } from '../../support/in-process.ts'
import { ask, openTransit, say } from './rig.ts'

let rig: Rig
let admin: string
let web: string

before(async () => {
  ;({ rig, admin, web } = await openTransit())
})
after(() => rig.close())

const base64 = (text: string): string => Buffer.from(text).toString('base64')

const ok = (token: string, path: string, body?: object, method?: string) => ask(rig, token, path, body, method)

async function refused(token: string, path: string, body: object): Promise<string> {
  const { status, body: answer } = await say(rig, 'POST', `transit/${path}`, { token, body })
  assert.equal(status, 400, JSON.stringify(answer))
  return answer.errors[0]
}

const make = (name: string, body: object = {}) => ok(admin, `keys/${name}`, body)
const rotate = (name: string) => ok(admin, `keys/${name}/rotate`)

test('rotation during 10,000 encryptions: each answer opens', async () => {
  await make('busy')
  const items = Array.from({ length: 100 }, (_, n) => ({ plaintext: base64(`${n}`) }))
  const answered: { ciphertext: string; key_version: number }[][] = []
  let asked = 0
  let running = 8
  const clients = Array.from({ length: running }, async () => {
    while (asked++ < 100) answered.push((await ok(web, 'encrypt/busy', { batch_input: items })).batch_results)
    running--
  })
  let rotations = 0
  while (running > 0 && rotations < 99) {
    await rotate('busy')
    rotations++
  }
  await Promise.all(clients)
  assert.equal(answered.length, 100)
  const used = new Set<number>()
  for (const results of answered) {
    const { batch_results } = await ok(web, 'decrypt/busy', { batch_input: results })
    assert.deepEqual(
      batch_results.map(({ plaintext }: { plaintext: string }) => plaintext),
      items.map(({ plaintext }) => plaintext),
    )
    for (const { ciphertext, key_version } of results) {
      assert.ok(ciphertext.startsWith(`vault:v${key_version}:`))
      used.add(key_version)
    }
  }
  assert.ok(used.size > 1, `${used.size} versions of ${rotations + 1} were used`)
})

test('MACs, signatures and ciphertexts name their version, and are made with the one that is asked for', async () => {
  for (const [name, type] of [
    ['aes', 'aes256-gcm96'],
    ['ed', 'ed25519'],
    ['ec', 'ecdsa-p256'],
    ['ml', 'mldsa-44'],
  ] as const) {
    await make(name, { type })
    await rotate(name)
    await rotate(name)
  }
  const input = base64('message')
  for (const key_version of [0, 1, 2, 3]) {
    const version = key_version || 3
    const { hmac } = await ok(web, 'hmac/aes', { input, key_version })
    assert.ok(hmac.startsWith(`vault:v${version}:`))
    assert.deepEqual(await ok(web, 'verify/aes', { input, hmac }), { valid: true })
    for (const name of ['ed', 'ec', 'ml']) {
      const { signature, ...rest } = await ok(web, `sign/${name}`, { input, key_version })
      assert.deepEqual(rest, { key_version: version })
      assert.deepEqual(await ok(web, `verify/${name}`, { input, signature }), { valid: true })
      const other = signature.replace(`vault:v${version}:`, `vault:v${(version % 3) + 1}:`)
      assert.deepEqual(await ok(web, `verify/${name}`, { input, signature: other }), { valid: false })
    }
  }
  const { keys } = await ok(web, 'export/public-key/ec', undefined, 'GET')
  assert.deepEqual(Object.keys(keys), ['1', '2', '3'])
  assert.equal(new Set(Object.values(keys)).size, 3)
  const { signature } = await ok(web, 'sign/ec/sha2-256', { input, key_version: 2 })
  const der = Buffer.from(signature.split(':')[2], 'base64')
  assert.ok(verify('sha256', Buffer.from('message'), createPublicKey(keys['2']), der))
  const shown = await ok(web, 'keys/ec', undefined, 'GET')
  assert.deepEqual(
    Object.values<{ public_key: string }>(shown.keys).map(({ public_key }) => public_key),
    Object.values(keys),
  )
})

test('versions below the limits neither sign, encrypt nor verify, with the text of OpenBao', async () => {
  await make('limited', { type: 'ecdsa-p256' })
  await make('sealed')
  for (const name of ['limited', 'sealed']) for (let n = 0; n < 2; n++) await rotate(name)
  const input = base64('message')
  const { signature } = await ok(web, 'sign/limited', { input, key_version: 1 })
  const { hmac } = await ok(web, 'hmac/sealed', { input, key_version: 1 })
  for (const name of ['limited', 'sealed']) await ok(admin, `keys/${name}/config`, { min_encryption_version: 2 })
  assert.deepEqual(await ok(web, 'verify/limited', { input, signature }), { valid: true })
  assert.deepEqual(await ok(web, 'verify/sealed', { input, hmac }), { valid: true })
  const old = { input, key_version: 1 }
  assert.equal(
    await refused(web, 'sign/limited', old),
    'requested version for signing is less than the minimum encryption key version',
  )
  assert.equal(
    await refused(web, 'hmac/sealed', old),
    'cannot generate HMAC: version is too old (disallowed by policy)',
  )
  for (const name of ['limited', 'sealed'])
    await ok(admin, `keys/${name}/config`, { min_decryption_version: 2, min_encryption_version: 0 })
  assert.match(await refused(web, 'verify/limited', { input, signature }), /disallowed by policy \(too old\)$/)
  assert.match(await refused(web, 'verify/sealed', { input, hmac }), /^cannot verify HMAC: version is too old/)
  assert.equal(await refused(web, 'sign/limited', old), 'no such key version')
  assert.equal(await refused(web, 'encrypt/sealed', { plaintext: input, key_version: 1 }), 'no such key version')
  assert.equal(
    await refused(web, 'hmac/sealed', { input, key_version: 9 }),
    'key version does not exist; latest key version is 3',
  )
  assert.match(await refused(web, 'sign/limited', { input, key_version: 4 }), /higher than the latest/)
  assert.match(await refused(web, 'verify/limited', { input, signature: signature.replace('v1', 'v4') }), /too new$/)
  const keys = (await ok(web, 'keys/limited', undefined, 'GET')).keys
  assert.deepEqual(Object.keys(keys), ['2', '3'])
})

test('trim asks for limits first, and deletes for ever', async () => {
  await make('trimmed')
  await rotate('trimmed')
  assert.equal(await refused(admin, 'keys/trimmed/trim', {}), 'missing min_available_version')
  const trim = (min_available_version: number) => refused(admin, 'keys/trimmed/trim', { min_available_version })
  assert.match(await trim(-1), /cannot be decremented/)
  assert.match(await trim(0), /should be positive/)
  assert.match(await trim(1), /minimum encryption version is not set/)
  await ok(admin, 'keys/trimmed/config', { min_encryption_version: 2 })
  assert.match(await trim(2), /greater than minimum decryption version/)
  await ok(admin, 'keys/trimmed/config', { min_decryption_version: 2 })
  assert.match(await trim(3), /greater than minmum encryption version/)
  const { min_available_version } = await ok(admin, 'keys/trimmed/trim', { min_available_version: 2 })
  assert.equal(min_available_version, 2)
  assert.match(await trim(1), /cannot be decremented/)
  assert.equal(
    await refused(admin, 'keys/trimmed/config', { min_decryption_version: 1, min_encryption_version: 1 }),
    'min encryption version should not be less than min available version',
  )
  const { keys } = await ok(web, 'keys', undefined, 'LIST')
  assert.ok(keys.includes('trimmed'))
  const { ciphertext } = await ok(web, 'encrypt/trimmed', { plaintext: base64('x') })
  assert.deepEqual(await ok(web, 'decrypt/trimmed', { ciphertext }), { plaintext: base64('x') })
  await ok(admin, 'keys/trimmed/config', { deletion_allowed: true })
  assert.equal((await say(rig, 'DELETE', 'transit/keys/trimmed', { token: admin })).status, 204)
})

test('a derived key makes the key of a message of its bytes and the context, by HKDF', async () => {
  await make('derived', { derived: true })
  const context = base64('user 7')
  const { ciphertext } = await ok(web, 'encrypt/derived', { plaintext: base64('secret'), context })
  assert.deepEqual(await ok(web, 'decrypt/derived', { ciphertext, context }), { plaintext: base64('secret') })
  for (const other of [base64('user 8'), base64('user 77')])
    assert.equal(
      await refused(web, 'decrypt/derived', { ciphertext, context: other }),
      'cipher: message authentication failed',
    )
  for (const none of [undefined, ''])
    assert.match(await refused(web, 'decrypt/derived', { ciphertext, context: none }), /^missing 'context'/)
  const wrapped = await ok(web, 'datakey/plaintext/derived', { context })
  assert.deepEqual(await ok(web, 'decrypt/derived', { ciphertext: wrapped.ciphertext, context }), {
    plaintext: wrapped.plaintext,
  })
  await rotate('derived')
  const again = await ok(web, 'rewrap/derived', { ciphertext, context })
  assert.equal(again.key_version, 2)
  assert.deepEqual(await ok(web, 'decrypt/derived', { ciphertext: again.ciphertext, context }), {
    plaintext: base64('secret'),
  })
  assert.match(await refused(admin, 'keys/derived-ec', { type: 'ecdsa-p256', derived: true }), /key derivation/)
})

test('RSA keys encrypt and decrypt by version', async () => {
  await make('rsa', { type: 'rsa-2048' })
  const first = await ok(web, 'encrypt/rsa', { plaintext: base64('one') })
  await rotate('rsa')
  const second = await ok(web, 'rewrap/rsa', { ciphertext: first.ciphertext })
  assert.deepEqual([first.key_version, second.key_version], [1, 2])
  for (const { ciphertext } of [first, second])
    assert.deepEqual(await ok(web, 'decrypt/rsa', { ciphertext }), { plaintext: base64('one') })
  const swapped = first.ciphertext.replace('v1', 'v2')
  assert.equal(await refused(web, 'decrypt/rsa', { ciphertext: swapped }), 'cipher: message authentication failed')
  const longest = Buffer.alloc(256 - 66, 1).toString('base64')
  const { ciphertext } = await ok(web, 'encrypt/rsa', { plaintext: longest })
  assert.deepEqual(await ok(web, 'decrypt/rsa', { ciphertext }), { plaintext: longest })
  const tooLong = Buffer.alloc(256 - 65, 1).toString('base64')
  assert.match(await refused(web, 'encrypt/rsa', { plaintext: tooLong }), /190 bytes/)
  assert.match(await refused(web, 'decrypt/rsa', { ciphertext: 'vault:v1:AAAA' }), /length/)
  const associated = { associated_data: base64('x') }
  assert.match(await refused(web, 'encrypt/rsa', { plaintext: base64('x'), ...associated }), /non-AEAD/)
  assert.match(await refused(web, 'decrypt/rsa', { ciphertext, ...associated }), /non-AEAD/)
})

test('the audit log has the version that was used, or the lowest and the highest', async () => {
  await make('audited')
  const { ciphertext } = await ok(web, 'encrypt/audited', { plaintext: base64('x') })
  await rotate('audited')
  await ok(web, 'rewrap/audited', { ciphertext })
  const { lines } = (await rig.call('GET', '/audit?key=audited', { as: 'admin' })).json<{
    lines: { action: string; facts?: Record<string, string> }[]
  }>()
  const versions = lines.map(({ action, facts }) => [action.split('/')[3], facts?.version])
  assert.deepEqual(versions, [
    ['rewrap', '1-2'],
    ['keys', undefined],
    ['encrypt', '1'],
    ['keys', undefined],
  ])
})
