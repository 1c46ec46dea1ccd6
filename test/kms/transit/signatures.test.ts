/** Keys of the appliance's own API sign on the wire, OpenSSL verifies, and mechanisms and tags restrict. */

import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { expect } from '../../support/appliance.ts'
import type { Rig } from '../../support/in-process.ts'
import { logIn, say, switchWire, wiredRig } from './rig.ts'

const DATA = Buffer.from('a document')
const input = DATA.toString('base64')
const KEYS = {
  p256: { type: 'EC_P256', mechanisms: ['ECDSA_Signature'] },
  p384: { type: 'EC_P384', mechanisms: ['ECDSA_Signature'] },
  p521: { type: 'EC_P521', mechanisms: ['ECDSA_Signature'] },
  ed: { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] },
  mldsa: { type: 'ML_DSA_65', mechanisms: ['ML_DSA_Signature'] },
  pss: { type: 'RSA', length: 2048, mechanisms: ['RSA_Signature_PSS_SHA256'] },
  k1: { type: 'EC_P256K1', mechanisms: ['ECDSA_Signature'] },
  brainpool: { type: 'BrainpoolP256', mechanisms: ['ECDSA_Signature'] },
  'rsa-1024': { type: 'RSA', length: 1024, mechanisms: ['RSA_Signature_PSS_SHA256'] },
  aes: { type: 'Generic', length: 256, mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'] },
}

describe('keys of the appliance’s own API', () => {
  let rig: Rig
  let token: string
  before(async () => {
    rig = await wiredRig()
    await switchWire(rig, 'on')
    for (const [id, key] of Object.entries(KEYS)) await rig.key(id, key)
    token = await logIn(rig, 'web')
  })
  after(() => rig.close())

  const signed = async (name: string, body: object = {}): Promise<Buffer> => {
    const answer = await say(rig, 'PUT', `transit/sign/${name}`, { token, body: { input, ...body } })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return Buffer.from(answer.body.data.signature.replace('vault:v1:', ''), 'base64')
  }
  const publicKey = async (name: string) => {
    const { body } = await say(rig, 'GET', `transit/export/public-key/${name}?format=der`, { token })
    return createPublicKey({ key: Buffer.from(body.data.keys['1'], 'base64'), format: 'der', type: 'spki' })
  }

  test('sign here, and OpenSSL verifies', async () => {
    for (const [name, hash] of [
      ['p256', 'sha256'],
      ['p384', 'sha384'],
      ['p521', 'sha512'],
    ] as const) {
      const hash_algorithm = hash.replace('sha', 'sha2-')
      assert.ok(verify(hash, DATA, await publicKey(name), await signed(name, { hash_algorithm })), name)
      const prehashed = createHash(hash).update(DATA).digest('base64')
      const signature = await signed(name, { input: prehashed, prehashed: true, hash_algorithm })
      assert.ok(verify(hash, DATA, await publicKey(name), signature), name)
    }
    for (const name of ['ed', 'mldsa']) assert.ok(verify(null, DATA, await publicKey(name), await signed(name)), name)
    const pss = { key: await publicKey('pss'), padding: 6, saltLength: 32 }
    assert.ok(verify('sha256', DATA, pss, await signed('pss')))
  })

  test('a digest longer than the order is cut, a shorter one has zeros before it', async () => {
    for (const hash of ['sha384', 'sha512', 'sha224'])
      for (const name of ['p256', 'p384', 'p521']) {
        const signature = await signed(name, { hash_algorithm: hash.replace('sha', 'sha2-') })
        assert.ok(verify(hash, DATA, await publicKey(name), signature), `${name} ${hash}`)
      }
  })

  test('mechanisms restrict as on the other API', async () => {
    const { status, body } = await say(rig, 'PUT', 'transit/sign/pss/sha2-512', { token, body: { input } })
    assert.deepEqual([status, body], [400, { errors: ['No mechanism of the key permits sign PSS_SHA512'] }])
    const pkcs1 = { input, signature_algorithm: 'pkcs1v15' }
    assert.equal((await say(rig, 'PUT', 'transit/sign/pss', { token, body: pkcs1 })).status, 400)
  })

  test('types that the wire has not do not exist there', async () => {
    for (const name of ['k1', 'brainpool', 'rsa-1024', 'aes']) {
      const { status, body } = await say(rig, 'GET', `transit/keys/${name}`, { token })
      assert.deepEqual([status, body], [404, { errors: [] }], name)
      assert.equal((await say(rig, 'PUT', `transit/sign/${name}`, { token, body: { input } })).status, 400)
    }
    const { body } = await say(rig, 'LIST', 'transit/keys', { token })
    assert.deepEqual(body.data.keys, ['ed', 'mldsa', 'p256', 'p384', 'p521', 'pss'])
  })

  test('tags refuse with the reason', async () => {
    await expect(204, rig.call('PUT', '/keys/ed/restrictions/tags/other', { as: 'admin' }))
    const { status, body } = await say(rig, 'PUT', 'transit/sign/ed', { token, body: { input } })
    assert.equal(status, 403)
    assert.equal(body.errors[1], 'Your tags do not allow you to use this key')
    await expect(204, rig.call('DELETE', '/keys/ed/restrictions/tags/other', { as: 'admin' }))
  })

  test('keys that the wire makes serve the other API, and those it cannot list there are behind types=all', async () => {
    const admin = await logIn(rig, 'admin')
    await say(rig, 'POST', 'transit/keys/made', { token: admin, body: { type: 'ed25519' } })
    await say(rig, 'POST', 'transit/keys/sealing', { token: admin, body: {} })
    const json = { mode: 'EdDSA', message: input }
    const answer = await expect(200, rig.call('POST', '/keys/made/sign', { as: 'web', json }))
    const signature = Buffer.from(answer.json().signature, 'base64')
    assert.ok(verify(null, DATA, await publicKey('made'), signature))
    const ids = async (query: string) =>
      (await rig.call('GET', `/keys${query}`, { as: 'admin' })).json<{ id: string }[]>().map(({ id }) => id)
    assert.ok((await ids('')).includes('made') && !(await ids('')).includes('sealing'))
    assert.ok((await ids('?types=all')).includes('sealing'))
    const other = await say(rig, 'POST', 'transit/keys/aes', { token: admin, body: {} })
    assert.deepEqual([other.status, other.body.errors], [400, ['a key aes exists that this API cannot use']])
  })

  test('the audit log has the key, the number of items and the access key', async () => {
    const call = { as: 'web', json: { name: 'ci' } }
    const { token: key, id } = (await expect(201, rig.call('POST', '/users/web/access-keys', call))).json()
    const body = { batch_input: [{ input }, { input }, { input }] }
    assert.equal((await say(rig, 'POST', 'transit/sign/ed', { token: key, body })).status, 200)
    const { text } = await rig.call('GET', '/audit', { as: 'admin' })
    const line = text()
      .split('\n')
      .findLast((each) => each.includes('/v1/transit/sign'))!
    const plain = line.replaceAll('\\', '')
    for (const part of ['POST /v1/transit/sign/{name}', '"ed"', '"items":"3"', `"accessKey":"${id}"`])
      assert.ok(plain.includes(part), `${part}: ${plain}`)
    assert.ok(!text().includes(key) && !text().includes(input))
  })
})
