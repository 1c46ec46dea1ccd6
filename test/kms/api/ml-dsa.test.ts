/** ML-DSA keys through the API. Contract sections 3.2, 4.4 to 4.6, 6.1, 6.3 to 6.5. */

import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, hash, verify } from 'node:crypto'
import { after, before, describe, type TestContext, test } from 'node:test'
import { createPool } from '../../../firmware/crypto/pool/pool.ts'
import { makeOperationalRig, type Rig, UNLOCK } from '../../support/in-process.ts'

const base64 = (bytes: string | Uint8Array) => Buffer.from(bytes).toString('base64')
const operator = { as: 'operator' }
const MIB = 1024 * 1024

const SETS = [
  { type: 'ML_DSA_44', name: 'ml-dsa-44', publicBytes: 1312, signatureBytes: 2420, expandedBytes: 2560 },
  { type: 'ML_DSA_65', name: 'ml-dsa-65', publicBytes: 1952, signatureBytes: 3309, expandedBytes: 4032 },
  { type: 'ML_DSA_87', name: 'ml-dsa-87', publicBytes: 2592, signatureBytes: 4627, expandedBytes: 4896 },
] as const
const BOTH = ['ML_DSA_Signature', 'ML_DSA_Signature_EXTERNAL_MU']

describe('ML-DSA keys', () => {
  let rig: Rig
  before(async () => {
    rig = await makeOperationalRig()
    for (const { type, name } of SETS) await rig.key(name, { type, mechanisms: BOTH })
    await rig.key('plain', { type: 'ML_DSA_65', mechanisms: ['ML_DSA_Signature'] })
    await rig.key('ec', { type: 'EC_P256', mechanisms: ['ECDSA_Signature'] })
  })
  after(() => rig.close())

  const publicPem = async (id: string) =>
    createPublicKey((await rig.call('GET', `/keys/${id}/public.pem`, { as: 'admin' })).text())
  const ask = (id: string, json: object, as = 'operator') => rig.call('POST', `/keys/${id}/sign`, { as, json })
  const signed = async (id: string, json: object): Promise<Buffer> => {
    const { status, json: answer, text } = await ask(id, json)
    assert.equal(status, 200, text())
    return Buffer.from(answer().signature, 'base64')
  }
  const refused = async (id: string, json: object): Promise<string> => {
    const { status, text } = await ask(id, json)
    assert.equal(status, 400, text())
    return text()
  }

  for (const { type, name, publicBytes, signatureBytes } of SETS)
    test(`${type}: generated, signs, and others verify`, async () => {
      const { json } = await rig.call('GET', `/keys/${name}`, { as: 'admin' })
      assert.deepEqual([json().type, json().mechanisms], [type, BOTH])
      assert.equal(Buffer.from(json().public.data, 'base64').length, publicBytes)
      const key = await publicPem(name)
      assert.equal(key.asymmetricKeyType, name)
      const message = Buffer.from('a message of any length, which is not hashed first')
      const signature = await signed(name, { mode: 'ML_DSA', message: base64(message) })
      assert.equal(signature.length, signatureBytes)
      assert(verify(null, message, key, signature))
      message[0]! ^= 1
      assert(!verify(null, message, key, signature))
      const again = await signed(name, { mode: 'ML_DSA', message: base64(message) })
      assert.notDeepEqual(again, await signed(name, { mode: 'ML_DSA', message: base64(message) }), 'hedged')
    })

  test('an empty message, and one of 40 MiB', async () => {
    const key = await publicPem('ml-dsa-44')
    assert(verify(null, Buffer.of(), key, await signed('ml-dsa-44', { mode: 'ML_DSA', message: '' })))
    const large = Buffer.alloc(40 * MIB, 'a release ')
    assert(verify(null, large, key, await signed('ml-dsa-44', { mode: 'ML_DSA', message: base64(large) })))
  })

  test('a context of up to 255 bytes is signed with the message, for the mode ML_DSA alone', async () => {
    const key = await publicPem('ml-dsa-65')
    const message = Buffer.from('a message')
    const input = { mode: 'ML_DSA', message: base64(message) }
    for (const bytes of [1, 255]) {
      const context = Buffer.alloc(bytes, 'c')
      const signature = await signed('ml-dsa-65', { ...input, context: base64(context) })
      assert(verify(null, message, contextual(key, context), signature))
      assert(!verify(null, message, key, signature))
    }
    assert(verify(null, message, key, await signed('ml-dsa-65', { ...input, context: '' })))
    assert(verify(null, message, key, await signed('ml-dsa-65', { ...input, context: null })))
    assert.match(await refused('ml-dsa-65', { ...input, context: base64(Buffer.alloc(256)) }), /context/)
    assert.match(await refused('ml-dsa-65', { ...input, context: 'no base64' }), /context/)
    const mu = base64(Buffer.alloc(64))
    assert.match(await refused('ml-dsa-65', { mode: 'ML_DSA_EXTERNAL_MU', message: mu, context: 'AA==' }), /context/)
    assert.match(await refused('ec', { mode: 'ECDSA', message: base64(Buffer.alloc(32)), context: 'AA==' }), /context/)
    assert.match(await refused('ec', { mode: 'ECDSA', message: base64(Buffer.alloc(32)), context: '' }), /context/)
  })

  test('a mu of somebody else is signed as it is, where a mechanism permits it', async () => {
    const key = await publicPem('ml-dsa-65')
    const { json } = await rig.call('GET', '/keys/ml-dsa-65', { as: 'admin' })
    const message = Buffer.from('hashed by the client')
    const shake = (data: Uint8Array) =>
      Buffer.from(hash('shake256', data, { outputEncoding: 'hex', outputLength: 64 }), 'hex')
    const tr = shake(Buffer.from(json().public.data, 'base64'))
    const mu = shake(Buffer.concat([tr, Buffer.of(0, 0), message]))
    const external = (bytes: Uint8Array) => ({ mode: 'ML_DSA_EXTERNAL_MU', message: base64(bytes) })
    assert(verify(null, message, key, await signed('ml-dsa-65', external(mu))))
    for (const bytes of [0, 63, 65]) await refused('ml-dsa-65', external(Buffer.alloc(bytes)))
    assert.match(await refused('plain', external(mu)), /mechanism/)
  })

  test('modes and mechanisms of other types do not fit, nor theirs to others', async () => {
    await refused('plain', { mode: 'EdDSA', message: base64('x') })
    await refused('ec', { mode: 'ML_DSA', message: base64('x') })
    const generate = (type: string, mechanism: string) =>
      rig.status('POST', '/keys/generate', { as: 'admin', json: { id: 'misfit', type, mechanisms: [mechanism] } })
    for (const mechanism of BOTH)
      for (const type of ['EC_P256', 'Curve25519', 'Generic']) assert.equal(await generate(type, mechanism), 400)
    for (const mechanism of ['EdDSA_Signature', 'ECDSA_Signature', 'RSA_Signature_PKCS1', 'AES_Decryption_CBC'])
      assert.equal(await generate('ML_DSA_65', mechanism), 400)
    assert.equal(await rig.status('GET', '/keys/misfit', { as: 'admin' }), 404)
    assert.equal(
      await rig.status('POST', '/keys/plain/decrypt', {
        ...operator,
        json: { mode: 'RAW', encrypted: 'AAAA' },
      }),
      400,
    )
  })

  test('the length that a request names is ignored', async () => {
    await rig.key('long', { type: 'ML_DSA_44', length: 4096, mechanisms: ['ML_DSA_Signature'] })
    assert.equal(await rig.status('DELETE', '/keys/long', { as: 'admin' }), 204)
  })

  test('imported from a seed, from an expanded key and from a file, each the same key', async () => {
    for (const { type, name, expandedBytes } of SETS) {
      const pair = generateKeyPairSync(name)
      const jwk = pair.privateKey.export({ format: 'jwk' }) as { priv: string }
      const seed = Buffer.from(jwk.priv, 'base64url')
      const der = pair.privateKey.export({ format: 'der', type: 'pkcs8' })
      const expanded = der.subarray(-expandedBytes)
      const json = (data: Uint8Array) => ({ type, mechanisms: BOTH, private: { data: base64(data) } })
      assert.equal(await rig.status('PUT', '/keys/from-seed', { as: 'admin', json: json(seed) }), 204)
      assert.equal(await rig.status('PUT', '/keys/from-expanded', { as: 'admin', json: json(expanded) }), 204)
      const form = new FormData()
      form.append('arguments', new Blob([JSON.stringify({ mechanisms: BOTH })], { type: 'application/json' }))
      form.append('key_file', new Blob([pair.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string]))
      assert.equal(await rig.status('PUT', '/keys/from-pem', { as: 'admin', body: form }), 204)
      const pem = pair.publicKey.export({ format: 'pem', type: 'spki' })
      const message = Buffer.from('moved in')
      for (const id of ['from-seed', 'from-expanded', 'from-pem']) {
        assert.equal((await rig.call('GET', `/keys/${id}/public.pem`, { as: 'admin' })).text(), pem)
        const signature = await signed(id, { mode: 'ML_DSA', message: base64(message) })
        assert(verify(null, message, pair.publicKey, signature))
        assert.equal(await rig.status('DELETE', `/keys/${id}`, { as: 'admin' }), 204)
      }
      for (const wrong of [seed.subarray(1), Buffer.concat([seed, seed]), expanded.subarray(1)])
        assert.equal(await rig.status('PUT', '/keys/none', { as: 'admin', json: json(wrong) }), 400)
      const spoilt = Buffer.from(expanded)
      spoilt[expandedBytes - 1]! ^= 1 // t0 is not what the rest gives
      assert.equal(await rig.status('PUT', '/keys/none', { as: 'admin', json: json(spoilt) }), 400)
      assert.equal(await rig.status('GET', '/keys/none', { as: 'admin' }), 404)
    }
  })

  test('have certificate requests, certificates, tags, labels and counts as every key', async () => {
    await rig.key('whole', { type: 'ML_DSA_44', mechanisms: ['ML_DSA_Signature'], label: 'release' })
    const csr = await rig.call('POST', '/keys/whole/csr.pem', {
      as: 'admin',
      json: { commonName: 'release.example.org' },
    })
    assert.match(csr.text(), /^-----BEGIN CERTIFICATE REQUEST-----/)
    const certificate = { body: 'any bytes', headers: { 'content-type': 'application/octet-stream' } }
    assert.equal(await rig.status('PUT', '/keys/whole/cert', { as: 'admin', ...certificate }), 201)
    assert.equal(await rig.status('PUT', '/keys/whole/restrictions/tags/berlin', { as: 'admin' }), 204)
    const message = { mode: 'ML_DSA', message: base64('x') }
    assert.equal((await ask('whole', message)).status, 403)
    assert.equal((await ask('whole', message, 'admin')).status, 403)
    assert.equal(await rig.status('DELETE', '/keys/whole/restrictions/tags/berlin', { as: 'admin' }), 204)
    await signed('whole', message)
    const { json } = await rig.call('GET', '/keys/whole', { as: 'admin' })
    assert.deepEqual([json().operations, json().label], [1, 'release'])
    assert.equal(await rig.status('POST', '/keys/whole/move', { as: 'admin', json: { newId: 'moved' } }), 200)
    await signed('moved', message)
    assert.equal(await rig.status('DELETE', '/keys/moved', { as: 'admin' }), 204)
    assert.equal((await ask('moved', message)).status, 404)
  })

  test('live and go with their namespace', async () => {
    await rig.user('ns~admin', 'Administrator')
    assert.equal(await rig.status('PUT', '/namespaces/ns', { as: 'admin' }), 204)
    await rig.user('ns~operator', 'Operator', 'ns~admin')
    await rig.key('inside', { type: 'ML_DSA_44', mechanisms: ['ML_DSA_Signature'] }, 'ns~admin')
    const message = { mode: 'ML_DSA', message: base64('x') }
    assert.equal((await ask('inside', message, 'ns~operator')).status, 200)
    assert.equal((await ask('inside', message)).status, 404)
    assert.equal(await rig.status('DELETE', '/namespaces/ns', { as: 'admin' }), 204)
    assert.equal((await ask('inside', message, 'ns~operator')).status, 403)
  })

  test('are used again after a lock', async () => {
    const key = await publicPem('ml-dsa-87')
    assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
    assert.equal(await rig.status('POST', '/unlock', { json: { passphrase: UNLOCK } }), 204)
    const message = Buffer.from('unlocked')
    assert(verify(null, message, key, await signed('ml-dsa-87', { mode: 'ML_DSA', message: base64(message) })))
  })

  test('are no keys for TLS', async () => {
    for (const { type } of SETS)
      assert.equal(await rig.status('POST', '/config/tls/generate', { as: 'admin', json: { type } }), 400)
  })
})

async function rigWith(t: TestContext, worker: string): Promise<{ rig: Rig; errors: () => string[] }> {
  const entry = new URL(`../../crypto/${worker}`, import.meta.url)
  const rig = await makeOperationalRig({}, { pool: createPool({ workers: 1, entry }) })
  t.after(rig.close)
  const errors = () => rig.entries.filter(({ level }) => level === 'error').map(({ message }) => message)
  return { rig, errors }
}

for (const { type, name } of SETS)
  test(`${type}: a bit that flips in memory costs an answer and a line in the log, no wrong signature leaves, and the next is right`, async (t) => {
    const { rig, errors } = await rigWith(t, 'faulty-worker.ts')
    await rig.key(name, { type, mechanisms: BOTH })
    const key = createPublicKey((await rig.call('GET', `/keys/${name}/public.pem`, { as: 'admin' })).text())
    const sign = (message: Uint8Array) =>
      rig.call('POST', `/keys/${name}/sign`, { ...operator, json: { mode: 'ML_DSA', message: base64(message) } })
    const [message, flipping] = [Buffer.from('a message'), Buffer.alloc(32, 0xdd)]
    assert.equal((await sign(message)).status, 200)
    const { status, text } = await sign(flipping)
    assert.deepEqual([status, text()], [503, '{"message":"The crypto operation failed"}'])
    assert.equal(errors().length, 1)
    assert.match(errors()[0]!, /internal: The crypto operation failed$/)
    const after = await sign(message)
    assert.equal(after.status, 200)
    assert(verify(null, message, key, Buffer.from(after.json().signature, 'base64')))
  })

test('a set whose known answer is wrong makes no keys and no signatures, and the log says so', async (t) => {
  const { rig, errors } = await rigWith(t, 'spoilt-worker.ts')
  const generate = (type: string) =>
    rig.call('POST', '/keys/generate', { as: 'admin', json: { id: type, type, mechanisms: ['ML_DSA_Signature'] } })
  const { status, text } = await generate('ML_DSA_44')
  const said = 'Signatures of ML_DSA_44 come out wrong: this computer or this software is broken'
  assert.deepEqual([status, text()], [503, JSON.stringify({ message: said })])
  assert.equal(errors().length, 1)
  assert(errors()[0]!.endsWith(`internal: ${said}`))
  assert.equal(await rig.status('GET', '/keys/ML_DSA_44', { as: 'admin' }), 404)
  assert.equal((await generate('ML_DSA_65')).status, 201)
  const json = { mode: 'ML_DSA', message: base64('x') }
  assert.equal(await rig.status('POST', '/keys/ML_DSA_65/sign', { ...operator, json }), 200)
})

describe('GET /keys', () => {
  let rig: Rig
  before(async () => {
    rig = await makeOperationalRig()
    await rig.key('key-a')
    await rig.key('key-b', { type: 'ML_DSA_44', mechanisms: ['ML_DSA_Signature'], label: 'new' })
    await rig.key('key-c', { label: 'new' })
    await rig.key('other', { type: 'ML_DSA_44', mechanisms: ['ML_DSA_Signature'] })
  })
  after(() => rig.close())

  const ids = async (path: string, as = 'admin'): Promise<string[]> => {
    const { status, json, text } = await rig.call('GET', `${path}`, { as })
    assert.equal(status, 200, text())
    return json().map(({ id }: { id: string }) => id)
  }

  test('shows the types that published clients know, and all to callers that ask', async () => {
    assert.deepEqual(await ids('/keys'), ['key-a', 'key-c'])
    assert.deepEqual(await ids('/keys?types=all'), ['key-a', 'key-b', 'key-c', 'other'])
    assert.deepEqual(await ids('/keys/key-*'), ['key-a', 'key-c'])
    assert.deepEqual(await ids('/keys/key-*?types=all'), ['key-a', 'key-b', 'key-c'])
    assert.deepEqual(await ids('/keys?label=new'), ['key-c'])
    assert.deepEqual(await ids('/keys?label=new&types=all'), ['key-b', 'key-c'])
    assert.deepEqual(await ids('/keys?filter=1', 'operator'), ['key-a', 'key-c'])
    assert.deepEqual(await ids('/keys?filter=1&types=all', 'operator'), ['key-a', 'key-b', 'key-c', 'other'])
    assert.equal(await rig.status('GET', '/keys?types=some', { as: 'admin' }), 400)
    assert.equal(await rig.status('GET', '/keys/key-b', { as: 'admin' }), 200)
  })

  test('page by page, too', async () => {
    const page = (query: string) => rig.call('GET', `/keys?details=true&limit=1${query}`, { as: 'admin' })
    const first = (await page('')).json()
    assert.deepEqual([first.keys[0].id, first.next], ['key-a', 'key-a'])
    const second = (await page('&after=key-a')).json()
    assert.deepEqual([second.keys[0].id, second.next], ['key-c', undefined])
    const all = (await page('&after=key-a&types=all')).json()
    assert.deepEqual([all.keys[0].id, all.keys[0].type], ['key-b', 'ML_DSA_44'])
  })

  test('each list has an etag of its own', async () => {
    const etag = async (query: string) => (await rig.call('GET', `/keys${query}`, { as: 'admin' })).headers.etag!
    const [known, all] = [await etag(''), await etag('?types=all')]
    assert.notEqual(known, all)
    assert.equal(await rig.status('GET', '/keys', { as: 'admin', headers: { 'if-none-match': known } }), 304)
    assert.equal(await rig.status('GET', '/keys?types=all', { as: 'admin', headers: { 'if-none-match': all } }), 304)
    assert.equal(await rig.status('GET', '/keys?types=all', { as: 'admin', headers: { 'if-none-match': known } }), 200)
    await rig.key('later', { type: 'ML_DSA_44', mechanisms: ['ML_DSA_Signature'] })
    assert.notEqual(await etag('?types=all'), all)
  })
})

const contextual = (key: ReturnType<typeof createPublicKey>, context: Uint8Array) =>
  ({ key, context }) as unknown as Parameters<typeof verify>[2]
