/** Constant-time products and inverses of secret big-endian integers, for generating keys and blinding factors. */

import { wipe } from '../../../base/secret.ts'
import { LIMB_BITS } from './layout.ts'
import { code, limbsFor, MODULUS, put, slots, take, takeLimbs, work } from './memory.ts'

const { A, B, C, D, E, WIDE } = slots('A', 'B', 'C', 'D', 'E', 'WIDE')
const ONE = Uint8Array.of(1)

/** a * b, as long as a and b together. */
export function product(a: Uint8Array, b: Uint8Array): Uint8Array {
  const limbs = limbsFor(8 * Math.max(a.length, b.length))
  return work(() => {
    put(A, a, limbs)
    put(B, b, limbs)
    code().multiplyWide(WIDE, A, B, limbs)
    return take(WIDE, 2 * limbs, a.length + b.length)
  })
}

/** x^-1 mod m, as long as m; null if x and m have a common factor. m must be odd and above 2. */
export function inverse(x: Uint8Array, m: Uint8Array): Uint8Array | null {
  const limbs = limbsFor(8 * Math.max(x.length, m.length))
  return work(() => (inverseOnBench(x, m, limbs) ? take(D, limbs, m.length) : null))
}

/** x^-1 mod m for an even m, as long as m; null if x and m have a common factor. x must be odd and above 2. */
export function inverseOfOdd(x: Uint8Array, m: Uint8Array): Uint8Array | null {
  const limbs = limbsFor(8 * Math.max(x.length, m.length))
  return work(() => {
    // With k = -m^-1 mod x, 1 + k m is a multiple of x, below x m.
    if (!inverseOnBench(m, x, limbs)) return null
    put(A, x, limbs)
    code().subtract(D, A, D, A, limbs)
    put(B, m, limbs)
    code().multiplyWide(WIDE, D, B, limbs)
    put(C, ONE, limbs)
    code().add(WIDE, WIDE, C, limbs)
    code().divideExact(D, WIDE, A, limbs)
    return take(D, limbs, m.length)
  })
}

/** Writes x^-1 mod m to D. The time reveals only whether the inverse exists. */
function inverseOnBench(x: Uint8Array, m: Uint8Array, limbs: number): boolean {
  put(MODULUS, m, limbs)
  code().setHeader(MODULUS)
  put(A, m, limbs)
  put(B, x, limbs)
  put(E, ONE, limbs)
  code().divisionSteps(A, B, D, E, MODULUS, divisionRounds(8 * Math.max(x.length, m.length)), limbs)
  code().settleInverse(D, A, MODULUS, limbs)
  const gcd = takeLimbs(A, limbs)
  let rest = gcd[0]! ^ 1
  for (let i = 1; i < gcd.length; i++) rest |= gcd[i]!
  wipe(gcd)
  return rest === 0
}

/** Theorem 11.2 of Bernstein and Yang: this number of steps suffices for all numbers of that length. */
function divisionRounds(bits: number): number {
  const steps = Math.floor((49 * bits + (bits < 46 ? 80 : 57)) / 17)
  return Math.ceil(steps / LIMB_BITS)
}
