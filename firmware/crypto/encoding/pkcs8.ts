/** Encodes private keys as PKCS#8: RFC 5208 around RFC 5915 (EC), RFC 8410 (Ed25519), RFC 9881 (ML-DSA) and RFC 8017 A.1.2 (RSA). */

import { AsnConvert } from '@peculiar/asn1-schema'
import { CofferError } from '../../base/error.ts'
import { copySecret, newSecret, wipe } from '../../base/secret.ts'
import { isEcKeyType, isMlDsaKeyType } from '../algorithms.ts'
import { inverseOfOdd, product } from '../engine/integer/arithmetic.ts'
import { SEED_BYTES } from '../engine/ml-dsa/parameters.ts'
import { decodeRsaPrivateKey, type RsaPrivateKey, wipeRsaKey } from '../rsa/encoding.ts'
import type { KeyPair } from '../types.ts'
import { constructed, primitive, TAG } from './der.ts'
import { publicKeyInfo } from './public-key.ts'

/**
 * Returns DER, which the caller wipes. An ML-DSA key is encoded as its seed, or as the expanded key if it has no seed. Throws
 * CofferError `invalid` for Generic keys.
 */
export function encodePkcs8(pair: KeyPair): Uint8Array {
  const { algorithm } = publicKeyInfo(pair.type, pair.public)
  const name = new Uint8Array(AsnConvert.serialize(algorithm))
  return wrap(TAG.sequence, integer(ZERO), name, wrap(TAG.octetString, privateKey(pair)))
}

const ZERO = Uint8Array.of(0)
const ONE = Uint8Array.of(1)

function privateKey({ type, private: secret, public: publicKey }: KeyPair): Uint8Array {
  if (type === 'RSA') {
    const key = decodeRsaPrivateKey(secret)
    try {
      return rsaPrivateKey(key)
    } finally {
      wipeRsaKey(key)
    }
  }
  if (publicKey === null || !('data' in publicKey))
    throw new CofferError('invalid', `${type} keys cannot be encoded this way`)
  if (isMlDsaKeyType(type))
    return wrap(secret.length === SEED_BYTES ? primitive(0) : TAG.octetString, copySecret(secret))
  if (!isEcKeyType(type)) return wrap(TAG.octetString, copySecret(secret))
  const point = wrap(TAG.bitString, ZERO.slice(), publicKey.data.slice())
  return wrap(TAG.sequence, integer(ONE), wrap(TAG.octetString, copySecret(secret)), wrap(constructed(1), point))
}

function rsaPrivateKey({ n, e, p, q, dp, dq, qinv }: RsaPrivateKey): Uint8Array {
  const d = privateExponent(e, p, q)
  try {
    return wrap(TAG.sequence, ...[ZERO, n, e, d, p, q, dp, dq, qinv].map(integer))
  } finally {
    wipe(d)
  }
}

/** e^-1 mod (p - 1)(q - 1), one of the exponents that RFC 8017 section 3.2 allows. */
function privateExponent(e: Uint8Array, p: Uint8Array, q: Uint8Array): Uint8Array {
  const [pLess, qLess] = [lessOne(p), lessOne(q)]
  const order = product(pLess, qLess)
  try {
    const d = inverseOfOdd(e, order)
    if (d === null) throw new CofferError('storage', 'A stored RSA key is damaged')
    return d
  } finally {
    wipe(pLess, qLess, order)
  }
}

function lessOne(odd: Uint8Array): Uint8Array {
  const less = copySecret(odd)
  less[less.length - 1]! &= 0xfe
  return less
}

/** INTEGER without leading zeros. Lengths of a key's numbers are public, or nearly so. */
function integer(number: Uint8Array): Uint8Array {
  let start = 0
  while (start < number.length - 1 && number[start] === 0) start++
  const digits = copySecret(number.subarray(start))
  return digits[0]! >= 0x80 ? wrap(TAG.integer, ZERO.slice(), digits) : wrap(TAG.integer, digits)
}

/** Encodes a DER value around `parts`, which are wiped. */
function wrap(tag: number, ...parts: Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const lengthBytes = length < 0x80 ? 0 : length < 0x100 ? 1 : 2
  const value = newSecret(2 + lengthBytes + length)
  value[0] = tag
  if (lengthBytes === 0) value[1] = length
  else {
    value[1] = 0x80 | lengthBytes
    if (lengthBytes === 2) value[2] = length >> 8
    value[1 + lengthBytes] = length
  }
  let at = 2 + lengthBytes
  for (const part of parts) {
    value.set(part, at)
    wipe(part)
    at += part.length
  }
  return value
}
