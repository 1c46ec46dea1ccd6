/** Signed requests of ACME: JSON Web Signature (RFC 7515) with ES256, thumbprints (RFC 7638), external accounts (RFC 8555 7.3.4). */

import { createHash, createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { defined } from '../base/defined.ts'

interface PublicJwk {
  readonly crv: 'P-256'
  readonly kty: 'EC'
  readonly x: string
  readonly y: string
}

export interface AccountKey {
  readonly jwk: PublicJwk
  /** Second part of a key authorization. */
  readonly thumbprint: string
  /** Flattened JSON serialization. `payload` is the text that is signed; empty for POST-as-GET. */
  sign(header: object, payload: string): string
}

export interface ExternalAccount {
  readonly kid: string
  /** HMAC key. */
  readonly key: Uint8Array
}

/** PKCS#8 in DER. */
export const newAccountKey = (): Uint8Array =>
  new Uint8Array(
    generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { format: 'der', type: 'pkcs8' },
      publicKeyEncoding: { format: 'der', type: 'spki' },
    }).privateKey,
  )

export function openAccountKey(pkcs8: Uint8Array): AccountKey {
  const der = Buffer.from(pkcs8.buffer, pkcs8.byteOffset, pkcs8.length)
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x, y } = createPublicKey(key).export({ format: 'jwk' })
  const jwk: PublicJwk = { crv: 'P-256', kty: 'EC', x: defined(x), y: defined(y) } // in the order of RFC 7638
  return {
    jwk,
    thumbprint: createHash('sha256').update(JSON.stringify(jwk)).digest('base64url'),
    sign: (header, payload) =>
      flattened({ alg: 'ES256', ...header }, payload, (data) =>
        sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' }),
      ),
  }
}

/** Binds an account of the CA to the account key. */
export const externalBinding = ({ kid, key }: ExternalAccount, jwk: PublicJwk, url: string): unknown =>
  JSON.parse(
    flattened({ alg: 'HS256', kid, url }, JSON.stringify(jwk), (data) =>
      createHmac('sha256', key).update(data).digest(),
    ),
  )

function flattened(header: object, payload: string, make: (data: Buffer) => Buffer): string {
  const [protectedPart, body] = [JSON.stringify(header), payload].map((text) => Buffer.from(text).toString('base64url'))
  const signature = make(Buffer.from(`${protectedPart}.${body}`)).toString('base64url')
  return JSON.stringify({ protected: protectedPart, payload: body, signature })
}
