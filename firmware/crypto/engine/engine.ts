/**
 * Interface of the arithmetic engines for RSA. All numbers are secret except the modulus, its length, the bit lengths of the
 * primes and the public exponent. An engine must not branch or address memory by secrets, nor use BigInt for them. Integers cross
 * this interface big-endian; a modulus has at most 8192 bits, as the contract says.
 */

export type Pair<T> = readonly [T, T]

/** The numbers of RFC 8017 section 3.2 (second representation) for a private operation. The caller keeps its copy. */
export interface RsaNumbers {
  n: Uint8Array
  p: Uint8Array
  q: Uint8Array
  dp: Uint8Array
  dq: Uint8Array
  /** q^-1 mod p. */
  qinv: Uint8Array
}

/** A number modulo n in the engine's own form. Only the arithmetic that made it can read it. Wipe it like other secrets. */
export type Residue = Uint8Array

/** Arithmetic modulo one RSA modulus. Blinding and checks are up to the caller (rsa/operation.ts). */
export interface RsaArithmetic {
  /** Call all methods except `wipe` inside `work`, for one key at a time. Afterwards no secret stays in the engine's memory. */
  use<T>(work: () => T): T
  /** Converts a number below n of any length. */
  enter(number: Uint8Array): Residue
  /** Converts back to a number below n, exactly as long as n. */
  leave(residue: Residue): Uint8Array
  multiply(a: Residue, b: Residue): Residue
  /** The running time depends on the exponent only. */
  publicPower(base: Residue, publicExponent: Uint8Array): Residue
  /** True if both residues stand for the same number. The time reveals nothing else about equal numbers. */
  isSame(a: Residue, b: Residue): boolean
  /** base^d mod n by the Chinese remainder theorem. */
  privatePower(base: Residue): Residue
  /** Overwrites the engine's copy of the key. The arithmetic cannot be used afterwards. */
  wipe(): void
}

export interface Engine {
  readonly name: 'plain' | 'fast'
  openRsa(numbers: RsaNumbers): RsaArithmetic
  /**
   * bases[i]^exponents[i] mod moduli[i], for primality tests. The two moduli are odd, above 2, and may be equal; bases are below
   * them, or 2 for both, which may be faster. The time depends only on the byte lengths of moduli and exponents. Results are as
   * long as their moduli.
   */
  powers(moduli: Pair<Uint8Array>, bases: Pair<Uint8Array> | 2, exponents: Pair<Uint8Array>): Pair<Uint8Array>
}

/** Length in bits without leading zeros. Only for numbers whose length is public. */
export function bitLength(number: Uint8Array): number {
  const first = number.findIndex((byte) => byte !== 0)
  return first < 0 ? 0 : 8 * (number.length - first) - Math.clz32(number[first]!) + 24
}
