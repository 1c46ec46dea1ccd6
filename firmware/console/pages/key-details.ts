/** Parses the answer of `GET /keys/{id}`: contract section 4.6. */

import { fromBase64 } from '../../client/bytes.ts'
import { curveOf, type PublicParts } from '../../client/public-key.ts'
import type * as T from '../../client/types.ts'

export function publicParts({ type, public: parts }: T.Key): PublicParts {
  const { modulus, publicExponent, data } = parts ?? {}
  return {
    type,
    ...(modulus !== undefined && { modulus: fromBase64(modulus) }),
    ...(publicExponent !== undefined && { publicExponent: fromBase64(publicExponent) }),
    ...(data !== undefined && { data: fromBase64(data) }),
  }
}

const VERSIONED = /^(RSA|Curve25519|ED25519|ECDSA|EC_P(256|384|521)|ML_DSA_\d+)$/

/** True for keys that the transit API can use, which can have versions. It uses RSA keys of 2048, 3072 and 4096 bits only. */
export const canHaveVersions = ({ type, mechanisms }: T.Key): boolean =>
  VERSIONED.test(type) || mechanisms.some((name) => name === 'HMAC' || name.startsWith('XAES_'))

const NAMES: Readonly<Record<string, string>> = {
  Curve25519: 'Ed25519',
  EC_P256K1: 'secp256k1',
  Generic: 'AES',
}

/** Short name of the type, such as `RSA 3072` or `P-256`. */
export function shortType(key: T.Key): string {
  const parts = publicParts(key)
  if (parts.modulus) {
    const bits = parts.modulus.length * 8 - (Math.clz32(parts.modulus[0] ?? 0) - 24)
    return `RSA ${bits}`
  }
  const type = curveOf(parts)
  return (
    NAMES[type] ??
    type
      .replace('EC_', '')
      .replace(/P(?=\d)/, ' P-')
      .trim()
      .replaceAll('_', '-')
  )
}
