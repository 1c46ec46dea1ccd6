// @test long 55
/** RSA keys through the API, checked by OpenSSL: contract 4.4, 4.5, 6.1, 6.2 and 6.4. */

import assert from 'node:assert/strict'
import { createHash, generatePrimeSync, type KeyObject, randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, credentialsOf, startProvisioned } from '../support/suite.ts'
import {
  bigEndian,
  checkPkcs1,
  checkPkcs1Hash,
  checkPss,
  encryptOaep,
  encryptPkcs1,
  HASHES,
  hashBytes,
  makeRsa,
  modulusBytes,
  type Pair,
  privateMembers,
  publicKeyOf,
  publicMembers,
  rsaPublic,
} from './oracle.ts'

const DECRYPT = ['RAW', 'PKCS1', ...HASHES.map((hash) => `OAEP_${hash}`)]
const SIGN = ['PKCS1', ...HASHES.map((hash) => `PKCS1_${hash}`), ...HASHES.map((hash) => `PSS_${hash}`)]
const MECHANISMS = [...DECRYPT.map((mode) => `RSA_Decryption_${mode}`), ...SIGN.map((mode) => `RSA_Signature_${mode}`)]
const GENERATE_MS_MAX = 300_000

let appliance: Appliance
const operator = credentialsOf('operator')
const message = Buffer.from('a message that was not hashed yet')

const send = (method: string, path: string, json: unknown, as: string) =>
  appliance.call(method, path, { as, json, timeoutMs: GENERATE_MS_MAX })
const importKey = (id: string, json: object) => send('PUT', `/keys/${id}`, { type: 'RSA', ...json }, ADMIN)
const sign = (id: string, mode: string, input: Uint8Array) =>
  send('POST', `/keys/${id}/sign`, { mode, message: Buffer.from(input).toString('base64') }, operator)
const decrypt = (id: string, mode: string, input: Uint8Array) =>
  send('POST', `/keys/${id}/decrypt`, { mode, encrypted: Buffer.from(input).toString('base64') }, operator)

async function signature(id: string, mode: string, input: Uint8Array): Promise<Buffer> {
  const reply = await expect(200, sign(id, mode, input))
  return Buffer.from(reply.json<{ signature: string }>().signature, 'base64')
}

async function decrypted(id: string, mode: string, input: Uint8Array): Promise<Buffer> {
  const reply = await expect(200, decrypt(id, mode, input))
  return Buffer.from(reply.json<{ decrypted: string }>().decrypted, 'base64')
}

async function failsToDecrypt(id: string, mode: string, input: Uint8Array, what: string) {
  const reply = await decrypt(id, mode, input)
  assert.equal(reply.status, 400, `${mode} ${what}`)
  assert.deepEqual(reply.json(), { message: 'Decryption failure' }, `${mode} ${what}`)
}

const operations = async (id: string) =>
  (await expect(200, appliance.call('GET', `/keys/${id}`, { as: ADMIN }))).json<{ operations: number }>().operations

/** Every mode once, with what the length of the modulus leaves possible. Returns the number of operations. */
async function useInEveryMode(id: string, publicKey: KeyObject): Promise<number> {
  const bits = publicKey.asymmetricKeyDetails!.modulusLength!
  const k = modulusBytes(publicKey)
  let done = 0
  for (const length of [0, 1, 20, k - 11]) {
    const input = randomBytes(length)
    checkPkcs1(publicKey, input, await signature(id, 'PKCS1', input))
    done++
  }
  await expect(400, sign(id, 'PKCS1', randomBytes(k - 10)))
  for (const hash of HASHES) {
    const digest = createHash(hash).update(message).digest()
    checkPkcs1Hash(publicKey, hash, message, await signature(id, `PKCS1_${hash}`, digest))
    done++
    if (Math.floor(bits / 8) < 2 * hashBytes(hash) + 2) {
      await expect(400, sign(id, `PSS_${hash}`, digest))
      await failsToDecrypt(id, `OAEP_${hash}`, bigEndian(5n, k), 'with too small a key')
    } else {
      const once = await signature(id, `PSS_${hash}`, digest)
      const again = await signature(id, `PSS_${hash}`, digest)
      checkPss(publicKey, hash, message, once)
      checkPss(publicKey, hash, message, again)
      assert(!once.equals(again), 'a fresh salt each time')
      const input = randomBytes(Math.max(1, k - 2 * hashBytes(hash) - 2))
      if (k - 2 * hashBytes(hash) - 2 > 0) {
        assert((await decrypted(id, `OAEP_${hash}`, encryptOaep(publicKey, hash, input))).equals(input))
        done++
      }
      done += 2
    }
  }
  for (const length of [1, 16, k - 11]) {
    const input = randomBytes(length)
    assert((await decrypted(id, 'PKCS1', encryptPkcs1(publicKey, input))).equals(input))
    done++
  }
  const small = bigEndian(0x1234n, k)
  assert((await decrypted(id, 'RAW', rsaPublic(publicKey, small))).equals(small), 'leading zeros are kept')
  return done + 1
}

describe('RSA', () => {
  let pair1536: Pair
  /** The slow ones are made while the fast ones are tested. */
  const slow = new Map<number, Promise<Pair>>()

  before(async () => {
    for (const bits of [3072, 4096, 8192]) slow.set(bits, makeRsa(bits))
    appliance = await startProvisioned()
    await addUser(appliance, 'operator', 'Operator')
    pair1536 = await makeRsa(1536)
    await expect(204, importKey('k1536', { mechanisms: MECHANISMS, private: privateMembers(pair1536.privateKey) }))
  })
  after(() => appliance?.dispose())

  for (const bits of [1024, 2048, 2050]) {
    test(`a generated key of ${bits} bits works in every mode`, async () => {
      const id = `generated${bits}`
      const json = { type: 'RSA', length: bits, mechanisms: MECHANISMS, id }
      await expect(201, send('POST', '/keys/generate', json, ADMIN))
      const publicKey = publicKeyOf((await appliance.call('GET', `/keys/${id}/public.pem`, { as: ADMIN })).text())
      assert.equal(publicKey.asymmetricKeyDetails!.modulusLength, bits)
      assert.equal(publicKey.asymmetricKeyDetails!.publicExponent, 65537n)
      const done = await useInEveryMode(id, publicKey)
      assert.equal(await operations(id), done, 'failed calls do not count')
    })
  }

  for (const [bits, exponent] of [
    [1024, 3],
    [1025, 65537],
    [1039, 65537],
    [1040, 17],
    [2049, 65537],
    [2050, 4294967291],
    [3072, 65537],
    [4096, 65537],
    [8192, 65537],
  ] as const) {
    test(`an imported key of ${bits} bits with exponent ${exponent} works in every mode`, async () => {
      const { privateKey, publicKey } = await (slow.get(bits) ?? makeRsa(bits, exponent))
      const id = `imported${bits}e${exponent}`
      await expect(204, importKey(id, { mechanisms: MECHANISMS, private: privateMembers(privateKey) }))
      const shown = (await appliance.call('GET', `/keys/${id}`, { as: ADMIN })).json<Record<string, unknown>>()
      assert.deepEqual(shown.public, publicMembers(publicKey))
      assert.equal(shown.modulus, publicMembers(publicKey).modulus)
      const pem = (await appliance.call('GET', `/keys/${id}/public.pem`, { as: ADMIN })).text()
      assert.equal(pem, publicKey.export({ format: 'pem', type: 'spki' }))
      const done = await useInEveryMode(id, publicKey)
      assert.equal(await operations(id), done)
    })
  }

  test('keys of odd lengths sign and decrypt', async () => {
    const problems: string[] = []
    // Limbs of an engine end at other bits than bytes do: lengths all over the place.
    for (const bits of [...Array.from({ length: 32 }, (_, index) => 1088 + 29 * index), 1280, 1408, 2400, 2912]) {
      const { privateKey, publicKey } = await makeRsa(bits)
      const id = `odd${bits}`
      const json = { mechanisms: MECHANISMS, private: privateMembers(privateKey) }
      const imported = await importKey(id, json)
      if (imported.status !== 204) {
        problems.push(`${bits} bits: ${imported.status} ${imported.text()}`)
        continue
      }
      checkPkcs1(publicKey, message, await signature(id, 'PKCS1', message))
      assert((await decrypted(id, 'PKCS1', encryptPkcs1(publicKey, message))).equals(message))
    }
    assert.deepEqual(problems, [])
  })

  test('a mechanism permits its own modes and no other', async () => {
    const { privateKey, publicKey } = pair1536
    const k = modulusBytes(publicKey)
    const inputs: Record<string, Buffer> = { RAW: bigEndian(99n, k), PKCS1: encryptPkcs1(publicKey, message) }
    for (const hash of HASHES) {
      const room = k - 2 * hashBytes(hash) - 2
      inputs[`OAEP_${hash}`] = encryptOaep(publicKey, hash, message.subarray(0, Math.min(room, 10)))
    }
    const problems: string[] = []
    for (const mechanism of MECHANISMS) {
      const id = mechanism
      await expect(204, importKey(id, { mechanisms: [mechanism], private: privateMembers(privateKey) }))
      for (const mode of SIGN) {
        const hash = mode.split('_')[1]
        const input = hash === undefined ? message : createHash(hash).update(message).digest()
        const permitted =
          mechanism === `RSA_Signature_${mode}` || (mechanism === 'RSA_Signature_PKCS1' && mode.startsWith('PKCS1_'))
        const { status } = await sign(id, mode, input)
        if (status !== (permitted ? 200 : 400)) problems.push(`${mechanism}: sign ${mode} is ${status}`)
      }
      for (const mode of DECRYPT) {
        const { status } = await decrypt(id, mode, inputs[mode]!)
        if (status !== (mechanism === `RSA_Decryption_${mode}` ? 200 : 400)) {
          problems.push(`${mechanism}: decrypt ${mode} is ${status}`)
        }
      }
    }
    assert.deepEqual(problems, [])
  })

  test('modes of other key types are refused', async () => {
    for (const mode of ['ECDSA', 'EdDSA', 'ED25519', 'BIP340', 'PSS', 'pkcs1', 'OAEP_SHA256', 'PSS_SHA3', '']) {
      await expect(400, sign('k1536', mode, message))
    }
    for (const mode of ['AES_CBC', 'PSS_SHA256', 'raw', 'OAEP', '']) await expect(400, decrypt('k1536', mode, message))
    const encrypt = { mode: 'AES_CBC', message: 'AAAA' }
    await expect(400, send('POST', '/keys/k1536/encrypt', encrypt, operator))
  })

  test('a digest has exactly the length of its hash', async () => {
    for (const hash of HASHES) {
      for (const length of [0, 1, hashBytes(hash) - 1, hashBytes(hash) + 1, 2 * hashBytes(hash)]) {
        await expect(400, sign('k1536', `PSS_${hash}`, randomBytes(length)))
        await expect(400, sign('k1536', `PKCS1_${hash}`, randomBytes(length)))
      }
    }
  })

  test('RAW takes an integer of any length from 2 to n - 1', async () => {
    const { publicKey } = pair1536
    const k = modulusBytes(publicKey)
    const n = BigInt(`0x${Buffer.from(publicMembers(publicKey).modulus!, 'base64').toString('hex')}`)
    const raw = (bytes: Uint8Array) => decrypted('k1536', 'RAW', bytes)
    const two = await raw(Buffer.from([2]))
    assert.equal(two.length, k)
    assert(rsaPublic(publicKey, two).equals(bigEndian(2n, k)))
    assert((await raw(bigEndian(2n, 3 * k))).equals(two), 'leading zeros do not matter')
    assert((await raw(bigEndian(n - 1n, k))).equals(bigEndian(n - 1n, k))) // -1 to an odd power
    for (const bad of [0n, 1n, n, n + 1n, n + 2n, (1n << BigInt(8 * k)) - 1n, n * n]) {
      const { status } = await decrypt('k1536', 'RAW', bigEndian(bad, 3 * k))
      assert.equal(status, 400, bad.toString(16))
    }
    await expect(400, decrypt('k1536', 'RAW', Buffer.alloc(0)))
  })

  test('every padding error is the same failure', async () => {
    const { publicKey } = pair1536
    const k = modulusBytes(publicKey)
    const encode = (text: string) => {
      const parts = text.split(' ').map((part) => {
        const [byte, count] = part.split('*')
        return Buffer.alloc(Number(count ?? 1), Number.parseInt(byte!, 16))
      })
      const head = Buffer.concat(parts)
      return rsaPublic(publicKey, Buffer.concat([head, Buffer.alloc(k - head.length, 0x41)]))
    }
    assert.equal((await decrypted('k1536', 'PKCS1', encode('00 02 ff*8 00'))).length, k - 11)
    for (const block of [
      '00 02 ff*7 00',
      '00 02 00',
      '00 01 ff*8 00',
      '00 00 ff*8 00',
      '01 02 ff*8 00',
      '00 02',
      '00 03 ff*8 00',
    ]) {
      await failsToDecrypt('k1536', 'PKCS1', encode(block), block)
    }
    const good = encryptPkcs1(publicKey, message)
    await failsToDecrypt('k1536', 'PKCS1', good.subarray(1), 'cut')
    await failsToDecrypt('k1536', 'PKCS1', Buffer.concat([Buffer.from([0]), good]), 'a byte more')
    await failsToDecrypt('k1536', 'PKCS1', Buffer.alloc(k, 0xff), 'not below n')
    await failsToDecrypt('k1536', 'PKCS1', Buffer.alloc(k), 'zero')
    for (const hash of HASHES) {
      if (k - 2 * hashBytes(hash) - 2 < 1) continue
      const mode = `OAEP_${hash}`
      const input = message.subarray(0, 4)
      const other = hash === 'SHA1' ? 'SHA224' : 'SHA1'
      await failsToDecrypt('k1536', mode, encryptOaep(publicKey, other, input), 'of another hash')
      await failsToDecrypt('k1536', mode, encryptOaep(publicKey, hash, input, Buffer.from('label')), 'with a label')
      await failsToDecrypt('k1536', mode, encode('00 02 ff*8 00'), 'not OAEP at all')
      await failsToDecrypt('k1536', mode, encryptOaep(publicKey, hash, input).subarray(1), 'cut')
      await failsToDecrypt('k1536', mode, Buffer.alloc(k), 'zero')
      await failsToDecrypt('k1536', mode, Buffer.alloc(k, 0xff), 'not below n')
    }
  })

  describe('import', () => {
    const base64 = (value: bigint) => bigEndian(value, Math.ceil(value.toString(16).length / 2)).toString('base64')
    const integer = (text: string) => BigInt(`0x${Buffer.from(text, 'base64').toString('hex')}`)
    const members = () => privateMembers(pair1536.privateKey) as Record<'primeP' | 'primeQ' | 'publicExponent', string>
    const mechanisms = ['RSA_Signature_PKCS1']
    const refused = async (change: object, what: string) => {
      const reply = await importKey('refused', { mechanisms, private: { ...members(), ...change } })
      assert.equal(reply.status, 400, what)
    }

    test('accepts primes in any order and with leading zeros', async () => {
      const { primeP, primeQ, publicExponent } = members()
      const padded = (text: string) => Buffer.concat([Buffer.alloc(5), Buffer.from(text, 'base64')]).toString('base64')
      const swapped = { primeP: primeQ, primeQ: primeP, publicExponent }
      await expect(204, importKey('swapped', { mechanisms, private: swapped }))
      const long = { primeP: padded(primeP), primeQ: padded(primeQ), publicExponent: padded(publicExponent) }
      await expect(204, importKey('padded', { mechanisms, private: long }))
      for (const id of ['swapped', 'padded']) {
        const shown = (await appliance.call('GET', `/keys/${id}`, { as: ADMIN })).json<{ public: object }>()
        assert.deepEqual(shown.public, publicMembers(pair1536.publicKey))
        checkPkcs1(pair1536.publicKey, message, await signature(id, 'PKCS1', message))
      }
    })

    test('refuses what is no RSA key', async () => {
      const { primeP, primeQ } = members()
      const p = integer(primeP)
      const q = integer(primeQ)
      await refused({ primeQ: primeP }, 'p = q')
      const factors = generatePrimeSync(321, { bigint: true }) * generatePrimeSync(320, { bigint: true })
      await refused({ primeP: base64(factors) }, 'a p of two large factors')
      await refused({ primeP: base64(p * q) }, 'a composite p')
      await refused({ primeP: base64(p - 1n) }, 'an even p')
      await refused({ primeP: 'AA==' }, 'p = 0')
      await refused({ primeP: 'AQ==' }, 'p = 1')
      await refused({ primeP: 'Aw==' }, 'p = 3')
      await refused({ primeP: '' }, 'no p')
      await refused({ publicExponent: 'AA==' }, 'e = 0')
      await refused({ publicExponent: 'AQ==' }, 'e = 1')
      await refused({ publicExponent: 'Ag==' }, 'e = 2')
      await refused({ publicExponent: base64(65536n) }, 'an even e')
      await refused({ publicExponent: base64(smallestOddFactor(p - 1n)) }, 'e not coprime to p - 1')
      await refused({ publicExponent: base64(p * q + 2n) }, 'e > n')
      await refused({ data: 'AAAA' }, 'a member of other types')
      await refused({ primeP: undefined }, 'p missing')
      await refused({ publicExponent: undefined }, 'e missing')
      const { status } = await importKey('refused', { mechanisms, private: { data: primeP } })
      assert.equal(status, 400)
      // Carmichael numbers pass a Fermat test.
      await refused({ primeP: base64(561n), primeQ }, 'a small Carmichael number')
    })

    test('refuses sizes outside 1024 to 8192 bits', async () => {
      const small = await makeRsa(1016)
      const { status } = await importKey('small', { mechanisms, private: privateMembers(small.privateKey) })
      assert.equal(status, 400)
    })
  })
})

function smallestOddFactor(value: bigint): bigint {
  for (let factor = 3n; factor < 100_000n; factor += 2n) if (value % factor === 0n) return factor
  let rest = value
  while (rest % 2n === 0n) rest /= 2n
  return rest
}
