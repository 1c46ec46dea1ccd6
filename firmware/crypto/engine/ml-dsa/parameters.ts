/** The parameter sets of ML-DSA, and the lengths that follow from them. FIPS 204, section 4. */

export const Q = 8_380_417
/** Coefficients of a polynomial. */
export const N = 256
/** Low bits of t that the public key leaves out. */
export const DROPPED_BITS = 13

export const SEED_BYTES = 32
/** Of tr, mu and rho''. */
export const DIGEST_BYTES = 64

export const ML_DSA_SETS = ['ML_DSA_44', 'ML_DSA_65', 'ML_DSA_87'] as const
export type MlDsaSet = (typeof ML_DSA_SETS)[number]

export interface Parameters {
  /** Of the matrix: k and l. */
  rows: number
  columns: number
  /** Coefficients of s1 and s2 are from -eta to eta. */
  eta: 2 | 4
  /** Coefficients of the challenge that are not zero. */
  tau: number
  /** Of gamma1, which is a power of two: coefficients of y. */
  gamma1Bits: 17 | 19
  gamma2: number
  /** Hints at most. */
  omega: number
  /** Of the challenge's hash. */
  challengeBytes: number
  /** In numbers: what a challenge makes of s1 or s2 at most. */
  beta: number
  /** Of one coefficient of w1. */
  highBits: 4 | 6
  /** Of one coefficient of s1 and s2 in an expanded key. */
  etaBits: 3 | 4
  /** Of one packed polynomial of z. */
  responseBytes: number
  publicBytes: number
  expandedBytes: number
  signatureBytes: number
}

type Chosen = Pick<
  Parameters,
  'rows' | 'columns' | 'eta' | 'tau' | 'gamma1Bits' | 'gamma2' | 'omega' | 'challengeBytes'
>

function complete(chosen: Chosen): Parameters {
  const { rows, columns, eta, tau, gamma1Bits, omega, challengeBytes } = chosen
  const etaBits = eta === 2 ? 3 : 4
  const responseBytes = (N / 8) * (gamma1Bits + 1)
  return {
    ...chosen,
    beta: tau * eta,
    highBits: chosen.gamma2 === GAMMA2_88 ? 6 : 4,
    etaBits,
    responseBytes,
    publicBytes: SEED_BYTES + (N / 8) * 10 * rows,
    expandedBytes: 2 * SEED_BYTES + DIGEST_BYTES + (N / 8) * ((rows + columns) * etaBits + DROPPED_BITS * rows),
    signatureBytes: challengeBytes + columns * responseBytes + omega + rows,
  }
}

const GAMMA2_88 = (Q - 1) / 88
const GAMMA2_32 = (Q - 1) / 32

export const PARAMETERS: Readonly<Record<MlDsaSet, Parameters>> = {
  ML_DSA_44: complete({
    rows: 4,
    columns: 4,
    eta: 2,
    tau: 39,
    gamma1Bits: 17,
    gamma2: GAMMA2_88,
    omega: 80,
    challengeBytes: 32,
  }),
  ML_DSA_65: complete({
    rows: 6,
    columns: 5,
    eta: 4,
    tau: 49,
    gamma1Bits: 19,
    gamma2: GAMMA2_32,
    omega: 55,
    challengeBytes: 48,
  }),
  ML_DSA_87: complete({
    rows: 8,
    columns: 7,
    eta: 2,
    tau: 60,
    gamma1Bits: 19,
    gamma2: GAMMA2_32,
    omega: 75,
    challengeBytes: 64,
  }),
}
