/** Keys on curves through the API, checked by OpenSSL and noble: contract 4.4, 6.1, 6.3 and 6.4. */

import assert from 'node:assert/strict'
import { createHash, type KeyObject, randomBytes, sign as sign_ } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, credentialsOf, startProvisioned } from '../support/suite.ts'
import {
  bigEndian,
  CURVES,
  checkBip340,
  checkEcdsa,
  checkEd25519,
  makeEc,
  makeEd25519,
  privateMembers,
  publicKeyOf,
  publicMembers,
} from './oracle.ts'

let appliance: Appliance
const operator = credentialsOf('operator')
const message = Buffer.from('a message that was not hashed yet')

const send = (method: string, path: string, json: unknown, as: string) => appliance.call(method, path, { as, json })
const sign = (id: string, mode: string, input: Uint8Array) =>
  send('POST', `/keys/${id}/sign`, { mode, message: Buffer.from(input).toString('base64') }, operator)
const show = async (id: string) =>
  (await expect(200, appliance.call('GET', `/keys/${id}`, { as: ADMIN }))).json<{
    public: { data: string }
    operations: number
  }>()
const publicPem = async (id: string) =>
  (await expect(200, appliance.call('GET', `/keys/${id}/public.pem`, { as: operator }))).text()

async function signature(id: string, mode: string, input: Uint8Array): Promise<Buffer> {
  const reply = await expect(200, sign(id, mode, input))
  return Buffer.from(reply.json<{ signature: string }>().signature, 'base64')
}

async function checkShown(id: string, publicKey: KeyObject) {
  assert.deepEqual((await show(id)).public, publicMembers(publicKey))
  assert.equal(await publicPem(id), publicKey.export({ format: 'pem', type: 'spki' }))
}

describe('curves', () => {
  before(async () => {
    appliance = await startProvisioned()
    await addUser(appliance, 'operator', 'Operator')
  })
  after(() => appliance?.dispose())

  for (const curve of CURVES) {
    const digest = createHash(curve.digest).update(message).digest()
    const mechanisms = ['ECDSA_Signature']

    const check = async (id: string, publicKey: KeyObject) => {
      await checkShown(id, publicKey)
      const once = await signature(id, 'ECDSA', digest)
      checkEcdsa(publicKey, curve.digest, message, once)
      const again = await signature(id, 'ECDSA', digest)
      checkEcdsa(publicKey, curve.digest, message, again)
      assert(!once.equals(again), 'a random nonce')
      for (const length of [0, 1, curve.digestBytes - 1, curve.digestBytes + 1, curve.scalarBytes + 1, 128]) {
        if (length !== curve.digestBytes) await expect(400, sign(id, 'ECDSA', randomBytes(length)))
      }
      await expect(400, sign(id, 'EdDSA', digest))
      await expect(400, sign(id, 'PKCS1', digest))
      const encrypted = { mode: 'RAW', encrypted: digest.toString('base64') }
      await expect(400, send('POST', `/keys/${id}/decrypt`, encrypted, operator))
      assert.equal((await show(id)).operations, 2)
    }

    test(`a generated key on ${curve.type} signs`, async () => {
      const id = `g${curve.type}`
      await expect(201, send('POST', '/keys/generate', { type: curve.type, mechanisms, id }, ADMIN))
      const publicKey = publicKeyOf(await publicPem(id))
      assert.equal(publicKey.asymmetricKeyDetails!.namedCurve, curve.openssl)
      await check(id, publicKey)
    })

    test(`an imported key on ${curve.type} signs`, async () => {
      const { privateKey, publicKey } = await makeEc(curve)
      const id = `i${curve.type}`
      const json = { type: curve.type, mechanisms, private: privateMembers(privateKey) }
      await expect(204, send('PUT', `/keys/${id}`, json, ADMIN))
      await check(id, publicKey)
    })

    test(`a scalar on ${curve.type} lies between 1 and the order and has its exact length`, async () => {
      const put = (scalar: Buffer) => {
        const json = { type: curve.type, mechanisms, private: { data: scalar.toString('base64') } }
        return send('PUT', `/keys/s${curve.type}${scalar.at(-1)}`, json, ADMIN)
      }
      const { scalarBytes, order } = curve
      for (const good of [1n, 2n, order - 1n]) await expect(204, put(bigEndian(good, scalarBytes)))
      for (const bad of [0n, order, order + 1n]) await expect(400, put(bigEndian(bad, scalarBytes)))
      await expect(400, put(Buffer.alloc(scalarBytes, 0xff)))
      await expect(400, put(bigEndian(5n, scalarBytes - 1)))
      await expect(400, put(bigEndian(5n, scalarBytes + 1)))
      await expect(400, put(Buffer.alloc(0)))
      await expect(400, put(bigEndian(5n, 1)))
    })
  }

  test('s is not normalized', async () => {
    const { order } = CURVES[0]!
    const digest = createHash('sha256').update(message).digest()
    const halves = new Set<boolean>()
    for (let count = 0; count < 64 && halves.size < 2; count++) {
      const der = await signature('gEC_P256', 'ECDSA', digest)
      const rBytes = der[3]!
      const s = BigInt(`0x${der.subarray(4 + rBytes + 2).toString('hex')}`)
      halves.add(s > order / 2n)
    }
    assert.equal(halves.size, 2, 'both halves of the order within 64 signatures')
  })

  describe('Ed25519', () => {
    test('signs messages of any length as RFC 8032 does, generated or imported', async () => {
      const pair = await makeEd25519()
      const mechanisms = ['EdDSA_Signature']
      const json = { type: 'Curve25519', mechanisms, private: privateMembers(pair.privateKey) }
      await expect(204, send('PUT', '/keys/ied', json, ADMIN))
      await checkShown('ied', pair.publicKey)
      await expect(201, send('POST', '/keys/generate', { type: 'Curve25519', mechanisms, id: 'ged' }, ADMIN))
      const generated = publicKeyOf(await publicPem('ged'))
      assert.equal(generated.asymmetricKeyType, 'ed25519')
      await checkShown('ged', generated)
      for (const length of [0, 1, 31, 32, 64, 1000, 1_000_000]) {
        const input = randomBytes(length)
        const made = await signature('ied', length % 2 === 0 ? 'EdDSA' : 'ED25519', input)
        assert(made.equals(sign_(null, input, pair.privateKey)), 'deterministic')
        checkEd25519(generated, input, await signature('ged', 'EdDSA', input))
      }
      for (const mode of ['ECDSA', 'BIP340', 'PKCS1', 'EdDSA2']) await expect(400, sign('ged', mode, message))
      assert.equal((await show('ged')).operations, 7)
    })

    test('a seed has 32 bytes', async () => {
      for (const length of [0, 1, 31, 33, 64]) {
        const data = Buffer.alloc(length, 5).toString('base64')
        const json = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'], private: { data } }
        await expect(400, send('PUT', '/keys/short', json, ADMIN))
      }
    })
  })

  describe('BIP-340', () => {
    test('signs messages of any length, freshly each time', async () => {
      const { privateKey, publicKey } = await makeEc(CURVES[3]!)
      const mechanisms = ['ECDSA_Signature', 'BIP340_Signature']
      const json = { type: 'EC_P256K1', mechanisms, private: privateMembers(privateKey) }
      await expect(204, send('PUT', '/keys/ibip', json, ADMIN))
      await checkShown('ibip', publicKey)
      await expect(201, send('POST', '/keys/generate', { type: 'EC_P256K1', mechanisms, id: 'gbip' }, ADMIN))
      for (const id of ['ibip', 'gbip']) {
        const point = Buffer.from((await show(id)).public.data, 'base64')
        for (const length of [0, 31, 32, 33, 1000, 100_000]) {
          const input = randomBytes(length)
          const once = await signature(id, 'BIP340', input)
          const again = await signature(id, 'BIP340', input)
          checkBip340(point, input, once)
          checkBip340(point, input, again)
          assert(!once.equals(again), 'fresh auxiliary randomness')
        }
        const digest = createHash('sha256').update(message).digest()
        checkEcdsa(publicKeyOf(await publicPem(id)), 'sha256', message, await signature(id, 'ECDSA', digest))
      }
    })

    test('needs its own mechanism', async () => {
      await expect(400, sign('gEC_P256K1', 'BIP340', message))
      const json = { type: 'EC_P256K1', mechanisms: ['BIP340_Signature'], id: 'only' }
      await expect(201, send('POST', '/keys/generate', json, ADMIN))
      await expect(200, sign('only', 'BIP340', message))
      await expect(400, sign('only', 'ECDSA', randomBytes(32)))
    })
  })
})
