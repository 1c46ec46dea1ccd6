/** The parameter sets of ML-DSA, and the lengths that follow from them. FIPS 204, section 4. */

export const Q = 8_380_417
/** Coefficients of a polynomial. */
export const N = 256
/** Low bits of t that the public key leaves out, and those that it has. */
export const DROPPED_BITS = 13
export const T1_BITS = 10

export const SEED_BYTES = 32
/** Of tr, mu and rho''. */
export const DIGEST_BYTES = 64

/** Of a polynomial whose coefficients have so many bits. */
export const packedBytes = (bits: number): number => (N / 8) * bits

export const ML_DSA_SETS = ['ML_DSA_44', 'ML_DSA_65', 'ML_DSA_87'] as const
export type MlDsaSet = (typeof ML_DSA_SETS)[number]

interface Chosen {
  /** Of the matrix: k and l. */
  rows: number
  columns: number
  /** Coefficients of s1 and s2 are from -eta to eta. */
  eta: 2 | 4
  /** Coefficients of the challenge that are not zero. */
  tau: number
  /** Hints at most. */
  omega: number
  /** Of the challenge's hash. */
  challengeBytes: number
}

export type Parameters = ReturnType<typeof complete>

export const PARAMETERS: Readonly<Record<MlDsaSet, Parameters>> = {
  ML_DSA_44: complete({ rows: 4, columns: 4, eta: 2, tau: 39, omega: 80, challengeBytes: 32 }),
  ML_DSA_65: complete({ rows: 6, columns: 5, eta: 4, tau: 49, omega: 55, challengeBytes: 48 }),
  ML_DSA_87: complete({ rows: 8, columns: 7, eta: 2, tau: 60, omega: 75, challengeBytes: 64 }),
}

function complete(chosen: Chosen) {
  const { rows, columns, eta, tau, omega, challengeBytes } = chosen
  const isSmallest = rows === 4
  const gamma1Bits = isSmallest ? 17 : 19 // gamma1 is a power of two
  const etaBits = eta === 2 ? 3 : 4
  const responseBytes = packedBytes(gamma1Bits + 1)
  return {
    ...chosen,
    /** Coefficients of y are from -gamma1 to gamma1. */
    gamma1Bits,
    gamma2: (Q - 1) / (isSmallest ? 88 : 32),
    /** In numbers: what a challenge makes of s1 or s2 at most. */
    beta: tau * eta,
    /** Of one coefficient of w1, and of one of s1 and s2 in an expanded key. */
    highBits: isSmallest ? 6 : 4,
    etaBits,
    /** Of one packed polynomial of z. */
    responseBytes,
    publicBytes: SEED_BYTES + rows * packedBytes(T1_BITS),
    expandedBytes:
      2 * SEED_BYTES + DIGEST_BYTES + (rows + columns) * packedBytes(etaBits) + rows * packedBytes(DROPPED_BITS),
    signatureBytes: challengeBytes + columns * responseBytes + omega + rows,
  }
}
