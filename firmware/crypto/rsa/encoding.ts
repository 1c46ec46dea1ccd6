/** Numbers of RSA private keys, computed once, and their stored form. RFC 8017 section 3.2. */

import { CofferError } from '../../base/error.ts'
import { copySecret, newSecret, wipe } from '../../base/secret.ts'
import { RSA_BITS } from '../algorithms.ts'
import { bitLength, type RsaNumbers } from '../engine/engine.ts'
import { inverse, inverseOfOdd, product } from '../engine/integer/arithmetic.ts'

/**
 * Big-endian numbers. n, e, p and q have no leading zero bytes. dp and qinv are as long as p, and dq as q, so that their lengths
 * reveal nothing. p may be the smaller prime.
 */
export interface RsaPrivateKey extends RsaNumbers {
  e: Uint8Array
}

/** Computes the key of two odd primes and an odd e above 2. Null if e has a factor in common with p - 1 or q - 1. */
export function computeRsaKey(p: Uint8Array, q: Uint8Array, e: Uint8Array): RsaPrivateKey | null {
  const dp = inverseModuloLessOne(e, p)
  const dq = inverseModuloLessOne(e, q)
  const qinv = inverse(q, p)
  if (dp === null || dq === null || qinv === null) return null
  return { n: withoutLeadingZeros(product(p, q)), e: e.slice(), p: copySecret(p), q: copySecret(q), dp, dq, qinv }
}

export function wipeRsaKey(key: RsaPrivateKey): void {
  for (const name of FIELDS) wipe(key[name])
}

/** Returns a copy. The time reveals the number of leading zero bytes. */
export function withoutLeadingZeros(number: Uint8Array): Uint8Array {
  const first = number.findIndex((byte) => byte !== 0)
  return first < 0 ? new Uint8Array() : copySecret(number.subarray(first))
}

/** Writes a version, then each field after its length in two bytes. */
export function encodeRsaPrivateKey(key: RsaPrivateKey): Uint8Array {
  const encoded = newSecret(FIELDS.reduce((bytes, name) => bytes + LENGTH_BYTES + key[name].length, 1))
  encoded[0] = VERSION
  let at = 1
  for (const name of FIELDS) {
    const { length } = key[name]
    encoded[at] = length >> 8
    encoded[at + 1] = length
    encoded.set(key[name], at + LENGTH_BYTES)
    at += LENGTH_BYTES + length
  }
  return encoded
}

/** Returns copies. Throws CofferError `storage` if `encodeRsaPrivateKey` would not have written these bytes. */
export function decodeRsaPrivateKey(encoded: Uint8Array): RsaPrivateKey {
  if (encoded[0] !== VERSION) throw damaged()
  const key: Partial<RsaPrivateKey> = {}
  let at = 1
  for (const name of FIELDS) {
    if (at + LENGTH_BYTES > encoded.length) throw damaged()
    const end = at + LENGTH_BYTES + ((encoded[at]! << 8) | encoded[at + 1]!)
    if (end > encoded.length) throw damaged()
    key[name] = copySecret(encoded.subarray(at + LENGTH_BYTES, end))
    at = end
  }
  if (at !== encoded.length) throw damaged()
  checkShape(key as RsaPrivateKey)
  return key as RsaPrivateKey
}

const VERSION = 1
const LENGTH_BYTES = 2
const FIELDS = ['n', 'e', 'p', 'q', 'dp', 'dq', 'qinv'] as const

const damaged = () => new CofferError('storage', 'A stored RSA key is damaged')

function checkShape({ n, e, p, q, dp, dq, qinv }: RsaPrivateKey): void {
  for (const odd of [n, e, p, q]) {
    if (odd.length === 0 || odd[0] === 0 || (odd[odd.length - 1]! & 1) === 0) throw damaged()
  }
  const bits = bitLength(n)
  if (bits < RSA_BITS.min || bits > RSA_BITS.max) throw damaged()
  const primeBits = bitLength(p) + bitLength(q)
  if (primeBits !== bits && primeBits !== bits + 1) throw damaged()
  if (dp.length !== p.length || dq.length !== q.length || qinv.length !== p.length) throw damaged()
}

function inverseModuloLessOne(e: Uint8Array, prime: Uint8Array): Uint8Array | null {
  const less = copySecret(prime)
  less[less.length - 1]! &= 0xfe
  try {
    return inverseOfOdd(e, less)
  } finally {
    wipe(less)
  }
}
