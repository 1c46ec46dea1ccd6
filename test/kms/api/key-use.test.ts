/** Sign, decrypt, encrypt and certificate requests. Contract sections 1.7 note (e), 4.6, 6.1, 6.2, 6.5, 7.4, 7.6. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { constants, createPublicKey, hash, publicEncrypt, verify } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { makeOperationalRig, type Rig } from '../../support/in-process.ts'
import { needs } from '../../support/tools.ts'

const base64 = (text: string | Uint8Array) => Buffer.from(text).toString('base64')
const operator = { as: 'operator' }

describe('key use', () => {
  let rig: Rig
  after(() => rig.close())
  before(async () => {
    rig = await makeOperationalRig()
    await rig.key('ed', { type: 'ED25519', mechanisms: ['ED25519_Signature'] })
    await rig.key('ec', { type: 'ECDSA', mechanisms: ['ECDSA_Signature'] })
    await rig.key('rsa', {
      type: 'RSA',
      length: 1024,
      mechanisms: ['RSA_Signature_PSS_SHA256', 'RSA_Decryption_OAEP_SHA256', 'RSA_Signature_PKCS1_SHA512'],
    })
    await rig.key('aes', { type: 'Generic', length: 256, mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'] })
    await rig.key('aes-in', { type: 'Generic', length: 256, mechanisms: ['AES_Encryption_CBC'] })
  })
  const publicKey = async (id: string) =>
    createPublicKey((await rig.call('GET', `/keys/${id}/public.pem`, { as: 'admin' })).text())

  test('signs, and others verify', async () => {
    const message = Buffer.from('a message')
    const sign = async (id: string, mode: string, bytes: Uint8Array) => {
      const { status, json, text } = await rig.call('POST', `/keys/${id}/sign`, {
        ...operator,
        json: { mode, message: base64(bytes) },
      })
      assert.equal(status, 200, text())
      return Buffer.from(json().signature, 'base64')
    }
    assert(verify(null, message, await publicKey('ed'), await sign('ed', 'EdDSA', message)))
    assert(verify(null, message, await publicKey('ed'), await sign('ed', 'ED25519', message)))
    const digest = hash('sha256', message, 'buffer')
    assert(verify('sha256', message, await publicKey('ec'), await sign('ec', 'ECDSA', digest)))
    const pss = { key: await publicKey('rsa'), padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
    assert(verify('sha256', message, pss, await sign('rsa', 'PSS_SHA256', digest)))
    const digest512 = hash('sha512', message, 'buffer')
    assert(verify('sha512', message, await publicKey('rsa'), await sign('rsa', 'PKCS1_SHA512', digest512)))
  })

  test('decrypts what others encrypted', async () => {
    const key = { key: await publicKey('rsa'), padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
    const encrypted = base64(publicEncrypt(key, Buffer.from('secret'))).replace(/.{64}/g, '$&\n')
    const json = { mode: 'OAEP_SHA256', encrypted }
    const { decrypted } = (await rig.call('POST', '/keys/rsa/decrypt', { ...operator, json })).json()
    assert.equal(Buffer.from(decrypted, 'base64').toString(), 'secret')
    const { status, json: failure } = await rig.call('POST', '/keys/rsa/decrypt', {
      ...operator,
      json: { mode: 'OAEP_SHA256', encrypted: base64(Buffer.alloc(128, 1)) },
    })
    assert.equal(status, 400)
    assert.deepEqual(failure(), { message: 'Decryption failure' })
  })

  test('encrypts with a given or a fresh iv, and decrypts again', async () => {
    const message = base64('sixteen bytes ok')
    const encrypt = (more: object) =>
      rig.call('POST', '/keys/aes/encrypt', { ...operator, json: { mode: 'AES_CBC', message, ...more } })
    const iv = base64(Buffer.alloc(16, 3))
    const input = (await encrypt({ iv })).json()
    assert.equal(input.iv, iv)
    const fresh = (await encrypt({ iv: null })).json()
    assert.equal(Buffer.from(fresh.iv, 'base64').length, 16)
    assert.notEqual(fresh.encrypted, input.encrypted)
    for (const { encrypted, iv } of [input, fresh]) {
      const json = { mode: 'AES_CBC', encrypted, iv }
      assert.equal((await rig.call('POST', '/keys/aes/decrypt', { ...operator, json })).json().decrypted, message)
    }
    const wrongLength = await encrypt({ message: base64('fifteen bytes  ') })
    assert.equal(wrongLength.status, 400)
    assert.match(wrongLength.text(), /argument length/)
    assert.equal((await encrypt({ iv: base64('short') })).status, 400)
    const decrypt = (json: object) => rig.status('POST', '/keys/aes/decrypt', { ...operator, json })
    assert.equal(await decrypt({ mode: 'AES_CBC', encrypted: input.encrypted }), 400)
    assert.equal(await decrypt({ mode: 'AES_CBC', encrypted: input.encrypted, iv: '??' }), 400)
  })

  test('each request gets the status of its fault', async () => {
    const message = 'AAAA'
    const sign = (id: string, json: unknown, as = 'operator') => rig.status('POST', `/keys/${id}/sign`, { as, json })
    assert.equal(await sign('ed', { mode: 'EdDSA', message }, 'admin'), 403)
    assert.equal(await sign('nothing', '{}}}'), 404)
    assert.equal(await sign('-bad', { mode: 'EdDSA', message }), 400)
    for (const json of [
      { mode: 'EdDSA' },
      { mode: 'EdDSA', message: 1 },
      { mode: 'Nonsense', message },
      { mode: 'EdDSA', message, more: 1 },
      { mode: 'EdDSA', message: 'AAA' },
      { mode: 'EdDSA', message: 'AA A' },
      { mode: 'EdDSA', message: 'AA-_' },
      { mode: 'ECDSA', message },
      null,
    ])
      assert.equal(await sign('ed', json), 400, JSON.stringify(json))
    assert.equal(await sign('ec', { mode: 'ECDSA', message: base64(Buffer.alloc(31)) }), 400)
    assert.equal(await sign('rsa', { mode: 'PKCS1', message }), 400)
    assert.equal(await sign('rsa', { mode: 'PKCS1_SHA256', message: base64(Buffer.alloc(32)) }), 400)
    assert.equal(
      await rig.status('POST', '/keys/aes-in/decrypt', {
        ...operator,
        json: { mode: 'AES_CBC', encrypted: base64(Buffer.alloc(16)), iv: base64(Buffer.alloc(16)) },
      }),
      400,
    )
    assert.equal(await sign('ed', { mode: 'EdDSA', message: 'AB==' }), 200)
    assert.equal(await sign('ed', { mode: 'EdDSA', message: 'AA\nAA\n' }), 200)
    const body = JSON.stringify({ mode: 'EdDSA', message })
    assert.equal(await rig.status('POST', '/keys/ed/sign', { ...operator, body }), 200)
  })

  test('tags decide who uses a restricted key, before the message is looked at', async () => {
    await rig.key('restricted', { restrictions: { tags: ['red', 'green'] } })
    const sign = (message: string) =>
      rig.status('POST', '/keys/restricted/sign', { ...operator, json: { mode: 'EdDSA', message } })
    assert.equal(await sign('AAAA'), 403)
    assert.equal(await sign('not base64'), 403)
    for (const what of ['', '/public.pem'])
      assert.equal(await rig.status('GET', `/keys/restricted${what}`, { ...operator }), 200)
    const json = { commonName: 'restricted' }
    assert.equal(await rig.status('POST', '/keys/restricted/csr.pem', { ...operator, json }), 200)
    assert.equal(await rig.status('PUT', '/users/operator/tags/green', { as: 'admin' }), 204)
    assert.equal(await sign('AAAA'), 200)
    assert.equal(await rig.status('DELETE', '/keys/restricted/restrictions/tags/green', { as: 'admin' }), 204)
    assert.equal(await sign('AAAA'), 403)
    assert.equal(await rig.status('DELETE', '/keys/restricted/restrictions/tags/red', { as: 'admin' }), 204)
    assert.equal(await sign('AAAA'), 200)
  })

  test('counts successes only, exactly under concurrency, and keeps the count over a lock', async () => {
    await rig.key('counted')
    const sign = (message: string) =>
      rig.status('POST', '/keys/counted/sign', { ...operator, json: { mode: 'EdDSA', message } })
    const statuses = await Promise.all(Array.from({ length: 60 }, (_, i) => sign(i % 3 === 0 ? 'bad' : 'AAAA')))
    assert.equal(statuses.filter((status) => status === 200).length, 40)
    await rig.call('POST', '/keys/counted/csr.pem', { as: 'admin', json: { commonName: 'x' } })
    const operations = async () => (await rig.call('GET', '/keys/counted', { as: 'admin' })).json().operations
    assert.equal(await operations(), 40)
    rig.appliance.lock()
    await rig.appliance.unlock(new TextEncoder().encode('unlock passphrase'))
    assert.equal(await operations(), 40)
  })

  test('makes certificate requests that OpenSSL accepts', needs('openssl'), async () => {
    const subject = { commonName: 'key.example', countryName: 'DE', emailAddress: 'a@key.example', localityName: '' }
    for (const id of ['ed', 'ec', 'rsa']) {
      const { status, text, headers } = await rig.call('POST', `/keys/${id}/csr.pem`, {
        ...operator,
        json: subject,
      })
      assert.equal(status, 200)
      assert.equal(headers['content-type'], 'application/x-pem-file')
      const shown = execFileSync('openssl', ['req', '-verify', '-noout', '-subject', '-text'], {
        input: text(),
        encoding: 'utf8',
        stdio: ['pipe', 'pipe', 'ignore'],
      })
      assert.match(shown, /CN ?= ?key\.example.*C ?= ?DE/)
      assert.match(shown, /DNS:key\.example/)
    }
    for (const json of [
      {},
      { commonName: '' },
      { commonName: 'x', countryName: 'Ö' },
      { commonName: 'x', subjectAltNames: ['IP:nonsense'] },
      { commonName: 'x', subjectAltNames: 'x' },
      { commonName: 'x', more: 'x' },
      { commonName: 'x\ny' },
      { commonName: 'x', organizationName: 'x\0' },
    ])
      assert.equal(await rig.status('POST', '/keys/ed/csr.pem', { as: 'admin', json }), 400, JSON.stringify(json))
    assert.equal(await rig.status('POST', '/keys/aes/csr.pem', { as: 'admin', json: subject }), 400)
    assert.equal(await rig.status('POST', '/keys/nothing/csr.pem', { as: 'admin', json: subject }), 404)
  })

  test('writes an audit line for every use, without what was used', async () => {
    const json = { mode: 'EdDSA', message: base64('a confidential message') }
    const { signature } = (await rig.call('POST', '/keys/ed/sign', { ...operator, json })).json()
    await rig.call('POST', '/keys/ed/sign', { ...operator, json: { ...json, mode: 'ECDSA' } })
    const lines = rig.entries.filter(({ source }) => source === 'keys').map(({ message }) => message)
    assert.match(lines.at(-2)!, /\] 2030-01-02T03:04:\d\dZ operator from inside: sign ed: ok$/)
    assert.match(lines.at(-1)!, /sign ed: invalid$/)
    const text = rig.entries.map(({ message }) => message).join('\n')
    for (const secret of [json.message, 'confidential', signature]) assert(!text.includes(secret))
  })
})
