/** Ed25519: RFC 8032 section 5.1. Its numbers are little-endian. */

import { transientSecret, wipe } from '../../../base/secret.ts'
import { expectConstants, sha512 } from '../sha512.ts'
import type { BasePoint } from './base-point.ts'
import { Kept } from './kept.ts'

interface Ed25519Key {
  readonly publicKey: Uint8Array
  /** Returns a transient signature. */
  sign(message: Uint8Array): Uint8Array
  wipe(): void
}

/** `seed` has 32 bytes and is copied. */
export function openEd25519(base: BasePoint, seed: Uint8Array): Ed25519Key {
  const hash = sha512(seed)
  const scalar = hash.subarray(0, BYTES)
  scalar[0]! &= 0xf8
  scalar[BYTES - 1]! &= 0x7f
  scalar[BYTES - 1]! |= 0x40
  scalar.reverse()
  const publicKey = base.use(() => {
    const reduced = base.reduce(scalar)
    const point = encodedMultiple(base, reduced)
    wipe(reduced)
    return Uint8Array.from(point)
  })
  const key = new Kept(hash, publicKey)
  wipe(hash)
  return {
    publicKey,
    sign: (message) => key.use((bytes) => base.use(() => sign(base, bytes, message))),
    wipe: () => key.wipe(),
  }
}

const BYTES = 32

/** `key` is the big-endian scalar, the prefix and the public key. */
function sign(base: BasePoint, key: Uint8Array, message: Uint8Array): Uint8Array {
  const [scalar, prefix, publicKey] = [0, 1, 2].map((part) => key.subarray(part * BYTES, (part + 1) * BYTES)) as Three
  const nonceHash = sha512(prefix, message).reverse()
  const r = base.reduce(nonceHash)
  const point = encodedMultiple(base, r)
  const k = base.reduce(sha512(point, publicKey, message).reverse())
  const signature = transientSecret(2 * BYTES)
  signature.set(point)
  signature.set(base.multiplyAdd(k, scalar, r).reverse(), BYTES)
  wipe(nonceHash, r)
  expectConstants()
  return signature
}

type Three = [Uint8Array, Uint8Array, Uint8Array]

/** Encodes the point (section 5.1.2): y, with the lowest bit of x as the top bit. */
function encodedMultiple(base: BasePoint, scalar: Uint8Array): Uint8Array {
  const { x, y, inverse } = base.multiply(scalar)
  wipe(inverse)
  y.reverse()
  y[BYTES - 1]! |= (x[BYTES - 1]! & 1) << 7
  return y
}
