/** The two ways to cut numbers into limbs, and what the two halves of a product of limbs look like. README.md explains. */

import { BITS_2_52, doubleBits, LOW_MAGIC } from './machine.ts'

export interface Format {
  /** Around zero, or from zero up: then numbers are never negative, and limbs never a bit longer than they should. */
  isSigned: boolean
  /** Bits of a limb: B = 2^radix. */
  radix: bigint
  mask: bigint
  /** Taken off a digit from 0 to B - 1 to make it a limb: B / 2, or nothing. */
  half: bigint
  /** Added to a limb, this double leaves it in the low bits. */
  limbMagic: bigint
  /** Added to a product, this double leaves its high part, rounded, in the low bits. */
  highMagic: bigint
  /** Less the sum that gave the high part, this double and the product make the low part. */
  toLow: bigint
  /** A low part of zero; others are so much more, or so much less if the double is negative. */
  lowMagic: bigint
}

/** For curves: sums and differences need no care for signs. */
export const SIGNED: Format = {
  isSigned: true,
  radix: 51n,
  mask: (1n << 51n) - 1n,
  half: 1n << 50n,
  limbMagic: LOW_MAGIC,
  highMagic: doubleBits(3 * 2 ** 102),
  toLow: doubleBits(3 * 2 ** 102 + 3 * 2 ** 51),
  lowMagic: LOW_MAGIC,
}

/** For RSA: a bit more in each limb is a limb less in a prime. */
export const UNSIGNED: Format = {
  isSigned: false,
  radix: 52n,
  mask: (1n << 52n) - 1n,
  half: 0n,
  limbMagic: BITS_2_52,
  highMagic: doubleBits(2 ** 104),
  toLow: doubleBits(2 ** 104 - 3 * 2 ** 51),
  lowMagic: doubleBits(-3 * 2 ** 51),
}
