/**
 * ECDSA (FIPS 186-5 6.4) on the fast field: the generator's multiples with both lanes modulo p, then inverses and the
 * signature with lane 0 modulo p and lane 1 modulo the group's order n. Curves with a other than 0 and -3 are worked on as
 * their twists with a = -3 (RFC 5639 section 2.1). BigInt is for the curves' constants only.
 */

import { Field, type FieldState, limbsFor } from './field.ts'
import { bytesToLimbs } from './limbs.ts'
import { RADIX } from './machine.ts'
import {
  CHOICE_LIMBS,
  DIGIT_BITS,
  DIGIT_ENTRIES,
  type PointLayout,
  pointExtension,
  pointLayout,
  windowsFor,
} from './weierstrass-code.ts'

/** y^2 = x^3 + a x + b modulo p, and a generator of order n. */
export interface CurveParameters {
  p: bigint
  n: bigint
  a: bigint
  b: bigint
  Gx: bigint
  Gy: bigint
}

/** A table of affine multiples: step^i (2 e + 1) G at place entries i + e. */
export type Multiples = readonly { x: bigint; y: bigint }[]

/** Room for values of some dozens of p: sums in the point formulas are not reduced. */
const FORMULA_SPARE_BITS = 15

const ONE = Uint8Array.of(1)

interface PointExports {
  addPoint: () => void
  multiples: () => void
}

export class FastCurve {
  readonly #field: Field
  readonly #points: PointLayout
  readonly #windows: number
  readonly #bytes: number
  readonly #code: PointExports
  readonly #forPoints: FieldState
  readonly #forScalars: FieldState
  /** From the twist's coordinates to the curve's. */
  readonly #out: readonly [x: Float64Array, y: Float64Array]
  readonly #inversion: readonly [Uint8Array, Uint8Array]

  constructor(
    { p, n, a, b }: CurveParameters,
    multiples: (windows: number, step: bigint, entries: number) => Multiples,
  ) {
    const bits = Math.max(p.toString(2).length, n.toString(2).length)
    const limbs = limbsFor(bits + FORMULA_SPARE_BITS)
    this.#bytes = Math.ceil(bits / 8)
    this.#windows = windowsFor(bits)
    this.#field = new Field(limbs, pointExtension(limbs, this.#windows, a === 0n ? 0 : -3))
    this.#points = pointLayout(this.#field.layout)
    this.#code = this.#field.code as unknown as PointExports
    const bytes = (value: bigint): Uint8Array => toBytes(value, this.#bytes)
    this.#field.setModuli([bytes(p), bytes(n)])
    this.#forScalars = this.#field.state()
    this.#field.setModuli([bytes(p), bytes(p)])
    this.#forPoints = this.#field.state()
    this.#inversion = [bytes(p - 2n), bytes(n - 2n)]

    const twist = a === 0n ? 1n : fourthRoot(modulo(-3n * power(a, p - 2n, p), p), p)
    const [twist2, twist3] = [modulo(twist ** 2n, p), modulo(twist ** 3n, p)]
    this.#out = [
      bytesToLimbs(bytes(power(twist2, p - 2n, p)), limbs),
      bytesToLimbs(bytes(power(twist3, p - 2n, p)), limbs),
    ]
    const inner = (value: bigint): Float64Array =>
      bytesToLimbs(bytes(modulo(value << (RADIX * BigInt(limbs)), p)), limbs)
    const B = inner(a === 0n ? 3n * b : b * twist2 ** 3n)
    this.#field.put(this.#points.at.B, [B, B])
    const table = multiples(2 * this.#windows, 1n << BigInt(DIGIT_BITS), DIGIT_ENTRIES)
    for (const [i, { x, y }] of table.entries()) {
      const [window, entry] = [Math.floor(i / DIGIT_ENTRIES), i % DIGIT_ENTRIES]
      const at = this.#points.table + (window % this.#windows) * this.#points.windowLimbs + 2 * entry * limbs
      const lane = window < this.#windows ? 0 : 1
      this.#field.putLane(at, lane, inner(x * twist2))
      this.#field.putLane(at + limbs, lane, inner(y * twist3))
    }
    this.#field.wipe()
  }

  /** The coordinates of a scalar from 1 to n - 1 times the generator, big-endian. */
  multiply(scalar: Uint8Array): readonly [x: Uint8Array, y: Uint8Array] {
    const field = this.#field
    try {
      field.restore(this.#forScalars)
      const isEven = this.#chooseOdd(scalar)
      this.#multiples()
      const { X, Y, Z, t0 } = this.#points.at
      field.power('b', Z, [this.#inversion[0], this.#inversion[0]])
      field.multiply(X, X, 'b')
      field.multiply(Y, Y, 'b')
      for (const [coordinate, out] of [
        [X, 0],
        [Y, 1],
      ] as const) {
        field.put('c', [this.#out[out], this.#out[out]])
        field.multiply(coordinate, coordinate, 'c')
        field.canonical(coordinate, coordinate)
      }
      // an even scalar's point was computed as the opposite of its opposite's
      field.subtract(t0, t0, t0)
      field.subtract(t0, t0, Y)
      field.canonical(t0, t0)
      const [y, opposite] = [field.getBytes(Y, 0, this.#bytes), field.getBytes(t0, 0, this.#bytes)]
      return [field.getBytes(X, 0, this.#bytes), select(isEven, opposite, y)]
    } finally {
      field.wipe()
    }
  }

  /**
   * Signs an integer below 2^(8 bytes of n), the digest's leftmost bits. `nonce` has at least 64 bits more than n and is
   * reduced. Null when another nonce is needed, which does not happen in practice.
   */
  sign(digest: Uint8Array, secret: Uint8Array, nonce: Uint8Array): readonly [r: Uint8Array, s: Uint8Array] | null {
    const field = this.#field
    const { limbs } = field
    const { X, Z, t0 } = this.#points.at
    try {
      field.restore(this.#forScalars)
      field.reduce('a', bytesToLimbs(nonce, 2 * limbs))
      field.multiply('a', 'a', 'square')
      field.canonical('b', 'a')
      const k = field.getBytes('b', 1, this.#bytes)
      field.multiply('a', 'a', 'square')
      const nonceLimbs = field.get('a', 1)
      this.#chooseOdd(k)
      k.fill(0)
      this.#multiples()

      field.restore(this.#forScalars)
      field.put('a', [field.get(Z, 0), nonceLimbs])
      nonceLimbs.fill(0)
      field.power('b', 'a', this.#inversion)
      field.multiply('c', X, 'b')
      field.put('d', [this.#out[0], this.#out[0]])
      field.multiply('c', 'c', 'd')
      field.canonical('c', 'c')
      const x = field.get('c', 0)
      field.put('c', [x, x])
      field.multiply('c', 'c', 'square')
      field.putBytes('d', [ONE, ONE])
      field.multiply(t0, 'c', 'd')
      field.canonical(t0, t0)
      const r = field.getBytes(t0, 1, this.#bytes)

      // s = (digest + r secret) / k
      field.putBytes('a', [secret, secret])
      field.multiply('a', 'a', 'square')
      field.multiply('a', 'a', 'c')
      field.putBytes('c', [digest, digest])
      field.multiply('c', 'c', 'square')
      field.add('a', 'a', 'c')
      field.multiply('a', 'a', 'b')
      field.multiply('a', 'a', 'd')
      field.canonical('a', 'a')
      const s = field.getBytes('a', 1, this.#bytes)
      return isZero(r) || isZero(s) ? null : [r, s]
    } finally {
      field.wipe()
    }
  }

  /** Writes the choices for the scalar or, if it is even, for n less it; tells which, as 0 or 1. */
  #chooseOdd(scalar: Uint8Array): number {
    const field = this.#field
    const { limbs } = field
    const limbsOfScalar = bytesToLimbs(scalar, limbs)
    field.put('c', [limbsOfScalar, limbsOfScalar])
    field.subtract('d', 'c', 'c')
    field.subtract('d', 'd', 'c')
    field.canonical('d', 'd')
    const opposite = field.getBytes('d', 1, this.#bytes)
    const isEven = 1 - (scalar[scalar.length - 1]! & 1)
    const odd = select(isEven, opposite, scalar)
    const { words } = field
    const windows = 2 * this.#windows
    const byte = (index: number): number => odd[odd.length - 1 - index] ?? 0
    for (let window = 0; window < windows; window++) {
      // half of the scalar, rounded down, with a bit above all of its own: digit 2 u - 31 for each five bits u
      const bit = DIGIT_BITS * window + 1
      const word = (byte(bit >> 3) | (byte((bit >> 3) + 1) << 8)) >> (bit & 7)
      const u = (word & 31) | (window === windows - 1 ? 16 : 0)
      const isPositive = u >> 4
      const choice = this.#points.choices + (window % this.#windows) * CHOICE_LIMBS
      const at = 4 * choice + (window < this.#windows ? 0 : 2)
      words[at] = (u & 15) ^ ((isPositive - 1) & 15)
      words[at + 5] = ((1 - isPositive) << 31) >>> 0
    }
    for (const secret of [opposite, odd]) secret.fill(0)
    limbsOfScalar.fill(0)
    return isEven
  }

  /** X, Y, Z: the sum of the chosen multiples, in lane 0 and lane 1 alike. */
  #multiples(): void {
    const field = this.#field
    const { X, Y, Z, X2 } = this.#points.at
    const size = field.limbs
    field.restore(this.#forPoints)
    const zero = new Float64Array(size)
    field.put(X, [zero, zero])
    field.copy(Y, 'one')
    field.put(Z, [zero, zero])
    this.#code.multiples()
    for (let k = 0; k < 3 * size; k++) {
      field.numbers[2 * (X2 + k)] = field.numbers[2 * (X + k) + 1]!
      field.numbers[2 * (X2 + k) + 1] = field.numbers[2 * (X + k)]!
    }
    this.#code.addPoint()
  }
}

function select(first: number, a: Uint8Array, b: Uint8Array): Uint8Array {
  return b.map((byte, i) => byte ^ ((byte ^ a[i]!) & -first))
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.reduce((sum, byte) => sum | byte, 0) === 0
}

const modulo = (a: bigint, p: bigint): bigint => ((a % p) + p) % p

/** Of public numbers. */
function power(base: bigint, exponent: bigint, p: bigint): bigint {
  let [result, square] = [1n, base]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % p
    square = (square * square) % p
  }
  return result
}

/** For p = 3 mod 4, as all primes here are. */
function fourthRoot(value: bigint, p: bigint): bigint {
  const root = (square: bigint): bigint => power(square, (p + 1n) / 4n, p)
  const candidates = [root(value), p - root(value)].map(root)
  const found = candidates.find((candidate) => power(candidate, 4n, p) === value)
  if (found === undefined) throw new Error('a curve without a twist of a = -3')
  return found
}

function toBytes(value: bigint, length: number): Uint8Array {
  return new Uint8Array(Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex'))
}
