/** ECDSA (FIPS 186-5 section 6.4.1) with hedged nonces and signatures in DER (RFC 3279 section 2.2.3). */

import { copySecret, transientSecret, wipe } from '../../../base/secret.ts'
import type { Random } from '../../random.ts'
import { hmacSha512 } from '../sha512.ts'
import type { BasePoint } from './base-point.ts'
import { isZero } from './masks.ts'

/** Random scalars have so many bytes more than the order, so that reduction leaves no bias. FIPS 186-5 A.2.1 requires eight. */
export const EXTRA_BYTES = 16

/** Returns transient DER. `digest` is at most as long as the scalar. s is not normalized: see the contract. */
export function signEcdsa(base: BasePoint, digest: Uint8Array, secret: Uint8Array, random: Random): Uint8Array {
  for (;;) {
    const nonce = hedgedNonce(digest, secret, random)
    try {
      const signature = signWithNonce(base, digest, secret, nonce)
      if (signature !== null) return encode(...signature)
    } finally {
      wipe(nonce)
    }
  }
}

/** Null if another nonce is needed, which does not happen in practice. */
export function signWithNonce(
  base: BasePoint,
  digest: Uint8Array,
  secret: Uint8Array,
  nonce: Uint8Array,
): readonly [r: Uint8Array, s: Uint8Array] | null {
  return base.use(() => {
    const k = base.reduce(nonce)
    const { x, y, inverse } = base.multiply(k)
    const r = base.reduce(x)
    const sum = base.multiplyAdd(r, secret, digest)
    const s = base.multiplyAdd(sum, inverse, ZERO)
    base.expectProduct(s, k, sum)
    wipe(k, y, inverse, sum)
    return isZero(r) || isZero(s) ? null : [r, s]
  })
}

/** Uncompressed point (SEC 1 section 2.3.3) of a scalar, 1 <= scalar < n. */
export function uncompressedPoint(base: BasePoint, scalar: Uint8Array): Uint8Array {
  const { x, y, inverse } = base.use(() => base.multiply(scalar))
  wipe(inverse)
  return Uint8Array.from([0x04, ...x, ...y])
}

/** Random scalar, 1 <= scalar < n. FIPS 186-5 A.2.1. */
export function randomScalar(base: BasePoint, random: Random): Uint8Array {
  const seed = random(base.bytes + EXTRA_BYTES)
  try {
    const scalar = base.use(() => base.reduce(seed))
    if (isZero(scalar)) throw new Error('The random generator is broken')
    const kept = copySecret(scalar)
    wipe(scalar)
    return kept
  } finally {
    wipe(seed)
  }
}

const ZERO = new Uint8Array(1)

/**
 * RFC 6979 section 3.6: a hash of the digest and fresh random bytes, keyed with the secret. If the random generator fails, the
 * nonce is still unknown and differs for each digest.
 */
function hedgedNonce(digest: Uint8Array, secret: Uint8Array, random: Random): Uint8Array {
  const nonce = transientSecret(secret.length + EXTRA_BYTES)
  const fresh = random(secret.length)
  for (let at = 0, block = 0; at < nonce.length; block++) {
    const mac = hmacSha512(secret, Uint8Array.of(block), fresh, digest)
    nonce.set(mac.subarray(0, nonce.length - at), at)
    at += mac.length
    wipe(mac)
  }
  wipe(fresh)
  return nonce
}

function encode(r: Uint8Array, s: Uint8Array): Uint8Array {
  const [first, second] = [start(r), start(s)]
  const content = 4 + first.length + second.length
  const der = transientSecret(content + (content < 128 ? 2 : 3))
  der.set(content < 128 ? [0x30, content] : [0x30, 0x81, content])
  let at = der.length - content
  for (const integer of [first, second]) {
    der.set([0x02, integer.length], at)
    der.set(integer, at + 2)
    at += 2 + integer.length
  }
  return der
}

/** Content of a DER integer: removes leading zeros, except one before a byte above 127. */
function start(value: Uint8Array): Uint8Array {
  let zeros = 0
  while (value[zeros] === 0) zeros++
  if (value[zeros]! < 0x80) return value.subarray(zeros)
  if (zeros > 0) return value.subarray(zeros - 1)
  const signed = new Uint8Array(value.length + 1)
  signed.set(value, 1)
  return signed
}
