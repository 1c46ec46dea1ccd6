/** Formats the public key of `/keys/{id}` as JWK (RFC 7517, 8037, 9964) and as a line for SSH (RFC 4253 section 6.6, 5656, 8709). */

import { toBase64 } from './bytes.ts'

export interface PublicParts {
  /** Type by which the key was created: contract section 4.4. */
  type: string
  /** For RSA only. */
  modulus?: Uint8Array
  publicExponent?: Uint8Array
  /** For other types: an uncompressed point, or the bytes of an Ed25519 or ML-DSA key. */
  data?: Uint8Array
}

/** Maps the older types ED25519 and ECDSA to the current names of their curves. */
export function curveOf({ type, data }: PublicParts): string {
  if (type === 'ED25519') return 'Curve25519'
  if (type !== 'ECDSA') return type
  return data?.length === 133 ? 'EC_P521' : data?.length === 97 ? 'EC_P384' : 'EC_P256'
}

/** Null for types without a JWK form. */
export function jwkOf(key: PublicParts): Record<string, string> | null {
  const { modulus, publicExponent, data } = key
  if (modulus && publicExponent) return { kty: 'RSA', n: base64Url(modulus), e: base64Url(publicExponent) }
  const curve = curveOf(key)
  if (!data) return null
  if (curve === 'Curve25519') return { kty: 'OKP', crv: 'Ed25519', x: base64Url(data) }
  if (curve.startsWith('ML_DSA')) return { kty: 'AKP', alg: curve.replaceAll('_', '-'), pub: base64Url(data) }
  const crv = { EC_P256: 'P-256', EC_P384: 'P-384', EC_P521: 'P-521', EC_P256K1: 'secp256k1' }[curve]
  if (crv === undefined) return null
  const half = (data.length - 1) / 2
  return { kty: 'EC', crv, x: base64Url(data.subarray(1, 1 + half)), y: base64Url(data.subarray(1 + half)) }
}

/** Null for types without an SSH form. */
export function sshLineOf(key: PublicParts, comment: string): string | null {
  const { modulus, publicExponent, data } = key
  if (modulus && publicExponent) return line('ssh-rsa', [integer(publicExponent), integer(modulus)], comment)
  const curve = curveOf(key)
  if (!data) return null
  if (curve === 'Curve25519') return line('ssh-ed25519', [data], comment)
  const name = { EC_P256: 'nistp256', EC_P384: 'nistp384', EC_P521: 'nistp521' }[curve]
  return name === undefined ? null : line(`ecdsa-sha2-${name}`, [ascii(name), data], comment)
}

function line(type: string, fields: Uint8Array[], comment: string): string {
  const blob = [ascii(type), ...fields].flatMap((field) => [...uint32(field.length), ...field])
  return `${type} ${toBase64(Uint8Array.from(blob))} ${comment}`
}

/** Positive mpint of RFC 4251 section 5: a zero byte precedes a set high bit. */
const integer = (bytes: Uint8Array): Uint8Array => ((bytes[0] ?? 0) >= 0x80 ? new Uint8Array([0, ...bytes]) : bytes)

const uint32 = (value: number): number[] => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255)

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text)

const base64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
