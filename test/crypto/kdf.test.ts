import assert from 'node:assert/strict'
import { scryptSync } from 'node:crypto'
import { test } from 'node:test'
import { hkdf } from '@noble/hashes/hkdf.js'
import { hmac } from '@noble/hashes/hmac.js'
import { sha224, sha256, sha384, sha512 } from '@noble/hashes/sha2.js'
import { CofferError } from '../../firmware/base/error.ts'
import { deriveKey } from '../../firmware/crypto/kdf.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { hex, toHex, utf8, wycheproof } from './support.ts'

// RFC 7914 section 12; a key is the first 32 of the 64 bytes, because PBKDF2 yields them in blocks of 32.
const SCRYPT_VECTORS = [
  ['', '', { N: 16, r: 1, p: 1 }, '77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442'],
  ['password', 'NaCl', { N: 1024, r: 8, p: 16 }, 'fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162'],
  [
    'pleaseletmein',
    'SodiumChloride',
    { N: 16384, r: 8, p: 1 },
    '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2',
  ],
] as const

test('scrypt gives the vectors of RFC 7914', () => {
  for (const [passphrase, salt, cost, key] of SCRYPT_VECTORS) {
    assert.equal(toHex(deriveKey(utf8(passphrase), utf8(salt), cost)), key)
  }
})

test("scrypt agrees with OpenSSL's at the cost of unlocking", () => {
  const [passphrase, salt] = [systemRandom(200), systemRandom(16)]
  const expected = scryptSync(passphrase, salt, 32, { N: 16384, r: 8, p: 16 })
  assert.equal(toHex(deriveKey(passphrase, salt, { N: 16384, r: 8, p: 16 })), toHex(expected))
})

test("scrypt agrees with OpenSSL's for blocks of every size, however many", () => {
  for (const [N, r, p] of [
    [2, 1, 1],
    [2, 3, 5],
    [4, 2, 1],
    [64, 8, 3],
    [128, 5, 2],
    [32, 33, 1],
    [256, 1, 64],
  ] as const) {
    const [passphrase, salt] = [systemRandom(r), systemRandom(p)]
    const expected = scryptSync(passphrase, salt, 32, { N, r, p })
    assert.equal(toHex(deriveKey(passphrase, salt, { N, r, p })), toHex(expected), `N ${N}, r ${r}, p ${p}`)
  }
})

test('costs that are malformed or would exhaust the machine are refused', () => {
  for (const cost of [
    { N: 0, r: 8, p: 1 },
    { N: 1, r: 8, p: 1 },
    { N: 1000, r: 8, p: 1 },
    { N: 16384.5, r: 8, p: 1 },
    { N: Number.NaN, r: 8, p: 1 },
    { N: 2 ** 18, r: 8, p: 1 },
    { N: 2 ** 17, r: 8, p: 1 },
    { N: 2 ** 16, r: 8, p: 1 },
    { N: 2 ** 14, r: 32, p: 1 },
    { N: 16384, r: 2 ** 20, p: 1 },
    { N: 16384, r: 8, p: 65 },
    { N: 16384, r: 0, p: 1 },
    { N: 16384, r: 8, p: -1 },
  ]) {
    assert.throws(
      () => deriveKey(utf8('passphrase'), utf8('salt'), cost),
      (error: unknown) => error instanceof CofferError && error.code === 'invalid',
    )
  }
})

// RFC 4231, test cases 1 to 4, 6 and 7: key, data, HMAC with SHA-224, SHA-256, SHA-384 and SHA-512.
const HMAC_VECTORS = [
  [
    '0b'.repeat(20),
    toHex(utf8('Hi There')),
    '896fb1128abbdf196832107cd49df33f47b4b1169912ba4f53684b22',
    'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
    'afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6',
    '87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854',
  ],
  [
    toHex(utf8('Jefe')),
    toHex(utf8('what do ya want for nothing?')),
    'a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44',
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    'af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649',
    '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737',
  ],
  [
    'aa'.repeat(131),
    toHex(utf8('Test Using Larger Than Block-Size Key - Hash Key First')),
    '95e9a0db962095adaebe9b2d6f0dbce2d499f112f2d2b7273fa6870e',
    '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    '4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c60c2ef6ab4030fe8296248df163f44952',
    '80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598',
  ],
] as const

test('HMAC gives the vectors of RFC 4231', () => {
  for (const [key, data, ...macs] of HMAC_VECTORS) {
    for (const [i, hash] of [sha224, sha256, sha384, sha512].entries()) {
      assert.equal(toHex(hmac(hash, hex(key), hex(data))), macs[i])
    }
  }
})

test('HKDF gives the vectors of RFC 5869', () => {
  const ikm = hex('0b'.repeat(22))
  assert.equal(
    toHex(hkdf(sha256, ikm, hex('000102030405060708090a0b0c'), hex('f0f1f2f3f4f5f6f7f8f9'), 42)),
    '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865',
  )
  assert.equal(
    toHex(hkdf(sha256, ikm, undefined, undefined, 42)),
    '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8',
  )
})

interface HkdfVectors {
  testGroups: {
    tests: { tcId: number; ikm: string; salt: string; info: string; size: number; okm: string; result: string }[]
  }[]
}

const hkdfVectors = wycheproof<HkdfVectors>('hkdf_sha256_test.json')
test('HKDF-SHA-256 agrees with the Wycheproof vectors', { skip: hkdfVectors === null }, () => {
  const tests = hkdfVectors!.testGroups.flatMap((group) => group.tests)
  assert.ok(tests.length >= 80)
  for (const { tcId, ikm, salt, info, size, okm, result } of tests) {
    const derive = () => hkdf(sha256, hex(ikm), hex(salt), hex(info), size)
    if (result === 'valid') assert.equal(toHex(derive()), okm, `test ${tcId}`)
    else assert.throws(derive, `test ${tcId}`)
  }
})
