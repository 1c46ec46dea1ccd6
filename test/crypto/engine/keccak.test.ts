// @test long 30 slow
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { test } from 'node:test'
import { keccak_256, sha3_256, sha3_512, shake128, shake256 } from '@noble/hashes/sha3.js'
import {
  keccak,
  keccakPair,
  SHA3_256,
  SHA3_512,
  SHAKE128,
  SHAKE256,
  type Variant,
} from '../../../firmware/crypto/engine/keccak.ts'
import { hex, toHex, utf8 } from '../support.ts'

const bytes = (length: number): Uint8Array => new Uint8Array(randomBytes(length))

const VARIANTS = [
  { name: 'shake128', variant: SHAKE128, noble: shake128, isOpen: true, digestBytes: 32 },
  { name: 'shake256', variant: SHAKE256, noble: shake256, isOpen: true, digestBytes: 64 },
  { name: 'sha3-256', variant: SHA3_256, noble: sha3_256, isOpen: false, digestBytes: 32 },
  { name: 'sha3-512', variant: SHA3_512, noble: sha3_512, isOpen: false, digestBytes: 64 },
] as const

function openssl(name: string, isOpen: boolean, length: number, message: Uint8Array): string {
  return createHash(name, isOpen ? { outputLength: length } : {})
    .update(message)
    .digest('hex')
}

test('the examples of FIPS 202 come out', () => {
  // csrc.nist.gov, "Cryptographic standards and guidelines: example values": of no bits, and of 1600 bits
  const none = new Uint8Array()
  const many = new Uint8Array(200).fill(0xa3)
  const cases: readonly (readonly [Variant, Uint8Array, string])[] = [
    [SHA3_256, none, 'a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a'],
    [SHA3_256, many, '79f38adec5c20307a98ef76e8324afbfd46cfd81b22e3973c65fa1bd9de31787'],
    [
      SHA3_512,
      none,
      'a69f73cca23a9ac5c8b567dc185a756e97c982164fe25859e0d1dcc1475c80a615b2123af1f5f94c11e3e9402c3ac558f500199d95b6d3e301758586281dcd26',
    ],
    [
      SHA3_512,
      many,
      'e76dfad22084a8b1467fcf2ffa58361bec7628edf5f3fdc0e4805dc48caeeca81b7c13c30adf52a3659584739a2df46be589c51ca1a4a8416df6545a1ce8ba00',
    ],
    [SHAKE128, none, '7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26'],
    [SHAKE128, many, '131ab8d2b594946b9c81333f9bb6e0ce75c3b93104fa3469d3917457385da037'],
    [SHAKE256, none, '46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762f'],
    [SHAKE256, many, 'cd8a920ed141aa0407a22d59288652e9d9f1a7ee0c1e7c1ca699424da84a904d'],
  ]
  for (const [variant, message, expected] of cases) {
    assert.equal(toHex(keccak(variant, expected.length / 2, message)), expected)
  }
  assert.notEqual(toHex(keccak(SHA3_256, 32, utf8('abc'))), toHex(keccak_256(utf8('abc'))))
  assert.equal(toHex(keccak(SHA3_256, 32, utf8('abc'))), toHex(sha3_256(utf8('abc'))))
  assert.deepEqual(keccak(SHAKE128, 0, hex('00')), new Uint8Array())
})

test('hashes of every short length, and around blocks, are those of OpenSSL and noble', () => {
  for (const { name, variant, noble, isOpen, digestBytes } of VARIANTS) {
    const many = 32 * variant.rateBytes
    const lengths = [...Array.from({ length: 420 }, (_, i) => i), many - 1, many, many + 1, 500_003]
    for (const length of lengths) {
      const message = bytes(length)
      const taken = isOpen ? randomInt(700) + 1 : digestBytes
      const hash = keccak(variant, taken, message)
      assert.equal(toHex(hash), openssl(name, isOpen, taken, message), `${name} of ${length}`)
      if (length < 300) assert.deepEqual(hash, isOpen ? noble(message, { dkLen: taken }) : noble(message))
    }
  }
})

test('a message in parts has the hash of the whole', () => {
  for (let i = 0; i < 200; i++) {
    const parts = Array.from({ length: randomInt(1, 6) }, () => bytes(randomInt(i % 10 === 0 ? 70_000 : 200)))
    const whole = openssl('shake256', true, 64, Buffer.concat(parts))
    assert.equal(toHex(keccak(SHAKE256, 64, ...parts)), whole)
  }
})

test('two messages side by side have the hashes of each', () => {
  for (const { variant, digestBytes, isOpen } of VARIANTS) {
    for (let i = 0; i < 300; i++) {
      const seed = bytes(i % (variant.rateBytes - 2))
      const taken = isOpen ? randomInt(816) + 1 : digestBytes
      const numbers = [randomInt(2 ** 16), randomInt(2 ** 16)] as const
      const expected = numbers.map((number) => keccak(variant, taken, seed, Uint8Array.of(number, number >> 8)))
      const hashes = [bytes(taken), bytes(taken)] as const
      keccakPair(variant, seed, numbers, hashes)
      assert.deepEqual(hashes, expected)
    }
  }
})
