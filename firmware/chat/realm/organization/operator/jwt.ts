/**
 * JSON Web Tokens of a foreign sign-in service. The operator sets the key together with one algorithm; the algorithm in a token's header
 * must match and never selects anything. RFC 7515, RFC 7519, RFC 8725; contract row E3.
 */

import { createHmac, createPublicKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto'
import { CofferError } from '../../../../base/error.ts'
import type { JwtAlgorithm } from '../../../link/link.ts'

/** Claims of a token whose signature, time and audience were verified. */
export type Claims = Readonly<Record<string, unknown>>

export interface Verification {
  algorithm: JwtAlgorithm
  /** Secret, or public key in PEM. */
  key: Uint8Array
  /** Seconds since the epoch. */
  nowS: number
  /** Required value of `aud` if the token has `aud`. '' accepts no token with `aud`. */
  audience: string
}

const TOKEN_CHARACTERS_MAX = 8192
/** RFC 7518 section 3.2: at least as long as the hash. */
const SECRET_BYTES_MIN = 32
const RSA_BITS = { min: 2048, max: 8192 } as const
const P256_SIGNATURE_BYTES = 64

/** Returns null for an invalid token, whatever the reason. */
export function readToken(token: string, { algorithm, key, nowS, audience }: Verification): Claims | null {
  if (token.length > TOKEN_CHARACTERS_MAX) return null
  const parts = token.split('.')
  const [header, claims, signature] = parts.map(bytesOf)
  if (parts.length !== 3 || !header || !claims || !signature) return null
  const { alg, crit } = objectOf(header) ?? {}
  if (alg !== algorithm || crit !== undefined) return null
  const signed = Buffer.from(token.slice(0, token.lastIndexOf('.')))
  return isSigned(algorithm, key, signed, signature) ? goodNow(objectOf(claims), nowS, audience) : null
}

/** Throws `invalid`, so that a wrong key is noticed when it is set and not when sign-ins fail. */
export function checkJwtKey(algorithm: JwtAlgorithm, key: Uint8Array): void {
  if (algorithm === 'HS256') {
    if (key.length < SECRET_BYTES_MIN) throw invalid(`the key of HS256 must have at least ${SECRET_BYTES_MIN} bytes`)
    if (isPem(key)) throw invalid('the key of HS256 is a secret, not one in PEM')
    return
  }
  const known = publicKey(key)
  if (known === null) throw invalid(`the key of ${algorithm} must be a public key in PEM`)
  const { modulusLength = 0, namedCurve } = known.asymmetricKeyDetails ?? {}
  const isRight =
    algorithm === 'RS256'
      ? known.asymmetricKeyType === 'rsa' && modulusLength >= RSA_BITS.min && modulusLength <= RSA_BITS.max
      : known.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1'
  if (isRight) return
  const kind = algorithm === 'RS256' ? `of RSA with ${RSA_BITS.min} to ${RSA_BITS.max} bits` : 'on P-256'
  throw invalid(`the key of ${algorithm} must be ${kind}`)
}

function isSigned(algorithm: JwtAlgorithm, key: Uint8Array, signed: Uint8Array, signature: Uint8Array): boolean {
  if (algorithm === 'HS256') {
    const expected = createHmac('sha256', key).update(signed).digest()
    return signature.length === expected.length && timingSafeEqual(signature, expected)
  }
  const known = publicKey(key)
  if (known === null) return false
  if (algorithm === 'RS256') return verify('sha256', signed, known, signature)
  return (
    signature.length === P256_SIGNATURE_BYTES &&
    verify('sha256', signed, { key: known, dsaEncoding: 'ieee-p1363' }, signature)
  )
}

function goodNow(claims: Claims | null, nowS: number, audience: string): Claims | null {
  if (claims === null) return null
  const { exp, nbf, aud } = claims
  const isInTime = isTime(exp) && nowS < exp && (nbf === undefined || (isTime(nbf) && nbf <= nowS))
  const isForUs = aud === undefined || (audience !== '' && (Array.isArray(aud) ? aud : [aud]).includes(audience))
  return isInTime && isForUs ? claims : null
}

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

/** Accepts only canonical base64url without padding. */
function bytesOf(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64url')
  return text !== '' && bytes.toString('base64url') === text ? bytes : null
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function objectOf(bytes: Uint8Array): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

const isPem = (key: Uint8Array): boolean => Buffer.from(key).includes('-----BEGIN ')

/** Rejects private keys, from which OpenSSL would derive the public key. */
function publicKey(key: Uint8Array): KeyObject | null {
  const pem = Buffer.from(key).toString('latin1').trim()
  if (!pem.startsWith('-----BEGIN PUBLIC KEY-----')) return null
  try {
    return createPublicKey(pem)
  } catch {
    return null
  }
}

const invalid = (what: string) => new CofferError('invalid', `jwt: ${what}`)
