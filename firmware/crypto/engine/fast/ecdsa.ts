/** ECDSA (FIPS 186-5 6.4.1) with the fast engine's curves; nonces hedged, signatures in DER (RFC 3279 2.2.3). */

import { createHmac } from 'node:crypto'
import { normalizeZ } from '@noble/curves/abstract/curve.js'
import type { ECDSA } from '@noble/curves/abstract/weierstrass.js'
import type { Random } from '../../random.ts'
import { FastCurve } from './weierstrass.ts'

/** The nonce is drawn this much longer than the order, so that reduction has no bias. FIPS 186-5 A.2.1 wants eight. */
const NONCE_EXTRA_BYTES = 16

/** DER; `digest` is as long as the scalar or shorter. */
export function fastSign(noble: ECDSA, digest: Uint8Array, secret: Uint8Array, random: Random): Uint8Array {
  const curve = fastCurve(noble)
  for (;;) {
    const nonce = hedgedNonce(digest, secret, random)
    try {
      const signature = curve.sign(digest, secret, nonce)
      if (signature !== null) return encode(...signature)
    } finally {
      nonce.fill(0)
    }
  }
}

/** The uncompressed point (SEC 1 2.3.3) of a scalar from 1 to n - 1. */
export function fastPublicKey(noble: ECDSA, secret: Uint8Array): Uint8Array {
  const [x, y] = fastCurve(noble).multiply(secret)
  return Uint8Array.from([0x04, ...x, ...y])
}

const curves = new Map<ECDSA, FastCurve>()

/** The table of multiples takes a while, and stays. */
function fastCurve(noble: ECDSA): FastCurve {
  const known = curves.get(noble)
  if (known !== undefined) return known
  const { Point } = noble
  const curve = new FastCurve(Point.CURVE(), (windows, step, entries) => {
    const points: InstanceType<typeof Point>[] = []
    for (let base = Point.BASE, window = 0; window < windows; window++, base = base.multiplyUnsafe(step)) {
      const twice = base.double()
      for (let entry = 0, point = base; entry < entries; entry++, point = point.add(twice)) points.push(point)
    }
    return normalizeZ(Point, points).map((point) => point.toAffine())
  })
  curves.set(noble, curve)
  return curve
}

/**
 * A keyed hash of the digest and fresh random bytes, the secret being the key: as random as they are, and still unknown
 * and never the same for two digests should the random generator fail.
 */
function hedgedNonce(digest: Uint8Array, secret: Uint8Array, random: Random): Uint8Array {
  const nonce = new Uint8Array(secret.length + NONCE_EXTRA_BYTES)
  const fresh = random(secret.length)
  for (let at = 0, block = 0; at < nonce.length; block++) {
    const hmac = createHmac('sha512', secret).update(Uint8Array.of(block)).update(fresh).update(digest).digest()
    nonce.set(hmac.subarray(0, nonce.length - at), at)
    at += hmac.length
    hmac.fill(0)
  }
  fresh.fill(0)
  return nonce
}

function encode(r: Uint8Array, s: Uint8Array): Uint8Array {
  const [first, second] = [start(r), start(s)]
  const content = 4 + first.length + second.length
  const der = new Uint8Array(content + (content < 128 ? 2 : 3))
  der.set(content < 128 ? [0x30, content] : [0x30, 0x81, content])
  let at = der.length - content
  for (const integer of [first, second]) {
    der.set([0x02, integer.length], at)
    der.set(integer, at + 2)
    at += 2 + integer.length
  }
  return der
}

/** The bytes of a DER integer: no leading zeros but one before a byte above 127. */
function start(value: Uint8Array): Uint8Array {
  let zeros = 0
  while (value[zeros] === 0) zeros++
  if (value[zeros]! < 0x80) return value.subarray(zeros)
  if (zeros > 0) return value.subarray(zeros - 1)
  const signed = new Uint8Array(value.length + 1)
  signed.set(value, 1)
  return signed
}
