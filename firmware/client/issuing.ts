/**
 * Builds the bytes that an authority signs: certificates and revocation lists (RFC 5280 sections 4 and 5). The private key stays
 * in the appliance.
 */

import { toHex } from './bytes.ts'
import { REASONS, type Reason, type Use } from './certificate-uses.ts'
import {
  bitString,
  children,
  context,
  element,
  integer,
  octets,
  oid,
  sequence,
  TAG,
  text,
  time,
  whole,
  yes,
} from './der.ts'
import type { Name } from './general-name.ts'
import { sha256 } from './sha2.ts'
import type { SignMode } from './signatures.ts'

export interface Issuer {
  /** Subject of its certificate, DER. */
  name: Uint8Array
  /** Key identifier, as `keyIdOf` returns it. */
  keyId: Uint8Array
  algorithm: Uint8Array
  /** URL of its revocation list; written into every certificate that it issues. */
  listUrl?: string | undefined
}

export interface CertificateBody {
  serial: Uint8Array
  /** DER. */
  subject: Uint8Array
  /** SubjectPublicKeyInfo, DER. */
  key: Uint8Array
  notBefore: Date
  notAfter: Date
  extensions: readonly Uint8Array[]
}

const ALGORITHMS: Readonly<Record<string, string>> = {
  PKCS1_SHA256: '1.2.840.113549.1.1.11',
  PKCS1_SHA384: '1.2.840.113549.1.1.12',
  PKCS1_SHA512: '1.2.840.113549.1.1.13',
  ECDSA_SHA256: '1.2.840.10045.4.3.2',
  ECDSA_SHA384: '1.2.840.10045.4.3.3',
  ECDSA_SHA512: '1.2.840.10045.4.3.4',
  EdDSA: '1.3.101.112',
}

/** Null for modes that do not sign certificates here. */
export function algorithmOf({ mode, hash }: SignMode): Uint8Array | null {
  const name = ALGORITHMS[mode === 'ECDSA' ? `ECDSA_${hash}` : mode]
  if (name === undefined) return null
  return sequence(oid(name), ...(mode.startsWith('PKCS1') ? [element(0x05)] : []))
}

/** First 160 bits of the SHA-256 of a public key: RFC 7093 section 2, method 1. */
export function keyIdOf(spki: Uint8Array): Uint8Array {
  const bits = children(whole(spki, TAG.sequence).content).find(({ tag }) => tag === TAG.bitString)
  if (bits === undefined) throw new Error('Not a public key')
  return sha256(bits.content.subarray(1)).subarray(0, 20)
}

/** The bytes to sign of a version 3 certificate (TBSCertificate). */
export function certificateBody(issuer: Issuer, body: CertificateBody): Uint8Array {
  return sequence(
    element(context(0), integer(Uint8Array.of(2))),
    integer(body.serial),
    issuer.algorithm,
    issuer.name,
    sequence(time(body.notBefore), time(body.notAfter)),
    body.subject,
    body.key,
    element(context(3), sequence(...body.extensions)),
  )
}

export const signed = (body: Uint8Array, algorithm: Uint8Array, signature: Uint8Array): Uint8Array =>
  sequence(body, algorithm, bitString(signature))

/** Bit numbers of KeyUsage: RFC 5280 section 4.2.1.3. */
const BITS = { digitalSignature: 0, keyEncipherment: 2, keyCertSign: 5, cRLSign: 6 } as const

const EXTENDED: Readonly<Partial<Record<Use, string>>> = {
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
  code: '1.3.6.1.5.5.7.3.3',
  email: '1.3.6.1.5.5.7.3.4',
}

interface Holder {
  use: Use
  /** SubjectPublicKeyInfo, DER. */
  key: Uint8Array
  names: readonly Name[]
  /** True if only `names` identify the subject: then that extension is critical. */
  hasEmptySubject: boolean
}

/** `issuer` is null for a self-signed certificate. */
export function extensionsOf({ use, key, names, hasEmptySubject }: Holder, issuer: Issuer | null): Uint8Array[] {
  const isAuthority = use === 'authority'
  const isRsa = toHex(key.subarray(0, 32)).includes(RSA_ENCRYPTION)
  const takesKeys = isRsa && (use === 'server' || use === 'email')
  const usage = isAuthority
    ? [BITS.keyCertSign, BITS.cRLSign]
    : [BITS.digitalSignature, ...(takesKeys ? [BITS.keyEncipherment] : [])]
  // An authority below another one may issue no further authorities.
  const constraints = isAuthority
    ? sequence(yes(), ...(issuer === null ? [] : [integer(Uint8Array.of(0))]))
    : sequence()
  const extended = EXTENDED[use]
  return [
    extension('2.5.29.19', true, constraints),
    extension('2.5.29.15', true, namedBits(usage)),
    ...(extended === undefined ? [] : [extension('2.5.29.37', false, sequence(oid(extended)))]),
    extension('2.5.29.14', false, octets(keyIdOf(key))),
    ...(issuer === null ? [] : [authorityKeyId(issuer)]),
    ...(names.length === 0 ? [] : [extension('2.5.29.17', hasEmptySubject, sequence(...names.map(({ der }) => der)))]),
    ...(issuer?.listUrl === undefined ? [] : [distributionPoint(issuer.listUrl)]),
  ]
}

export interface Revoked {
  serial: Uint8Array
  at: Date
  reason?: Reason | undefined
}

/** The bytes to sign of a version 2 revocation list (TBSCertList). */
export function listBody(
  issuer: Issuer,
  { number, from, next, revoked }: { number: Uint8Array; from: Date; next: Date; revoked: readonly Revoked[] },
): Uint8Array {
  const entries = revoked.map(({ serial, at, reason }) => {
    const code = reason === undefined ? undefined : REASONS[reason]
    const why = code === undefined ? [] : [sequence(extension('2.5.29.21', false, element(0x0a, Uint8Array.of(code))))]
    return sequence(integer(serial), time(at), ...why)
  })
  return sequence(
    integer(Uint8Array.of(1)),
    issuer.algorithm,
    issuer.name,
    time(from),
    time(next),
    ...(entries.length === 0 ? [] : [sequence(...entries)]), // omitted if empty
    element(context(0), sequence(authorityKeyId(issuer), extension('2.5.29.20', false, integer(number)))),
  )
}

/** Builds a Name from parts in the given order. `type` is an object identifier, `tag` the kind of string. */
export function subjectName(parts: readonly { type: string; tag: number; value: string }[]): Uint8Array {
  return sequence(...parts.map(({ type, tag, value }) => element(TAG.set, sequence(oid(type), text(tag, value)))))
}

const extension = (type: string, isCritical: boolean, value: Uint8Array): Uint8Array =>
  sequence(oid(type), ...(isCritical ? [yes()] : []), octets(value))

const authorityKeyId = ({ keyId }: Issuer): Uint8Array => extension('2.5.29.35', false, sequence(element(0x80, keyId)))

const distributionPoint = (url: string): Uint8Array =>
  extension('2.5.29.31', false, sequence(sequence(element(context(0), element(context(0), text(0x86, url))))))

/** BIT STRING without trailing zero bits: X.690 section 11.2.2. */
function namedBits(bits: readonly number[]): Uint8Array {
  const last = Math.max(...bits)
  const byte = bits.reduce((sum, bit) => sum | (0x80 >> bit), 0)
  return element(TAG.bitString, Uint8Array.of(7 - last, byte))
}

const RSA_ENCRYPTION = '2a864886f70d010101'
