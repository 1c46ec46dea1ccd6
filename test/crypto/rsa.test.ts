// @test long 30
import assert from 'node:assert/strict'
import { constants, createHash, publicDecrypt, publicEncrypt, randomBytes, verify } from 'node:crypto'
import { test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import type { Engine } from '../../firmware/crypto/engine/engine.ts'
import { plainEngine } from '../../firmware/crypto/engine/integer/integer.ts'
import { engine as selectedEngine } from '../../firmware/crypto/engine/select.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { RSA_HASHES } from '../../firmware/crypto/rsa/padding.ts'
import { openRsa } from '../../firmware/crypto/rsa/private-key.ts'
import { type DecryptMode, HASHES, type SignMode } from '../../firmware/crypto/types.ts'
import { opensslKey, powerOf, type TestKey, toBigInt, toBytes } from './rsa-keys.ts'

const SIZES = [1024, 1025, 1031, 2048, 2050, 3072, 4096]

const invalid = (message: RegExp) => (error: unknown) =>
  error instanceof CofferError && error.code === 'invalid' && message.test(error.message)
const decryptionFailure = invalid(/^Decryption failure$/)

for (const bits of SIZES) {
  const testKey = opensslKey(bits)
  for (const engine of new Set([plainEngine, selectedEngine])) testModes(bits, testKey, engine)
}

function testModes(bits: number, { key, privateKey, publicKey }: TestKey, engine: Engine): void {
  const rsa = openRsa(key, systemRandom, engine)
  const k = Math.ceil(bits / 8)
  const subject = `${bits} bits, ${engine.name} engine`

  test(`${subject}: OpenSSL verifies the signatures of every mode`, () => {
    assert.equal(rsa.bits, bits)
    assert.equal(rsa.modulusBytes, k)
    const message = randomBytes(100)
    const raw = rsa.sign('PKCS1', message)
    assert.equal(raw.length, k)
    assert.deepEqual(publicDecrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, raw), message)
    for (const name of HASHES) {
      const digest = createHash(name).update(message).digest()
      const signature = rsa.sign(`PKCS1_${name}`, digest)
      assert.ok(verify(name, message, { key: publicKey, padding: constants.RSA_PKCS1_PADDING }, signature), name)
      if (Math.floor(bits / 8) < 2 * digest.length + 2) {
        assert.throws(() => rsa.sign(`PSS_${name}`, digest), invalid(/too short for PSS_/))
        continue
      }
      const pss = rsa.sign(`PSS_${name}`, digest)
      assert.equal(pss.length, k)
      const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: digest.length }
      assert.ok(verify(name, message, { key: publicKey, ...padding }, pss), name)
      assert.notDeepEqual(rsa.sign(`PSS_${name}`, digest), pss)
    }
  })

  test(`${subject}: decrypts what OpenSSL encrypted, in every mode`, () => {
    for (const length of [0, 1, 53, k - 11]) {
      const message = new Uint8Array(randomBytes(length))
      const encrypted = publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, message)
      assert.deepEqual(rsa.decrypt('PKCS1', encrypted), message)
    }
    for (const name of HASHES) {
      const longest = k - 2 * RSA_HASHES[name].bytes - 2
      if (longest < 0) {
        assert.throws(() => rsa.decrypt(`OAEP_${name}`, new Uint8Array(k)), decryptionFailure)
        continue
      }
      for (const length of [0, Math.min(20, longest), longest]) {
        const message = new Uint8Array(randomBytes(length))
        const padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: name }
        assert.deepEqual(rsa.decrypt(`OAEP_${name}`, publicEncrypt({ key: publicKey, ...padding }, message)), message)
      }
    }
  })

  test(`${subject}: RAW is the bare operation, in exactly the modulus's length`, () => {
    const n = toBigInt(key.n)
    const d = toBigInt(new Uint8Array(Buffer.from(privateKey.export({ format: 'jwk' }).d!, 'base64url')))
    for (const c of [2n, 3n, 1n << BigInt(bits - 1), n - 1n, n - 2n, toBigInt(randomBytes(k)) % n]) {
      const expected = toBytes(powerOf(c, d, n), k)
      assert.deepEqual(rsa.decrypt('RAW', toBytes(c, k)), expected)
      assert.deepEqual(rsa.decrypt('RAW', toBytes(c, k + 3)), expected)
    }
    assert.deepEqual(rsa.decrypt('RAW', Uint8Array.of(2)), toBytes(powerOf(2n, d, n), k))
    const small = toBytes(powerOf(5n, toBigInt(key.e), n), k)
    assert.deepEqual(rsa.decrypt('RAW', small), toBytes(5n, k))
    for (const c of [0n, 1n, n, n + 1n, 2n ** BigInt(8 * k) - 1n]) {
      assert.throws(() => rsa.decrypt('RAW', toBytes(c, k)), decryptionFailure)
    }
    assert.throws(() => rsa.decrypt('RAW', new Uint8Array()), decryptionFailure)
    assert.throws(() => rsa.decrypt('RAW', randomBytes(k + 1).fill(1, 0, 1)), decryptionFailure)
  })
}

const { key, publicKey } = opensslKey(1024)
const rsa = openRsa(key)

test('8192 bits: signs and decrypts', () => {
  const large = opensslKey(8192)
  const opened = openRsa(large.key)
  const message = new Uint8Array(randomBytes(64))
  const digest = createHash('sha512').update(message).digest()
  assert.ok(verify('sha512', message, large.publicKey, opened.sign('PKCS1_SHA512', digest)))
  const encrypted = publicEncrypt({ key: large.publicKey, oaepHash: 'sha512' }, message)
  assert.deepEqual(opened.decrypt('OAEP_SHA512', encrypted), message)
  opened.wipe()
})

test('refuses messages of the wrong length', () => {
  assert.equal(rsa.sign('PKCS1', new Uint8Array(117)).length, 128)
  assert.throws(() => rsa.sign('PKCS1', new Uint8Array(118)), invalid(/^message: too long/))
  for (const name of HASHES) {
    for (const length of [0, RSA_HASHES[name].bytes - 1, RSA_HASHES[name].bytes + 1]) {
      for (const mode of [`PKCS1_${name}`, `PSS_${name}`] as const) {
        assert.throws(() => rsa.sign(mode, new Uint8Array(length)), invalid(/^message: P.* signs digests of/))
      }
    }
  }
})

test('refuses modes of other key types', () => {
  for (const mode of ['EdDSA', 'ECDSA', 'BIP340', 'PKCS1_SHA3', 'PSS', 'PSS_', 'OAEP_SHA256', ''] as SignMode[]) {
    assert.throws(() => rsa.sign(mode, new Uint8Array(32)), invalid(/^mode: /))
  }
  for (const mode of ['AES_CBC', 'OAEP', 'PKCS1_SHA256', 'RAW_SHA256', ''] as DecryptMode[]) {
    assert.throws(() => rsa.decrypt(mode, new Uint8Array(128)), invalid(/^mode: /))
  }
})

test('refuses encrypted bytes of the wrong length, alike in every mode', () => {
  const encrypted = publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, randomBytes(8))
  for (const mode of ['PKCS1', 'OAEP_SHA1'] as const) {
    for (const bytes of [encrypted.subarray(1), Buffer.concat([Buffer.of(0), encrypted]), new Uint8Array()]) {
      assert.throws(() => rsa.decrypt(mode, bytes), decryptionFailure)
    }
    assert.throws(() => rsa.decrypt(mode, new Uint8Array(128).fill(0xff)), decryptionFailure)
    assert.throws(() => rsa.decrypt(mode, key.n), decryptionFailure)
    assert.throws(() => rsa.decrypt(mode, new Uint8Array(128)), decryptionFailure)
  }
})

test('random encrypted bytes fail in one way or decrypt', () => {
  let failures = 0
  for (let i = 0; i < 300; i++) {
    const encrypted = randomBytes(128)
    encrypted[0]! &= 0x7f
    for (const mode of ['PKCS1', 'OAEP_SHA256'] as const) {
      try {
        rsa.decrypt(mode, encrypted)
      } catch (error) {
        assert.ok(decryptionFailure(error), String(error))
        failures++
      }
    }
  }
  assert.ok(failures > 590)
})

test('gives right results over many renewals of the blinding', () => {
  for (let i = 0; i < 200; i++) {
    const message = new Uint8Array(randomBytes(1 + (i % 100)))
    const encrypted = publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, message)
    assert.deepEqual(rsa.decrypt('PKCS1', encrypted), message)
  }
})

test('what the exponentiation sees changes from one operation to the next', () => {
  const bases = new Set<string>()
  const watched = openRsa(key, systemRandom, {
    ...plainEngine,
    openRsa: (numbers) => {
      const arithmetic = plainEngine.openRsa(numbers)
      const privatePower = arithmetic.privatePower.bind(arithmetic)
      arithmetic.privatePower = (base) => {
        bases.add(Buffer.from(base).toString('hex'))
        return privatePower(base)
      }
      return arithmetic
    },
  })
  for (let i = 0; i < 100; i++) watched.decrypt('RAW', Uint8Array.of(2))
  assert.equal(bases.size, 100)
})

test('a fault in either half of the computation gives an internal error and no output', () => {
  for (const field of ['p', 'q', 'dp', 'dq', 'qinv'] as const) {
    const faulty = { ...key, [field]: key[field].slice() }
    faulty[field][40]! ^= 1
    assert.throws(
      () => openRsa(faulty).sign('PKCS1', new Uint8Array(8)),
      (error) => error instanceof CofferError && error.code === 'internal' && !/\d/.test(error.message),
      field,
    )
  }
})

test('a wiped key no longer works', () => {
  const opened = openRsa(key)
  opened.sign('PKCS1', new Uint8Array(8))
  opened.wipe()
  assert.throws(() => opened.sign('PKCS1', new Uint8Array(8)))
  assert.ok(
    key.p.some((byte) => byte !== 0),
    'the caller keeps its own copy',
  )
})
