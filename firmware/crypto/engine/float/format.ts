/** The two formats of limbs, and the encoding of the two halves of a product. README.md explains them. */

import { BITS_2_52, doubleBits, LOW_MAGIC } from './machine.ts'

export interface Format {
  /** True if limbs are signed. Else numbers and limbs are non-negative, and limbs never exceed `radix` bits. */
  isSigned: boolean
  /** Bits of a limb; B = 2^radix. */
  radix: bigint
  mask: bigint
  /** Subtracted from a digit of 0 .. B - 1 to make a limb: B / 2 if signed, else 0. */
  half: bigint
  /** Bits of a double that, added to a limb, leaves the limb in the low bits. */
  limbMagic: bigint
  /** Bits of a double that, added to a product, leaves its rounded high part in the low bits. */
  highMagic: bigint
  /** Bits of a double: this minus the sum for the high part, plus the product, is the low part. */
  toLow: bigint
  /** Bits of a low part of zero. Other low parts differ by their value, or by its negative if the double is negative. */
  lowMagic: bigint
}

/** For curves: sums and differences may have any sign. */
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

/** For RSA: one more bit in each limb saves a limb per prime. */
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
