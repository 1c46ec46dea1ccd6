/** Keys for XAES-256-GCM and HMAC through the API. Contract sections 3.2, 4.5, 4.6, 6.1 and 6.2. */

import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { openXaes } from '../../../firmware/crypto/xaes.ts'
import { makeOperationalRig, type Rig } from '../../support/in-process.ts'

const base64 = (bytes: string | Uint8Array) => Buffer.from(bytes).toString('base64')
const XAES = ['XAES_Encryption_GCM', 'XAES_Decryption_GCM']
const HASHES = ['SHA224', 'SHA256', 'SHA384', 'SHA512', 'SHA3_224', 'SHA3_256', 'SHA3_384', 'SHA3_512']
const admin = { as: 'admin' }

describe('XAES and HMAC keys', () => {
  const bytes = randomBytes(32)
  let rig: Rig
  before(async () => {
    rig = await makeOperationalRig()
    const imported = { type: 'Generic', private: { data: base64(bytes) } }
    for (const [id, mechanisms] of Object.entries({ both: [...XAES, 'HMAC'], seal: XAES.slice(0, 1), mac: ['HMAC'] }))
      assert.equal(await rig.status('PUT', `/keys/${id}`, { ...admin, json: { ...imported, mechanisms } }), 204)
    await rig.key('xaes', { type: 'Generic', length: 256, mechanisms: XAES })
    await rig.key('aes', { type: 'Generic', length: 256, mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'] })
  })
  after(() => rig.close())

  const use = (id: string, what: 'sign' | 'encrypt' | 'decrypt', json: object) =>
    rig.call('POST', `/keys/${id}/${what}`, { as: 'operator', json })
  const used = async (id: string, what: 'sign' | 'encrypt' | 'decrypt', json: object) => {
    const { status, text, json: answer } = await use(id, what, json)
    assert.equal(status, 200, text())
    return answer()
  }
  const refused = async (id: string, what: 'sign' | 'encrypt' | 'decrypt', json: object): Promise<string> => {
    const { status, text } = await use(id, what, json)
    assert.equal(status, 400, text())
    return text()
  }

  test('encrypts any length under a new nonce each time, as the specification says, and decrypts it', async () => {
    const nonces = new Set<string>()
    for (const length of [0, 1, 15, 16, 17, 1000]) {
      const message = randomBytes(length)
      const { encrypted, iv } = await used('both', 'encrypt', { mode: 'XAES_GCM', message: base64(message) })
      nonces.add(iv)
      const opened = openXaes(bytes).decrypt(Buffer.from(iv, 'base64'), Buffer.from(encrypted, 'base64'))
      assert.deepEqual(Buffer.from(opened), message)
      const answer = await used('both', 'decrypt', { mode: 'XAES_GCM', encrypted, iv })
      assert.equal(answer.decrypted, base64(message))
    }
    assert.equal(nonces.size, 6)
  })

  test('refuses a nonce of the client, and another ciphertext, nonce or key with one text', async () => {
    const message = base64('message')
    const iv = base64(randomBytes(24))
    assert.match(await refused('xaes', 'encrypt', { mode: 'XAES_GCM', message, iv }), /XAES_GCM takes a random one/)
    const answer = await used('xaes', 'encrypt', { mode: 'XAES_GCM', message })
    for (const [id, change] of [
      ['xaes', { iv }],
      ['xaes', { encrypted: base64(randomBytes(23)) }],
      ['xaes', { encrypted: '' }],
      ['both', {}],
    ] as const) {
      const text = await refused(id, 'decrypt', { mode: 'XAES_GCM', ...answer, ...change })
      assert.match(text, /"cipher: message authentication failed"/)
    }
    assert.match(await refused('xaes', 'decrypt', { mode: 'XAES_GCM', encrypted: answer.encrypted }), /24 bytes/)
    assert.match(await refused('xaes', 'decrypt', { mode: 'XAES_GCM', ...answer, iv: base64(randomBytes(16)) }), /24/)
  })

  test('does only what a mechanism of the key permits', async () => {
    const message = base64('a block of bytes')
    for (const [id, what, mode] of [
      ['aes', 'encrypt', 'XAES_GCM'],
      ['xaes', 'encrypt', 'AES_CBC'],
      ['xaes', 'sign', 'HMAC_SHA256'],
      ['mac', 'encrypt', 'XAES_GCM'],
      ['both', 'sign', 'ECDSA'],
    ] as const)
      assert.match(await refused(id, what, { mode, message }), /No mechanism of the key permits/)
    const answer = await used('seal', 'encrypt', { mode: 'XAES_GCM', message })
    assert.match(await refused('seal', 'decrypt', { mode: 'XAES_GCM', ...answer }), /No mechanism/)
  })

  test('HMAC with the bytes of the key, and with derived ones where the key encrypts, too', async () => {
    const message = 'a message of any length'
    const derived = createHmac('sha256', bytes).update('coffer hmac key').digest()
    for (const hash of HASHES)
      for (const [id, secret] of [
        ['mac', bytes],
        ['both', derived],
      ] as const) {
        const { signature } = await used(id, 'sign', { mode: `HMAC_${hash}`, message: base64(message) })
        const name = hash.toLowerCase().replace('_', '-')
        assert.equal(signature, createHmac(name, secret).update(message).digest('base64'), `${id} ${hash}`)
      }
    assert.equal((await used('mac', 'sign', { mode: 'HMAC_SHA512', message: '' })).signature.length, 88)
    assert.match(await refused('mac', 'sign', { mode: 'HMAC_SHA256', message: '', context: 'AA==' }), /context/)
    assert.match(await refused('mac', 'sign', { mode: 'HMAC_MD5', message: '' }), /mode/)
  })

  test('XAES needs a Generic key of 256 bits, whether it is generated or imported', async () => {
    for (const mechanism of XAES) {
      const json = { id: 'misfit', mechanisms: [mechanism] }
      for (const kind of [{ type: 'Generic', length: 128 }, { type: 'Generic', length: 264 }, { type: 'EC_P256' }]) {
        const { status, text } = await rig.call('POST', '/keys/generate', { ...admin, json: { ...json, ...kind } })
        assert.equal(status, 400)
        assert.match(text(), /XAES_\w+ (needs a key of 256 bits|does not fit)/)
      }
      const imported = { type: 'Generic', mechanisms: [mechanism], private: { data: base64(randomBytes(16)) } }
      assert.equal(await rig.status('PUT', '/keys/misfit', { ...admin, json: imported }), 400)
    }
    const mac = { id: 'misfit', mechanisms: ['HMAC'], type: 'Curve25519' }
    assert.equal(await rig.status('POST', '/keys/generate', { ...admin, json: mac }), 400)
    assert.equal(await rig.status('GET', '/keys/misfit', admin), 404)
    assert.equal(
      await rig.status('POST', '/keys/generate', { ...admin, json: { ...mac, type: 'Generic', length: 128 } }),
      201,
    )
    assert.equal(await rig.status('DELETE', '/keys/misfit', admin), 204)
  })

  test('no key serves both AES-CBC, which gives blocks under its bytes, and XAES, whose keys such blocks are', async () => {
    for (const mechanism of XAES)
      for (const cbc of ['AES_Encryption_CBC', 'AES_Decryption_CBC']) {
        const mechanisms = [cbc, mechanism, 'HMAC']
        const generated = { id: 'mixed', mechanisms, type: 'Generic', length: 256 }
        const { status, text } = await rig.call('POST', '/keys/generate', { ...admin, json: generated })
        assert.equal(status, 400)
        assert.match(text(), /one key does not serve both/)
        const imported = { type: 'Generic', mechanisms, private: { data: base64(randomBytes(32)) } }
        assert.equal(await rig.status('PUT', '/keys/mixed', { ...admin, json: imported }), 400)
      }
  })

  test('is listed with types=all only, and counts its operations', async () => {
    const ids = async (query: string) => {
      const { json } = await rig.call('GET', `/keys${query}`, admin)
      return json<{ id: string }[]>().map(({ id }) => id)
    }
    assert.deepEqual(await ids(''), ['aes'])
    assert.deepEqual(await ids('?types=all'), ['aes', 'both', 'mac', 'seal', 'xaes'])
    const { json } = await rig.call('GET', '/keys/seal', admin)
    assert.deepEqual([json().mechanisms, json().type], [['XAES_Encryption_GCM'], 'Generic'])
    assert.ok(json().operations >= 1)
  })

  test('tags restrict its use', async () => {
    assert.equal(await rig.status('PUT', '/keys/xaes/restrictions/tags/other', admin), 204)
    assert.equal((await use('xaes', 'encrypt', { mode: 'XAES_GCM', message: '' })).status, 403)
    assert.equal(await rig.status('DELETE', '/keys/xaes/restrictions/tags/other', admin), 204)
  })
})
