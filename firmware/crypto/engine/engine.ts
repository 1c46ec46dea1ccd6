/**
 * What an arithmetic engine offers to RSA. Every number is secret except the modulus, its length, the bit lengths of the
 * primes and the public exponent: an engine takes no branch and no memory address from the others, and uses no BigInt
 * on them. Integers cross this border big-endian; a modulus has at most 8192 bits, like the contract's longest keys.
 */

export type Pair<T> = readonly [T, T]

/** The numbers of RFC 8017 3.2 (second representation) that a private operation needs. The caller keeps its copy. */
export interface RsaNumbers {
  n: Uint8Array
  p: Uint8Array
  q: Uint8Array
  dp: Uint8Array
  dq: Uint8Array
  /** q^-1 mod p. */
  qinv: Uint8Array
}

/** A number modulo n in the engine's own form: only the arithmetic that made it can read it. Wipe it like bytes. */
export type Residue = Uint8Array

/** Arithmetic modulo one RSA modulus. Without blinding or checks: those are the caller's (rsa.ts). */
export interface RsaArithmetic {
  /** All of these but `wipe` are called inside of `work`, of one key at a time; nothing of it stays in memory afterwards. */
  use<T>(work: () => T): T
  /** Of a number below n, of any length. */
  enter(number: Uint8Array): Residue
  /** The number below n, as exactly as many bytes as n has. */
  leave(residue: Residue): Uint8Array
  multiply(a: Residue, b: Residue): Residue
  /** Takes a time that depends on the exponent, and on nothing else. */
  publicPower(base: Residue, publicExponent: Uint8Array): Residue
  /** Whether two residues are those of the same number; shows nothing else, but of numbers that differ. */
  isSame(a: Residue, b: Residue): boolean
  /** base^d mod n from the two halves modulo p and q. */
  privatePower(base: Residue): Residue
  /** Overwrites what the engine keeps of the key; the arithmetic cannot be used afterwards. */
  wipe(): void
}

export interface Engine {
  readonly name: 'plain' | 'fast'
  openRsa(numbers: RsaNumbers): RsaArithmetic
  /**
   * bases[i]^exponents[i] mod moduli[i], for primality tests: two odd moduli above 2, which may be the same, with bases
   * below them, or with the base 2 for both, which may be faster. Time depends on the lengths of moduli and exponents, in bytes. Results are as long as their moduli.
   */
  powers(moduli: Pair<Uint8Array>, bases: Pair<Uint8Array> | 2, exponents: Pair<Uint8Array>): Pair<Uint8Array>
}

/** Length without leading zero bits. Not for secrets, but for numbers of which the length is public. */
export function bitLength(number: Uint8Array): number {
  const first = number.findIndex((byte) => byte !== 0)
  return first < 0 ? 0 : 8 * (number.length - first) - Math.clz32(number[first]!) + 24
}
