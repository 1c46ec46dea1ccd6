/** Parameter sets of ML-DSA, and the lengths that follow from them. FIPS 204, section 4. */

export const Q = 8_380_417
/** Number of coefficients of a polynomial. */
export const N = 256
/** Low bits of t that the public key omits, and bits that it has. */
export const DROPPED_BITS = 13
export const T1_BITS = 10

export const SEED_BYTES = 32
/** Length of tr, mu and rho''. */
export const DIGEST_BYTES = 64

/** Length of a packed polynomial with coefficients of `bits` bits. */
export const packedBytes = (bits: number): number => (N / 8) * bits

export const ML_DSA_SETS = ['ML_DSA_44', 'ML_DSA_65', 'ML_DSA_87'] as const
export type MlDsaSet = (typeof ML_DSA_SETS)[number]

export type MlDsaParameters = ReturnType<typeof parametersOf>

/** k, l, eta, tau, omega, and the length of the challenge's hash. */
export const PARAMETERS: Readonly<Record<MlDsaSet, MlDsaParameters>> = {
  ML_DSA_44: parametersOf(4, 4, 2, 39, 80, 32),
  ML_DSA_65: parametersOf(6, 5, 4, 49, 55, 48),
  ML_DSA_87: parametersOf(8, 7, 2, 60, 75, 64),
}

function parametersOf(rows: number, columns: number, eta: 2 | 4, tau: number, omega: number, challengeBytes: number) {
  const isSmallest = rows === 4
  const [gamma1Bits, highBits] = isSmallest ? [17, 6] : [19, 4]
  const etaBits = eta === 2 ? 3 : 4
  const responseBytes = packedBytes(gamma1Bits + 1)
  return {
    rows,
    columns,
    /** Coefficients of s1 and s2 are in -eta .. eta, with `etaBits` bits each in an expanded key. */
    eta,
    etaBits,
    /** Number of nonzero coefficients of the challenge. */
    tau,
    /** Maximum number of hints. */
    omega,
    challengeBytes,
    /** Coefficients of y are in -gamma1 .. gamma1, where gamma1 is a power of two. */
    gamma1Bits,
    gamma2: (Q - 1) / (isSmallest ? 88 : 32),
    /** Bound of the coefficients of a challenge times s1 or s2. */
    beta: tau * eta,
    highBits,
    /** Bytes of a packed polynomial of w1, and of z. */
    highBytes: packedBytes(highBits),
    responseBytes,
    publicBytes: SEED_BYTES + rows * packedBytes(T1_BITS),
    expandedBytes:
      2 * SEED_BYTES + DIGEST_BYTES + (rows + columns) * packedBytes(etaBits) + rows * packedBytes(DROPPED_BITS),
    signatureBytes: challengeBytes + columns * responseBytes + omega + rows,
  }
}
