import { ed25519 } from '@noble/curves/ed25519.js'
import { brainpoolP256r1, brainpoolP384r1, brainpoolP512r1 } from '@noble/curves/misc.js'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import type { CurveKeyType } from '../../../../firmware/crypto/types.ts'

export const CURVES: Readonly<Record<CurveKeyType, { p: bigint; n: bigint }>> = {
  Curve25519: ed25519.Point.CURVE(),
  EC_P256: p256.Point.CURVE(),
  EC_P384: p384.Point.CURVE(),
  EC_P521: p521.Point.CURVE(),
  EC_P256K1: secp256k1.Point.CURVE(),
  BrainpoolP256: brainpoolP256r1.Point.CURVE(),
  BrainpoolP384: brainpoolP384r1.Point.CURVE(),
  BrainpoolP512: brainpoolP512r1.Point.CURVE(),
}
