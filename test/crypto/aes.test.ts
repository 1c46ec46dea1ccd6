import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { decryptAesCbc, encryptAesCbc } from '../../firmware/crypto/aes.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { needs } from '../support/tools.ts'
import { file, hex, openssl, toHex } from './support.ts'

// NIST SP 800-38A, F.2.1 to F.2.6.
const IV = hex('000102030405060708090a0b0c0d0e0f')
const PLAIN = hex(
  '6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710',
)
const VECTORS = [
  [
    '2b7e151628aed2a6abf7158809cf4f3c',
    '7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b273bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7',
  ],
  [
    '8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b',
    '4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd',
  ],
  [
    '603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4',
    'f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b',
  ],
] as const

test('AES-CBC gives the vectors of SP 800-38A both ways', () => {
  for (const [key, encrypted] of VECTORS) {
    assert.equal(toHex(encryptAesCbc(hex(key), IV, PLAIN)), encrypted)
    assert.equal(toHex(decryptAesCbc(hex(key), IV, hex(encrypted))), toHex(PLAIN))
  }
})

test('what the openssl program encrypts is decrypted, and the other way round', needs('openssl'), () => {
  for (const bits of [128, 192, 256]) {
    const [key, iv, message] = [systemRandom(bits / 8), systemRandom(16), systemRandom(16 * 100)]
    const args = [`-aes-${bits}-cbc`, '-nopad', '-K', toHex(key), '-iv', toHex(iv)]
    const encrypted = openssl(['enc', ...args, '-in', file('plain', message)])
    assert.equal(toHex(encryptAesCbc(key, iv, message)), toHex(encrypted))
    assert.equal(toHex(decryptAesCbc(key, iv, encrypted)), toHex(message))
  }
})

const invalid = (text: string) => (error: unknown) =>
  error instanceof CofferError && error.code === 'invalid' && error.message.includes(text)

test('padding is neither added nor removed', () => {
  const key = systemRandom(16)
  const padded = new Uint8Array(16).fill(16) // looks like a block of PKCS#7 padding
  assert.deepEqual(new Uint8Array(decryptAesCbc(key, IV, encryptAesCbc(key, IV, padded))), padded)
})

test('refuses lengths that are no whole blocks with the words clients look for', () => {
  for (const length of [0, 1, 15, 17, 31]) {
    assert.throws(() => encryptAesCbc(systemRandom(16), IV, new Uint8Array(length)), invalid('argument length'))
    assert.throws(() => decryptAesCbc(systemRandom(16), IV, new Uint8Array(length)), invalid('argument length'))
  }
})

test('refuses a missing or wrong iv and keys that are not AES keys', () => {
  const [key, block] = [systemRandom(16), new Uint8Array(16)]
  assert.throws(() => decryptAesCbc(key, undefined, block), invalid('iv'))
  for (const length of [0, 12, 15, 17, 32]) {
    assert.throws(() => encryptAesCbc(key, new Uint8Array(length), block), invalid('iv'))
    assert.throws(() => decryptAesCbc(key, new Uint8Array(length), block), invalid('iv'))
  }
  for (const length of [0, 15, 17, 20, 31, 33, 64]) {
    assert.throws(() => encryptAesCbc(new Uint8Array(length), IV, block), invalid('key'))
  }
})
