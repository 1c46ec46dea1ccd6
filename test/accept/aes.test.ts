/** Generic keys as AES keys, checked by OpenSSL: contract 4.4 and 6.2. */

import assert from 'node:assert/strict'
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, credentialsOf, startProvisioned } from '../support/suite.ts'

let appliance: Appliance
const operator = credentialsOf('operator')
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
const send = (method: string, path: string, json: unknown, as = operator) => appliance.call(method, path, { as, json })
const encrypt = (id: string, message: Uint8Array, iv?: Uint8Array) =>
  send('POST', `/keys/${id}/encrypt`, { mode: 'AES_CBC', message: base64(message), ...(iv && { iv: base64(iv) }) })
const decrypt = (id: string, encrypted: Uint8Array, iv?: Uint8Array) =>
  send('POST', `/keys/${id}/decrypt`, { mode: 'AES_CBC', encrypted: base64(encrypted), ...(iv && { iv: base64(iv) }) })
const BOTH = ['AES_Encryption_CBC', 'AES_Decryption_CBC']

async function importKey(id: string, key: Uint8Array, mechanisms = BOTH) {
  const json = { type: 'Generic', mechanisms, private: { data: base64(key) } }
  await expect(204, send('PUT', `/keys/${id}`, json, ADMIN))
}

describe('AES', () => {
  before(async () => {
    appliance = await startProvisioned()
    await addUser(appliance, 'operator', 'Operator')
  })
  after(() => appliance?.dispose())

  for (const bytes of [16, 24, 32]) {
    test(`an imported key of ${8 * bytes} bits does what OpenSSL does`, async () => {
      const key = randomBytes(bytes)
      const id = `aes${bytes}`
      await importKey(id, key)
      for (const length of [16, 32, 4096, 1_000_000 - (1_000_000 % 16)]) {
        const message = randomBytes(length)
        const iv = randomBytes(16)
        const cipher = createCipheriv(`aes-${8 * bytes}-cbc`, key, iv).setAutoPadding(false)
        const expected = Buffer.concat([cipher.update(message), cipher.final()])
        const reply = (await expect(200, encrypt(id, message, iv))).json<{ encrypted: string; iv: string }>()
        assert.deepEqual(reply, { encrypted: base64(expected), iv: base64(iv) })
        const back = (await expect(200, decrypt(id, expected, iv))).json<{ decrypted: string }>()
        assert.deepEqual(back, { decrypted: base64(message) })
      }
      // Without an iv a fresh one is made and told.
      const ivs = new Set<string>()
      for (let count = 0; count < 5; count++) {
        const { encrypted, iv } = (await expect(200, encrypt(id, Buffer.alloc(32)))).json<{
          encrypted: string
          iv: string
        }>()
        assert.equal(Buffer.from(iv, 'base64').length, 16)
        ivs.add(iv)
        const decipher = createDecipheriv(`aes-${8 * bytes}-cbc`, key, Buffer.from(iv, 'base64')).setAutoPadding(false)
        assert(Buffer.concat([decipher.update(encrypted, 'base64'), decipher.final()]).equals(Buffer.alloc(32)))
      }
      assert.equal(ivs.size, 5)
      const { operations } = (await appliance.call('GET', `/keys/${id}`, { as: ADMIN })).json<{ operations: number }>()
      assert.equal(operations, 4 * 2 + 5)
    })

    test(`a generated key of ${8 * bytes} bits encrypts and decrypts`, async () => {
      const json = { type: 'Generic', length: 8 * bytes, mechanisms: BOTH, id: `gen${bytes}` }
      await expect(201, send('POST', '/keys/generate', json, ADMIN))
      const message = randomBytes(64)
      const sealed = (await expect(200, encrypt(json.id, message))).json<{ encrypted: string; iv: string }>()
      assert.notEqual(sealed.encrypted, base64(message))
      const opened = await expect(
        200,
        decrypt(json.id, Buffer.from(sealed.encrypted, 'base64'), Buffer.from(sealed.iv, 'base64')),
      )
      assert.equal(opened.json<{ decrypted: string }>().decrypted, base64(message))
    })
  }

  test('data comes in whole blocks, and the refusal of a message says so', async () => {
    const iv = randomBytes(16)
    for (const length of [1, 15, 17, 31, 4095]) {
      const reply = await expect(400, encrypt('aes16', randomBytes(length), iv))
      assert.match(reply.text(), /argument length/)
      await expect(400, decrypt('aes16', randomBytes(length), iv))
    }
  })

  test('an iv has 16 bytes and decryption needs it', async () => {
    const block = randomBytes(16)
    await expect(400, decrypt('aes16', block))
    for (const length of [1, 12, 15, 17, 32]) {
      await expect(400, decrypt('aes16', block, randomBytes(length)))
      await expect(400, encrypt('aes16', block, randomBytes(length)))
    }
    for (const iv of ['', 'AAAA', '***', 16, {}]) {
      await expect(400, send('POST', '/keys/aes16/decrypt', { mode: 'AES_CBC', encrypted: base64(block), iv }))
      await expect(400, send('POST', '/keys/aes16/encrypt', { mode: 'AES_CBC', message: base64(block), iv }))
    }
  })

  test('a key that is no AES key cannot be used as one', async () => {
    const iv = randomBytes(16)
    for (const bytes of [17, 31, 33, 64, 1024]) {
      await importKey(`odd${bytes}`, randomBytes(bytes))
      await expect(400, encrypt(`odd${bytes}`, Buffer.alloc(16), iv))
      await expect(400, decrypt(`odd${bytes}`, Buffer.alloc(16), iv))
    }
  })

  test('each mechanism permits one direction', async () => {
    const iv = randomBytes(16)
    await importKey('onlyEncrypt', randomBytes(16), ['AES_Encryption_CBC'])
    await importKey('onlyDecrypt', randomBytes(16), ['AES_Decryption_CBC'])
    await expect(200, encrypt('onlyEncrypt', Buffer.alloc(16), iv))
    await expect(400, decrypt('onlyEncrypt', Buffer.alloc(16), iv))
    await expect(400, encrypt('onlyDecrypt', Buffer.alloc(16), iv))
    await expect(200, decrypt('onlyDecrypt', Buffer.alloc(16), iv))
    for (const mode of ['PKCS1', 'ECDSA', 'EdDSA']) {
      await expect(400, send('POST', '/keys/aes16/sign', { mode, message: 'AAAA' }))
    }
    for (const mode of ['AES_ECB', 'aes_cbc', 'RAW', '']) {
      await expect(400, send('POST', '/keys/aes16/encrypt', { mode, message: base64(Buffer.alloc(16)) }))
    }
  })
})
