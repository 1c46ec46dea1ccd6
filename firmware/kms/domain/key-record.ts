/**
 * The stored form of a key, without private key and certificate: metadata as JSON, a zero byte, then the modulus or other public data as
 * bytes. An unlock of 100,000 keys thus has little JSON to parse.
 */

import { base64 } from '@scure/base'
import type { KeyTypeName, MechanismName } from '../../crypto/algorithms.ts'
import { equalBytes } from '../../crypto/seal.ts'
import type { KeyType, PublicKey } from '../../crypto/types.ts'
import type { Namespace } from './identifiers.ts'

/** Content types of stored certificates. Contract section 5 row 12. */
export const CERTIFICATE_TYPES = ['application/x-pem-file', 'application/octet-stream'] as const
export type CertificateType = (typeof CERTIFICATE_TYPES)[number]

/** Metadata held in memory. Small, because there may be 100,000 keys. */
export interface KeyMetadata {
  namespace: Namespace
  id: string
  type: KeyType
  /** Spelling of the type at creation. */
  typeName: KeyTypeName
  mechanisms: readonly MechanismName[]
  tags: readonly string[]
  label: string
  /** In a record, only operations that key-counts.ts does not count. */
  operations: number
  certificate: CertificateType | null
  /** Seconds since 1970; missing in records of older versions. */
  created?: number
}

export const OPERATIONS_MAX = 2 ** 31 - 1 // a published client reads 32 bits; contract 4.6

export interface StoredKey extends KeyMetadata {
  /** Id of the key before the change that wrote this record. */
  formerId: string | undefined
  /** Length of the modulus, or of the other public data; 0 for Generic. */
  publicBytes: number
}

/** Short names: for 100,000 keys, names are a tenth of the data that an unlock reads. */
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
  e?: string
  a?: number
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
    ...(key.created && { a: key.created }),
    ...(rsa && { e: base64.encode(publicKey.publicExponent) }),
  }
  const data = publicKey === null ? new Uint8Array() : rsa ? publicKey.modulus : publicKey.data
  return Buffer.concat([new TextEncoder().encode(JSON.stringify(stored)), Uint8Array.of(END), data])
}

export function decodeKey(value: Uint8Array): StoredKey {
  const { n, i, t, s, m, g, l, o, c, f, a } = parse(value)
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
    ...(a !== undefined && { created: a }),
    publicBytes: value.length - value.indexOf(END) - 1,
  }
}

/** Decoded on demand: the public keys of 100,000 RSA keys would fill the memory. */
export function decodePublic(value: Uint8Array): PublicKey {
  const { e } = parse(value)
  const data = value.slice(value.indexOf(END) + 1)
  if (e !== undefined) return { modulus: data, publicExponent: base64.decode(e) }
  return data.length === 0 ? null : { data }
}

/** True if both records have the same public key. Generic keys have none, so the result is true for any two of them. */
export function isSameKey(a: Uint8Array, b: Uint8Array): boolean {
  const [first, other] = [parse(a), parse(b)]
  const [data, otherData] = [a, b].map((value) => value.subarray(value.indexOf(END) + 1)) as [Uint8Array, Uint8Array]
  return first.t === other.t && first.e === other.e && equalBytes(data, otherData)
}

/** JSON text has no zero bytes. */
const END = 0

const parse = (value: Uint8Array): Stored =>
  JSON.parse(Buffer.prototype.toString.call(value, 'utf8', 0, value.indexOf(END))) as Stored
