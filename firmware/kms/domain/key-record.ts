/**
 * The stored form of a key, without private key and certificate: metadata as JSON, a zero byte, then the modulus or other public data as
 * bytes. An unlock of 100,000 keys thus has little JSON to parse.
 */

import { base64 } from '@scure/base'
import type { KeyTypeName, MechanismName } from '../../crypto/algorithms.ts'
import { equalBytes } from '../../crypto/seal.ts'
import type { KeyType, PublicKey } from '../../crypto/types.ts'
import type { Namespace } from './identifiers.ts'
import {
  lowestOf,
  type PackedVersions,
  packVersions,
  publicPartOf,
  type StoredVersion,
  unpackVersions,
  type Versions,
} from './version-record.ts'

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
  /** True if the transit API may delete the key. An older node of a cluster drops it with its next change of the record, which is safe. */
  deletable?: boolean
  /** Random, for Generic keys, whose records do not tell one key from another. Missing in those of older versions. */
  identity?: string
  /** True if each message has a context, from which its key is derived. Contract section 6.2. */
  derived?: boolean
  /** Missing if the key has one version and no limits. Contract section 7.11. */
  versions?: Versions<StoredVersion>
}

/** The tags of all keys are in memory: those of a full namespace then take 50 MB at most. Records of older versions may have more. */
export const KEY_TAGS_MAX = 32

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
  d?: true
  u?: string
  x?: true
  v?: PackedVersions
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
    ...(key.deletable && { d: true }),
    ...(key.identity !== undefined && { u: key.identity }),
    ...(key.derived && { x: true }),
    ...(key.versions && { v: packVersions(key.versions) }),
    ...(rsa && { e: base64.encode(publicKey.publicExponent) }),
  }
  const data = publicKey === null ? new Uint8Array() : rsa ? publicKey.modulus : publicKey.data
  return Buffer.concat([new TextEncoder().encode(JSON.stringify(stored)), Uint8Array.of(END), data])
}

export function decodeKey(value: Uint8Array): StoredKey {
  const { n, i, t, s, m, g, l, o, c, f, a, d, u, x, v } = parse(value)
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
    ...(d && { deletable: true }),
    ...(u !== undefined && { identity: u }),
    ...(x && { derived: true }),
    ...(v && { versions: unpackVersions(v) }),
    publicBytes: value.length - value.indexOf(END) - 1,
  }
}

/** Decoded on demand: the public keys of 100,000 RSA keys would fill the memory. `version`: one that is stored, by default the lowest. */
export const decodePublic = (value: Uint8Array, version?: number): PublicKey => decodePublics(value)(version)

/** As `decodePublic`, but parses the record once for all versions: with 100 of ML-DSA-87 it has 350 KB. Each result is a copy. */
export function decodePublics(value: Uint8Array): (version?: number) => PublicKey {
  const { e, v } = parse(value)
  const versions = v && unpackVersions(v)
  return (version) => {
    if (version !== undefined && versions !== undefined && version > lowestOf(versions))
      return publicPartOf(versions, version)
    const data = value.slice(value.indexOf(END) + 1)
    if (e !== undefined) return { modulus: data, publicExponent: base64.decode(e) }
    return data.length === 0 ? null : { data }
  }
}

/**
 * True if both records are of one key: they share a version or, if one of them has no list of versions, have the same version 1. It is told by
 * the public key, and of Generic keys by the identity. The result is true for any two Generic keys of which one has none.
 */
export function isSameKey(a: Uint8Array, b: Uint8Array): boolean {
  const [first, other] = [parse(a), parse(b)]
  if (first.t !== other.t) return false
  if (first.v !== undefined && other.v !== undefined) {
    const ids = new Set(first.v.k.map(([id]) => id))
    return other.v.k.some(([id]) => ids.has(id))
  }
  if ([first, other].some(({ v }) => v !== undefined && lowestOf(unpackVersions(v)) > 1)) return false
  if (first.u !== undefined && other.u !== undefined) return first.u === other.u
  const [data, otherData] = [a, b].map((value) => value.subarray(value.indexOf(END) + 1)) as [Uint8Array, Uint8Array]
  return first.e === other.e && equalBytes(data, otherData)
}

/** JSON text has no zero bytes. */
const END = 0

const parse = (value: Uint8Array): Stored =>
  JSON.parse(Buffer.prototype.toString.call(value, 'utf8', 0, value.indexOf(END))) as Stored
