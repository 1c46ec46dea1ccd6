/** Import of PEM files as multipart bodies: contract 4.6 (KeyImportPem) and 6.4. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, credentialsOf, startProvisioned } from '../support/suite.ts'
import { fileNeeds } from '../support/tools.ts'
import { CURVES, checkEcdsa, checkEd25519, checkPss, makeEc, makeEd25519, makeRsa, publicMembers } from './oracle.ts'

await fileNeeds('openssl')

let appliance: Appliance
let directory: string
let serial = 0
const operator = credentialsOf('operator')
const message = Buffer.from('a message that was not hashed yet')

interface Part {
  name: string
  text: string
  headers?: string
}

const part = (name: string, text: string, headers = ''): Part => ({ name, text, headers })
const BOUNDARY = '----a boundary'

function multipart(parts: Part[]): string {
  const texts = parts.map(
    ({ name, text, headers }) =>
      `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"; filename="f"\r\n${headers}\r\n${text}\r\n`,
  )
  return `${texts.join('')}--${BOUNDARY}--\r\n`
}

function put(id: string, parts: Part[]) {
  const type = `multipart/form-data; boundary="${BOUNDARY}"`
  return appliance.call('PUT', `/keys/${id}`, { as: ADMIN, type, body: multipart(parts) })
}

const putPem = (id: string, pem: string, mechanisms: string[]) =>
  put(id, [part('arguments', JSON.stringify({ mechanisms })), part('key_file', pem)])

const openssl = (...args: string[]) =>
  execFileSync('openssl', args, { cwd: directory, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

async function signature(id: string, mode: string, input: Uint8Array): Promise<Buffer> {
  const json = { mode, message: Buffer.from(input).toString('base64') }
  const reply = await expect(200, appliance.call('POST', `/keys/${id}/sign`, { as: operator, json }))
  return Buffer.from(reply.json<{ signature: string }>().signature, 'base64')
}

async function shows(id: string, type: string, publicKey: KeyObject) {
  const shown = (await expect(200, appliance.call('GET', `/keys/${id}`, { as: ADMIN }))).json<Record<string, unknown>>()
  assert.equal(shown.type, type)
  assert.equal(shown.algorithm, type)
  assert.deepEqual(shown.public, publicMembers(publicKey))
}

async function refused(pem: string, mechanisms: string[], what: string) {
  const reply = await putPem(`refused${serial++}`, pem, mechanisms)
  assert.equal(reply.status, 400, what)
}

describe('PEM import', () => {
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coffer-pem-'))
    appliance = await startProvisioned()
    await addUser(appliance, 'operator', 'Operator')
  })
  after(async () => {
    rmSync(directory, { recursive: true, force: true })
    await appliance?.dispose()
  })

  test('takes RSA keys as PKCS#8 and PKCS#1', async () => {
    const { privateKey, publicKey } = await makeRsa(2048)
    const digest = createHash('sha256').update(message).digest()
    for (const type of ['pkcs8', 'pkcs1'] as const) {
      const pem = privateKey.export({ format: 'pem', type }) as string
      await expect(204, putPem(`rsa-${type}`, pem, ['RSA_Signature_PSS_SHA256']))
      await shows(`rsa-${type}`, 'RSA', publicKey)
      checkPss(publicKey, 'SHA256', message, await signature(`rsa-${type}`, 'PSS_SHA256', digest))
    }
  })

  for (const curve of CURVES) {
    test(`takes keys on ${curve.type} as PKCS#8 and SEC1`, async () => {
      const { privateKey, publicKey } = await makeEc(curve)
      const digest = createHash(curve.digest).update(message).digest()
      for (const type of ['pkcs8', 'sec1'] as const) {
        const pem = privateKey.export({ format: 'pem', type }) as string
        const id = `${curve.type}-${type}`
        await expect(204, putPem(id, pem, ['ECDSA_Signature']))
        await shows(id, curve.type, publicKey)
        checkEcdsa(publicKey, curve.digest, message, await signature(id, 'ECDSA', digest))
      }
    })
  }

  test('takes Ed25519 keys as PKCS#8', async () => {
    const { privateKey, publicKey } = await makeEd25519()
    await expect(204, putPem('ed', privateKey.export({ format: 'pem', type: 'pkcs8' }) as string, ['EdDSA_Signature']))
    await shows('ed', 'Curve25519', publicKey)
    checkEd25519(publicKey, message, await signature('ed', 'EdDSA', message))
  })

  test('takes what the openssl command writes, and ignores blocks that are no private key', async () => {
    openssl('ecparam', '-name', 'prime256v1', '-genkey', '-out', 'params.pem') // EC PARAMETERS before EC PRIVATE KEY
    openssl('genrsa', '-traditional', '-out', 'rsa.pem', '2048')
    openssl('genpkey', '-algorithm', 'ed25519', '-out', 'ed.pem')
    openssl('req', '-x509', '-key', 'rsa.pem', '-subj', '/CN=x', '-out', 'cert.pem')
    const read = (name: string) => readFileSync(join(directory, name), 'utf8')
    await expect(204, putPem('params', read('params.pem'), ['ECDSA_Signature']))
    await expect(204, putPem('genrsa', read('rsa.pem'), ['RSA_Signature_PKCS1']))
    await expect(204, putPem('before', read('cert.pem') + read('ed.pem'), ['EdDSA_Signature']))
    await expect(204, putPem('after', `some text\n${read('ed.pem')}\n${read('cert.pem')}`, ['EdDSA_Signature']))
    await expect(204, putPem('crlf', read('ed.pem').replaceAll('\n', '\r\n'), ['EdDSA_Signature']))
    await refused(read('ed.pem') + read('rsa.pem'), [], 'two private keys')
    await refused(read('cert.pem'), [], 'no private key')
  })

  test('refuses what it cannot keep', async () => {
    const rsa = (await makeRsa(1024)).privateKey
    const pem = rsa.export({ format: 'pem', type: 'pkcs8' }) as string
    const encrypted = rsa.export({
      format: 'pem',
      type: 'pkcs8',
      cipher: 'aes-256-cbc',
      passphrase: 'secret',
    }) as string
    const legacy = rsa.export({ format: 'pem', type: 'pkcs1', cipher: 'aes-128-cbc', passphrase: 'secret' }) as string
    await refused(encrypted, ['RSA_Signature_PKCS1'], 'encrypted PKCS#8')
    await refused(legacy, ['RSA_Signature_PKCS1'], 'encrypted PKCS#1')
    await refused(openssl('genrsa', '-primes', '3', '2048'), ['RSA_Signature_PKCS1'], 'three primes')
    const explicit = openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-param_enc', 'explicit')
    await refused(explicit, ['ECDSA_Signature'], 'explicit curve parameters')
    for (const curve of ['secp224r1', 'prime192v1', 'brainpoolP320r1', 'brainpoolP256t1']) {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: curve })
      await refused(privateKey.export({ format: 'pem', type: 'pkcs8' }) as string, ['ECDSA_Signature'], curve)
    }
    for (const type of ['x25519', 'ed448'] as const) {
      const { privateKey } = type === 'x25519' ? generateKeyPairSync(type) : generateKeyPairSync(type)
      await refused(privateKey.export({ format: 'pem', type: 'pkcs8' }) as string, ['EdDSA_Signature'], type)
    }
    await refused(pem, ['EdDSA_Signature'], 'a mechanism that does not fit')
    await refused(
      generateKeyPairSync('rsa', { modulusLength: 512 }).privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
      [],
      '512 bits',
    )
    await refused(
      rsa
        .export({ format: 'pem', type: 'pkcs8' })
        .toString()
        .replace(/PRIVATE/g, 'PUBLIC'),
      [],
      'a wrong label',
    )
    const lines = pem.split('\n')
    await refused(lines.filter((_, index) => index !== 3).join('\n'), [], 'a line missing')
    await refused(lines.slice(0, -2).join('\n'), [], 'no end')
    await refused(pem.replace(/\n[A-Za-z0-9+/]/, '\n*'), [], 'not base64')
    await refused('', [], 'nothing')
    await refused('-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n', [], 'an empty block')
    const der = rsa.export({ format: 'der', type: 'pkcs8' })
    const wrap = (bytes: Uint8Array) =>
      `-----BEGIN PRIVATE KEY-----\n${Buffer.from(bytes).toString('base64')}\n-----END PRIVATE KEY-----\n`
    await refused(wrap(Buffer.concat([der, Buffer.from([0])])), [], 'a trailing byte')
    await refused(wrap(der.subarray(0, -1)), [], 'a missing byte')
    for (let at = 0; at < 40; at++) {
      const changed = Buffer.from(der)
      changed[at] = changed[at]! ^ 0x11
      const { status } = await putPem(`flip${at}`, wrap(changed), ['RSA_Signature_PKCS1'])
      assert([204, 400].includes(status), `byte ${at}: ${status}`)
    }
  })

  test('the parts may come in any order, under any name and content type', async () => {
    const pem = (await makeEd25519()).privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
    const json = '{"mechanisms":["EdDSA_Signature"],"label":"l","restrictions":{"tags":["t"]}}'
    await expect(204, put('order1', [part('key_file', pem), part('arguments', json)]))
    await expect(204, put('order2', [part('arguments', json), part('whatever', pem, 'content-type: text/plain\r\n')]))
    await expect(204, put('order3', [part('arguments', json, 'content-type: application/json\r\n'), part('zzz', pem)]))
    for (const id of ['order1', 'order2', 'order3']) {
      const shown = (await appliance.call('GET', `/keys/${id}`, { as: ADMIN })).json<Record<string, unknown>>()
      assert.equal(shown.label, 'l')
      assert.deepEqual(shown.restrictions, { tags: ['t'] })
    }
    const type = `multipart/form-data; boundary="${BOUNDARY}"`
    const body = multipart([part('arguments', json), part('key_file', pem)])
    const posted = await expect(201, appliance.call('POST', '/keys', { as: ADMIN, type, body }))
    assert.equal(posted.headers.location, `/api/v1/keys/${posted.json<{ id: string }>().id}`)
    await expect(409, put('order1', [part('key_file', pem), part('arguments', json)]))
  })

  test('there are exactly two parts, one of them the arguments', async () => {
    const pem = (await makeEd25519()).privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
    const json = '{"mechanisms":["EdDSA_Signature"]}'
    const arguments_ = part('arguments', json)
    const file = part('key_file', pem)
    const refusedParts = async (parts: Part[], what: string) =>
      assert.equal((await put('parts', parts)).status, 400, what)
    await refusedParts([], 'none')
    await refusedParts([arguments_], 'no file')
    await refusedParts([file], 'no arguments')
    await refusedParts([file, file], 'two files')
    await refusedParts([arguments_, arguments_], 'arguments twice')
    await refusedParts([arguments_, file, file], 'three parts')
    await refusedParts([arguments_, file, part('more', '')], 'an empty third part')
    for (const bad of [
      '',
      '{}',
      '{}}}',
      '[]',
      'null',
      '{"mechanisms":"EdDSA_Signature"}',
      '{"mechanisms":["EdDSA_Signature"],"type":"Curve25519"}',
      '{"mechanisms":["EdDSA_Signature"],"label":1}',
      '{"mechanisms":["EdDSA_Signature"],"label":null}',
      '{"mechanisms":["EdDSA_Signature"],"restrictions":{"tags":[".x"]}}',
    ]) {
      await refusedParts([part('arguments', bad), file], bad)
    }
    const send = (type: string, body: string) => appliance.call('PUT', '/keys/parts', { as: ADMIN, type, body })
    const good = multipart([arguments_, file])
    await expect(400, send('multipart/form-data', good)) // no boundary
    await expect(400, send('multipart/form-data; boundary=other', good))
    await expect(400, send(`multipart/form-data; boundary="${BOUNDARY}"`, good.slice(0, -30)))
    await expect(400, send(`multipart/form-data; boundary="${BOUNDARY}"`, ''))
    await expect(415, send(`multipart/mixed; boundary="${BOUNDARY}"`, good))
    await expect(404, appliance.call('GET', '/keys/parts', { as: ADMIN }))
  })
})
