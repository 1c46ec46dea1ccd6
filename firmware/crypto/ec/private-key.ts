/**
 * Keys on elliptic curves: ECDSA (FIPS 186-5, RFC 5639), BIP-340 and Ed25519 (RFC 8032). Contract sections 4.4 and 6.1.
 */

import { CofferError } from '../../base/error.ts'
import { copySecret } from '../../base/secret.ts'
import { CURVES, ED25519_BYTES } from '../algorithms.ts'
import { products as chosen } from '../engine/choice.ts'
import type { BasePoint } from '../engine/float/base-point.ts'
import { type Bip340Key, openBip340 } from '../engine/float/bip340.ts'
import { basePoint } from '../engine/float/curves.ts'
import { randomScalar, signEcdsa, uncompressedPoint } from '../engine/float/ecdsa.ts'
import { openEd25519 } from '../engine/float/eddsa.ts'
import type { Products } from '../engine/float/emitter.ts'
import { Kept } from '../engine/float/kept.ts'
import type { Random } from '../random.ts'
import type { CurveKeyType, EcKeyType, KeyPair, SignMode } from '../types.ts'

interface OpenedCurveKey {
  /** Returns a transient signature. Throws CofferError `invalid` if the mode or the length does not fit the key. */
  sign(mode: SignMode, message: Uint8Array): Uint8Array
  wipe(): void
}

export function generateCurveKey(type: CurveKeyType, random: Random, products: Products = chosen): KeyPair {
  const secret = type === 'Curve25519' ? random(ED25519_BYTES) : randomScalar(basePoint(type, products), random)
  return pair(type, secret, products)
}

/** Checks length and range, and computes the public key. Copies `data`. */
export function importCurveKey(type: CurveKeyType, data: Uint8Array, products: Products = chosen): KeyPair {
  const bytes = type === 'Curve25519' ? ED25519_BYTES : CURVES[type].fieldBytes
  if (data.length !== bytes) throw new CofferError('invalid', `data: ${type} keys have ${bytes} bytes`)
  if (type !== 'Curve25519' && !isScalar(data, basePoint(type, products).order)) {
    throw new CofferError('invalid', 'data: not a number between 1 and the order of the curve')
  }
  return pair(type, copySecret(data), products)
}

/** Copies the private key, until `wipe`. Throws CofferError `internal` if it is out of range: the record is damaged. */
export function openCurveKey(
  type: CurveKeyType,
  privateKey: Uint8Array,
  random: Random,
  products: Products = chosen,
): OpenedCurveKey {
  const base = basePoint(type, products)
  const opened = type === 'Curve25519' ? ed25519Signer(base, privateKey) : ecSigner(type, base, privateKey, random)
  let isWiped = false
  return {
    sign: (mode, message) => {
      if (isWiped) throw new CofferError('internal', 'The key is no longer open')
      return opened.sign(mode, message)
    },
    wipe: () => {
      isWiped = true
      opened.wipe()
    },
  }
}

function ed25519Signer(base: BasePoint, seed: Uint8Array): OpenedCurveKey {
  const key = openEd25519(base, seed)
  return {
    sign: (mode, message) => {
      if (mode !== 'EdDSA') throw unfit(mode, 'Curve25519')
      return key.sign(message)
    },
    wipe: key.wipe,
  }
}

function ecSigner(type: EcKeyType, base: BasePoint, privateKey: Uint8Array, random: Random): OpenedCurveKey {
  if (!isScalar(privateKey, base.order)) {
    throw new CofferError('internal', 'The stored key is not a number between 1 and the order of the curve')
  }
  const { digestBytes } = CURVES[type]
  const secret = new Kept(privateKey)
  let schnorr: Bip340Key | undefined
  return {
    sign: (mode, message) => {
      if (mode === 'BIP340' && type === 'EC_P256K1') {
        schnorr ??= secret.use((scalar) => openBip340(base, scalar))
        return schnorr.sign(message, random(AUX_BYTES))
      }
      if (mode !== 'ECDSA') throw unfit(mode, type)
      if (message.length !== digestBytes) {
        throw new CofferError('invalid', `message: ${type} keys sign a digest of exactly ${digestBytes} bytes`)
      }
      return secret.use((scalar) => signEcdsa(base, message, scalar, random))
    },
    wipe: () => {
      secret.wipe()
      schnorr?.wipe()
    },
  }
}

const AUX_BYTES = 32

const unfit = (mode: SignMode, type: CurveKeyType): CofferError =>
  new CofferError('invalid', `mode: ${mode} does not fit ${type} keys`)

/** True if 1 <= `bytes` < `order`, both big-endian. Runs in constant time. */
function isScalar(bytes: Uint8Array, order: Uint8Array): boolean {
  if (bytes.length !== order.length) return false
  let [borrow, bits] = [0, 0]
  for (let i = bytes.length - 1; i >= 0; i--) {
    const byte = bytes[i] ?? 0
    borrow = ((byte - (order[i] ?? 0) - borrow) >> 8) & 1
    bits |= byte
  }
  return borrow === 1 && bits !== 0
}

function pair(type: CurveKeyType, secret: Uint8Array, products: Products): KeyPair {
  const base = basePoint(type, products)
  return { type, private: secret, public: { data: publicKey(type, base, secret) } }
}

function publicKey(type: CurveKeyType, base: BasePoint, secret: Uint8Array): Uint8Array {
  if (type !== 'Curve25519') return uncompressedPoint(base, secret)
  const key = openEd25519(base, secret)
  key.wipe()
  return key.publicKey
}
