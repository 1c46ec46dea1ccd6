/**
 * A key as it is stored, apart from the private key and the certificate: its metadata as JSON, a zero byte, and the
 * modulus or other public data as it is. What an unlock reads of 100,000 keys is thus little to parse.
 */

import { base64 } from '@scure/base'
import type { KeyTypeName, MechanismName } from '../../crypto/algorithms.ts'
import { equalBytes } from '../../crypto/seal.ts'
import type { KeyType, PublicKey } from '../../crypto/types.ts'
import type { Namespace } from './identifiers.ts'

/** The content types a certificate is stored and answered with. Contract section 5 row 12. */
export const CERTIFICATE_TYPES = ['application/x-pem-file', 'application/octet-stream'] as const
export type CertificateType = (typeof CERTIFICATE_TYPES)[number]

/** What the index holds of a key: small, because there may be 100,000 of them. */
export interface KeyMetadata {
  namespace: Namespace
  id: string
  type: KeyType
  /** The spelling of the type at creation. */
  typeName: KeyTypeName
  mechanisms: readonly MechanismName[]
  tags: readonly string[]
  label: string
  /** In a record those that are counted nowhere else: key-counts.ts. */
  operations: number
  certificate: CertificateType | null
}

export const OPERATIONS_MAX = 2 ** 31 - 1 // a published client reads 32 bits; contract 4.6

/** What is read of a record. */
export interface StoredKey extends KeyMetadata {
  /** The id that the key had until the change that wrote this. */
  formerId: string | undefined
}

/** Names are short: with 100,000 keys they are a tenth of what an unlock reads. */
interface Stored {
  n?: string
  i: string
  t: KeyType
  s?: KeyTypeName
  m: readonly MechanismName[]
  g?: readonly string[]
  l?: string
  o?: number
  c?: CertificateType
  f?: string
  /** The public exponent of RSA keys. */
  e?: string
}

export function encodeKey(key: KeyMetadata, publicKey: PublicKey, formerId?: string): Uint8Array {
  const rsa = publicKey !== null && 'modulus' in publicKey
  const stored: Stored = {
    ...(key.namespace !== '' && { n: key.namespace }),
    i: key.id,
    t: key.type,
    ...(key.typeName !== key.type && { s: key.typeName }),
    m: key.mechanisms,
    ...(key.tags.length > 0 && { g: key.tags }),
    ...(key.label !== '' && { l: key.label }),
    ...(key.operations > 0 && { o: key.operations }),
    ...(key.certificate !== null && { c: key.certificate }),
    ...(formerId !== undefined && { f: formerId }),
    ...(rsa && { e: base64.encode(publicKey.publicExponent) }),
  }
  const data = publicKey === null ? new Uint8Array() : rsa ? publicKey.modulus : publicKey.data
  return Buffer.concat([new TextEncoder().encode(JSON.stringify(stored)), Uint8Array.of(END), data])
}

export function decodeKey(value: Uint8Array): StoredKey {
  const { n, i, t, s, m, g, l, o, c, f } = parse(value)
  return {
    namespace: n ?? '',
    id: i,
    type: t,
    typeName: s ?? t,
    mechanisms: m,
    tags: g ?? [],
    label: l ?? '',
    operations: o ?? 0,
    certificate: c ?? null,
    formerId: f,
  }
}

/** Read when it is asked for: the public keys of 100,000 RSA keys would fill the memory. */
export function decodePublic(value: Uint8Array): PublicKey {
  const { e } = parse(value)
  const data = value.slice(value.indexOf(END) + 1)
  if (e !== undefined) return { modulus: data, publicExponent: base64.decode(e) }
  return data.length === 0 ? null : { data }
}

/** Whether both records are of the same private key; those of Generic keys, which have no public one, do not tell and may be. */
export function isSameKey(a: Uint8Array, b: Uint8Array): boolean {
  const [first, other] = [parse(a), parse(b)]
  const [data, otherData] = [a, b].map((value) => value.subarray(value.indexOf(END) + 1)) as [Uint8Array, Uint8Array]
  return first.t === other.t && first.e === other.e && equalBytes(data, otherData)
}

/** No JSON text holds a zero byte. */
const END = 0

const parse = (value: Uint8Array): Stored =>
  JSON.parse(Buffer.prototype.toString.call(value, 'utf8', 0, value.indexOf(END))) as Stored
