/** Base points of the curves, with the parameters from @noble/curves. */

import type { ECDSA } from '@noble/curves/abstract/weierstrass.js'
import { ed25519 } from '@noble/curves/ed25519.js'
import { brainpoolP256r1, brainpoolP384r1, brainpoolP512r1 } from '@noble/curves/misc.js'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import type { CurveKeyType, EcKeyType } from '../../types.ts'
import { BasePoint } from './base-point.ts'
import type { BasePointParameters } from './base-point-memory.ts'
import { edwards } from './edwards-code.ts'
import type { Products } from './emitter.ts'
import { weierstrass } from './weierstrass-code.ts'

/** Caches base points, since the table of multiples takes a while to compute. */
export function basePoint(type: CurveKeyType, products: Products): BasePoint {
  const name = `${type} ${products}`
  const base = bases.get(name) ?? newBasePoint(type, products)
  bases.set(name, base)
  return base
}

export function newBasePoint(type: CurveKeyType, products: Products, isChecked = true): BasePoint {
  return new BasePoint(type === 'Curve25519' ? ed25519Base() : weierstrassBase(ECDSA_OF[type]), products, isChecked)
}

const bases = new Map<string, BasePoint>()

const ECDSA_OF: Readonly<Record<EcKeyType, ECDSA>> = {
  EC_P256: p256,
  EC_P384: p384,
  EC_P521: p521,
  EC_P256K1: secp256k1,
  BrainpoolP256: brainpoolP256r1,
  BrainpoolP384: brainpoolP384r1,
  BrainpoolP512: brainpoolP512r1,
}

/** Curves with a other than 0 and -3 use their twist with a = -3 (RFC 5639 section 2.1). */
function weierstrassBase({ Point }: ECDSA): BasePointParameters {
  const { p, n, a, b, Gx, Gy } = Point.CURVE()
  const twist = a === 0n ? 1n : fourthRoot((((-3n * power(a, p - 2n, p)) % p) + p) % p, p)
  const [twist2, twist3] = [twist ** 2n % p, twist ** 3n % p]
  return {
    p,
    n,
    formulas: weierstrass(a === 0n ? 0 : -3),
    B: a === 0n ? 3n * b : b * twist2 ** 3n,
    C: a,
    D: b,
    out: { x: power(twist2, p - 2n, p), y: power(twist3, p - 2n, p) },
    generator: { x: Gx * twist2, y: Gy * twist3 },
  }
}

function ed25519Base(): BasePointParameters {
  const { Point } = ed25519
  const { p, n, d, Gx, Gy } = Point.CURVE()
  return {
    p,
    n,
    formulas: edwards,
    B: 2n * d,
    C: 0n,
    D: d,
    out: { x: 1n, y: 1n },
    generator: { x: Gx, y: Gy },
  }
}

/** Not constant-time: for public numbers only. */
function power(base: bigint, exponent: bigint, p: bigint): bigint {
  let [result, square] = [1n, base]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % p
    square = (square * square) % p
  }
  return result
}

/** For p = 3 mod 4, which holds for all curves here. */
function fourthRoot(value: bigint, p: bigint): bigint {
  const root = (square: bigint): bigint => power(square, (p + 1n) / 4n, p)
  const candidates = [root(value), p - root(value)].map(root)
  const found = candidates.find((candidate) => power(candidate, 4n, p) === value)
  if (found === undefined) throw new Error('a curve without a twist of a = -3')
  return found
}
