/**
 * Keys on elliptic curves over @noble/curves: ECDSA (FIPS 186-5, RFC 5639), BIP-340 and Ed25519 (RFC 8032).
 * Contract sections 4.4 and 6.1.
 */

import type { ECDSA } from '@noble/curves/abstract/weierstrass.js'
import { ed25519 } from '@noble/curves/ed25519.js'
import { brainpoolP256r1, brainpoolP384r1, brainpoolP512r1 } from '@noble/curves/misc.js'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js'
import { numberToBytesBE } from '@noble/curves/utils.js'
import { CofferError } from '../error.ts'
import { CURVES, ED25519_BYTES } from './algorithms.ts'
import { isFast } from './engine/choice.ts'
import { fastPublicKey, fastSign } from './engine/fast/ecdsa.ts'
import type { Random } from './random.ts'
import type { EcKeyType, KeyPair, SignMode } from './types.ts'

export type CurveKeyType = EcKeyType | 'Curve25519'

export interface OpenedCurveKey {
  /** The caller owns the signature; throws CofferError `invalid` for a mode or a length that does not fit. */
  sign(mode: SignMode, message: Uint8Array): Uint8Array
  wipe(): void
}

export function generateCurveKey(type: CurveKeyType, random: Random): KeyPair {
  if (type === 'Curve25519') return pair(type, random(ED25519_BYTES))
  const seed = random(ECDSA_OF[type].lengths.seed!) // half as long again as the order, so that reduction has no bias
  try {
    return pair(type, ECDSA_OF[type].utils.randomSecretKey(seed))
  } finally {
    seed.fill(0)
  }
}

/** Checks length and range and computes the public key; copies `data`. */
export function importCurveKey(type: CurveKeyType, data: Uint8Array): KeyPair {
  const bytes = type === 'Curve25519' ? ED25519_BYTES : CURVES[type].fieldBytes
  if (data.length !== bytes) throw new CofferError('invalid', `data: ${type} keys have ${bytes} bytes`)
  if (type !== 'Curve25519' && !isScalar(data, orderBytes(type))) {
    throw new CofferError('invalid', 'data: not a number between 1 and the order of the curve')
  }
  return pair(type, data.slice())
}

/** Keeps its own copy of the private key until `wipe`. Throws `internal` when it is out of range: its record was damaged. */
export function openCurveKey(type: CurveKeyType, privateKey: Uint8Array, random: Random): OpenedCurveKey {
  if (type !== 'Curve25519' && !isScalar(privateKey, orderBytes(type))) {
    throw new CofferError('internal', 'The stored key is no number between 1 and the order of the curve')
  }
  const secret = privateKey.slice()
  let wiped = false
  const sign = (mode: SignMode, message: Uint8Array): Uint8Array => {
    if (wiped) throw new CofferError('internal', 'The key is no longer open')
    if (mode === 'EdDSA' && type === 'Curve25519') return ed25519.sign(message, secret)
    if (mode === 'BIP340' && type === 'EC_P256K1') return schnorr.sign(message, secret, random(32))
    if (mode === 'ECDSA' && type !== 'Curve25519') return signEcdsa(type, message, secret, random)
    throw new CofferError('invalid', `mode: ${mode} does not fit ${type} keys`)
  }
  const wipe = (): void => {
    secret.fill(0)
    wiped = true
  }
  return { sign, wipe }
}

const ECDSA_OF: Readonly<Record<EcKeyType, ECDSA>> = {
  EC_P256: p256,
  EC_P384: p384,
  EC_P521: p521,
  EC_P256K1: secp256k1,
  BrainpoolP256: brainpoolP256r1,
  BrainpoolP384: brainpoolP384r1,
  BrainpoolP512: brainpoolP512r1,
}

const orderBytes = (type: EcKeyType): Uint8Array =>
  numberToBytesBE(ECDSA_OF[type].Point.Fn.ORDER, CURVES[type].fieldBytes)

/** True from 1 to the order less one; both big-endian and of one length. The same operations for every value. */
function isScalar(bytes: Uint8Array, order: Uint8Array): boolean {
  if (bytes.length !== order.length) return false
  let [borrow, bits] = [0, 0]
  for (let i = bytes.length - 1; i >= 0; i--) {
    borrow = ((bytes[i]! - order[i]! - borrow) >> 8) & 1
    bits |= bytes[i]!
  }
  return borrow === 1 && bits !== 0
}

/**
 * The nonce is hedged (RFC 6979 section 3.6): a keyed hash of the digest and as many fresh random bytes as the scalar has.
 * It is random like a nonce drawn directly, but a failing random generator cannot reveal the key.
 * s is not normalised, as the contract says.
 */
function signEcdsa(type: EcKeyType, digest: Uint8Array, secret: Uint8Array, random: Random): Uint8Array {
  const { digestBytes, fieldBytes } = CURVES[type]
  if (digest.length !== digestBytes) {
    throw new CofferError('invalid', `message: ${type} keys sign a digest of exactly ${digestBytes} bytes`)
  }
  if (isFast) return fastSign(ECDSA_OF[type], digest, secret, random)
  const extraEntropy = random(fieldBytes)
  try {
    return ECDSA_OF[type].sign(digest, secret, { prehash: false, lowS: false, format: 'der', extraEntropy })
  } finally {
    extraEntropy.fill(0)
  }
}

function pair(type: CurveKeyType, secret: Uint8Array): KeyPair {
  const data = type === 'Curve25519' ? ed25519.getPublicKey(secret) : publicPoint(ECDSA_OF[type], secret)
  return { type, private: secret, public: { data } }
}

function publicPoint(curve: ECDSA, secret: Uint8Array): Uint8Array {
  return isFast ? fastPublicKey(curve, secret) : curve.getPublicKey(secret, false)
}
