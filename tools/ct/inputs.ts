/** Inputs of the timing test: pools of numbers, keys and padded blocks, in 1024-bit sizes, where a difference shows soonest. */

import { createHash, randomBytes, randomInt } from 'node:crypto'
import type { Engine } from '../../firmware/crypto/engine/engine.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { generatePrime } from '../../firmware/crypto/rsa/primes.ts'
import type { RsaPrivateKey } from '../../firmware/crypto/rsa/private-key.ts'

export const PRIME_BYTES = 64
export const MODULUS_BYTES = 2 * PRIME_BYTES
/** A shorter exponent runs the same loops fewer times, and what one window tells shows sooner. */
export const EXPONENT_BYTES = 16

/** Both classes have as many inputs, so that caches and branch predictors do not tell them apart. */
export type Pool = readonly Uint8Array[]
const POOL_SIZE = 64

export const pool = (make: () => Uint8Array): Pool => Array.from({ length: POOL_SIZE }, make)
export const copies = (value: Uint8Array): Pool => pool(() => value.slice())

export const newPrime = (engine: Engine): Uint8Array => generatePrime(8 * PRIME_BYTES, systemRandom, engine)

/** Below every prime of `newPrime` and as long. */
export function randomNumber(bytes: number = PRIME_BYTES): Uint8Array {
  const number = randomBytes(bytes)
  number[0]! &= 0x7f
  return new Uint8Array(number)
}

export function smallNumber(value: number, bytes: number = PRIME_BYTES): Uint8Array {
  const number = new Uint8Array(bytes)
  number[bytes - 1] = value
  return number
}

/** Two bits set. */
export function sparseNumber(bytes: number = PRIME_BYTES): Uint8Array {
  const number = smallNumber(1, bytes)
  number[0] = 0x40
  return number
}

/** Below every modulus of 1024 bits. */
export const randomMessage = (): Uint8Array => Uint8Array.from([0, ...randomBytes(MODULUS_BYTES - 1)])

export function encrypt(engine: Engine, key: RsaPrivateKey, block: Uint8Array): Uint8Array {
  const arithmetic = engine.openRsa(key)
  return arithmetic.use(() => arithmetic.leave(arithmetic.publicPower(arithmetic.enter(block), key.e)))
}

export const PKCS1_DEFECTS: Readonly<Record<string, () => Uint8Array>> = {
  'first byte': () => pkcs1Block(0x01, 2, 64),
  'block type': () => pkcs1Block(0, 1, 64),
  'short padding': () => pkcs1Block(0, 2, 5),
  'no separator': () => pkcs1Block(0, 2, MODULUS_BYTES),
}

export const OAEP_DEFECTS: Readonly<Record<string, () => Uint8Array>> = {
  'first byte': () => oaepBlock((db) => db, 1),
  'label hash': () => oaepBlock((db) => db.with(randomInt(32), 0)),
  'byte before the 01': () => oaepBlock((db) => db.with(34, 7)),
  'no 01': () => oaepBlock((db) => db.fill(0, 32)),
}

function pkcs1Block(first: number, type: number, separator: number): Uint8Array {
  const block = Uint8Array.from({ length: MODULUS_BYTES }, () => randomInt(1, 256))
  block[0] = first
  block[1] = type
  if (separator < block.length) block[separator] = 0
  return block
}

/** RFC 8017 7.1.1 with SHA-256, spoilt before masking. */
function oaepBlock(spoil: (db: Uint8Array) => Uint8Array, first = 0): Uint8Array {
  const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
  const mask = (seed: Uint8Array, bytes: number) =>
    Buffer.concat([0, 1, 2].map((i) => sha256(seed, Uint8Array.of(0, 0, 0, i)))).subarray(0, bytes)
  const xor = (a: Uint8Array, b: Uint8Array) => a.map((byte, i) => byte ^ b[i]!)
  const db = new Uint8Array(MODULUS_BYTES - 33)
  db.set(sha256())
  db[40] = 1
  db.set(randomBytes(db.length - 41), 41)
  const seed = new Uint8Array(randomBytes(32))
  const maskedDb = xor(spoil(db), mask(seed, db.length))
  return Uint8Array.from([first, ...xor(seed, mask(maskedDb, 32)), ...maskedDb])
}
