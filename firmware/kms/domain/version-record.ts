/**
 * The stored form of a key's versions. Their times, public parts and limits are a member of the key's record; the record has the public part
 * of the lowest version that is stored. The private part of that version lies under the key's name, those of the others together in one
 * record beside it: so a change of a key writes four records at most, however many versions it has. Contract section 7.11.
 */

import { base64 } from '@scure/base'
import { defined } from '../../base/defined.ts'
import type { PublicKey } from '../../crypto/types.ts'

/** The record of an ML-DSA-87 key then has 350 KB; a change of a cluster may have 1.5 MiB. */
export const VERSIONS_MAX = 100

export interface VersionLimits {
  /** Lowest version that decrypts and verifies. */
  minDecryption: number
  /** Lowest version that encrypts and signs; 0 is no limit beside `minDecryption`. */
  minEncryption: number
  /** Lowest version that is stored; 0 if none was deleted. */
  minAvailable: number
}

export const NO_LIMITS: Readonly<VersionLimits> = { minDecryption: 1, minEncryption: 0, minAvailable: 0 }

export interface Versions<Version> extends VersionLimits {
  /** In ascending order, without gaps, at least one. */
  readonly list: readonly Version[]
}

export interface StoredVersion {
  /** Random. Tells this version from one of the same number in another history of the key, such as that of a backup. */
  readonly id: string
  /** Seconds since 1970. */
  readonly created: number
  /** Base64. Missing for the lowest version, whose public part is that of the record, and for Generic keys. */
  readonly data?: string
  /** Base64, for RSA. */
  readonly publicExponent?: string
}

/** Number of the lowest version that is stored. */
export const lowestOf = ({ minAvailable }: VersionLimits): number => Math.max(minAvailable, 1)

export const latestOf = (versions: Versions<unknown>): number => lowestOf(versions) + versions.list.length - 1

/** Name of the record with the private parts of all versions but the lowest. No id has a `#`. */
export const laterPartsName = (keyName: string): string => `${keyName}#`

/** `k`: id, time of creation, data and public exponent of each. `d`, `e`, `m`: the minimums of decryption, encryption and availability. */
export interface PackedVersions {
  k: readonly (readonly [id: string, created: number, data?: string, publicExponent?: string])[]
  d?: number
  e?: number
  m?: number
}

export function packVersions(versions: Versions<StoredVersion>): PackedVersions {
  const { minDecryption, minEncryption, minAvailable, list } = versions
  return {
    k: list.map(({ id, created, data, publicExponent }) => {
      if (data === undefined) return [id, created]
      return publicExponent === undefined ? [id, created, data] : [id, created, data, publicExponent]
    }),
    ...(minDecryption !== NO_LIMITS.minDecryption && { d: minDecryption }),
    ...(minEncryption !== NO_LIMITS.minEncryption && { e: minEncryption }),
    ...(minAvailable !== NO_LIMITS.minAvailable && { m: minAvailable }),
  }
}

export const unpackVersions = ({ k, d, e, m }: PackedVersions): Versions<StoredVersion> => ({
  minDecryption: d ?? NO_LIMITS.minDecryption,
  minEncryption: e ?? NO_LIMITS.minEncryption,
  minAvailable: m ?? NO_LIMITS.minAvailable,
  list: k.map(([id, created, data, publicExponent]) => ({
    id,
    created,
    ...(data !== undefined && { data }),
    ...(publicExponent !== undefined && { publicExponent }),
  })),
})

/** Null for the lowest version and for Generic keys. */
export function publicPartOf(versions: Versions<StoredVersion>, version: number): PublicKey {
  const { data, publicExponent } = defined(versions.list[version - lowestOf(versions)])
  if (data === undefined) return null
  const bytes = base64.decode(data)
  return publicExponent === undefined
    ? { data: bytes }
    : { modulus: bytes, publicExponent: base64.decode(publicExponent) }
}

export function withPublicPart(version: Pick<StoredVersion, 'id' | 'created'>, publicKey: PublicKey): StoredVersion {
  const { id, created } = version
  if (publicKey === null) return { id, created }
  if (!('modulus' in publicKey)) return { id, created, data: base64.encode(publicKey.data) }
  const { modulus, publicExponent } = publicKey
  return { id, created, data: base64.encode(modulus), publicExponent: base64.encode(publicExponent) }
}

const LENGTH_BYTES = 4

/** Each part behind its length. The caller wipes the result. */
export function encodeParts(parts: readonly Uint8Array[]): Uint8Array {
  const value = new Uint8Array(parts.reduce((sum, part) => sum + LENGTH_BYTES + part.length, 0))
  const view = new DataView(value.buffer)
  let at = 0
  for (const part of parts) {
    view.setUint32(at, part.length)
    value.set(part, at + LENGTH_BYTES)
    at += LENGTH_BYTES + part.length
  }
  return value
}

/** The parts are views of the value, which the caller wipes. */
export function decodeParts(value: Uint8Array): Uint8Array[] {
  const view = new DataView(value.buffer, value.byteOffset, value.length)
  const parts: Uint8Array[] = []
  for (let at = 0; at < value.length; ) {
    const from = at + LENGTH_BYTES
    at = from + view.getUint32(at)
    parts.push(value.subarray(from, at))
  }
  return parts
}
