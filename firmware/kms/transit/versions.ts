/** Versions of keys in requests: numbers, and the texts `vault:v1:` and base64. CONTRACT.md, "Versions". */

import { readBase64 } from '../../base/base64.ts'
import { defined } from '../../base/defined.ts'
import type { KeyEntry } from '../domain/key-index.ts'
import { latestOf, NO_LIMITS, type VersionLimits } from '../domain/version-record.ts'
import { invalid } from './answers.ts'
import { type Fields, integer } from './body.ts'

type Entry = Pick<KeyEntry, 'versions'>

export const latestVersion = ({ versions }: Entry): number => (versions === null ? 1 : latestOf(versions))

export const limitsOf = ({ versions }: Entry): VersionLimits => versions ?? NO_LIMITS

type Use = 'encryption' | 'signing' | 'HMAC'

/** The newest version, or the one that the client names. Throws for one that may not be used any more. */
export function versionFor(entry: Entry, item: Fields, use: Use): number {
  const version = integer(item, 'key_version') ?? 0
  const latest = latestVersion(entry)
  if (version === 0) return latest
  if (version < 0 || version > latest) throw invalid(noVersion(use, version, latest))
  const { minDecryption, minEncryption } = limitsOf(entry)
  if (version < minEncryption) throw invalid(TOO_OLD[use])
  if (version < minDecryption) throw invalid('no such key version')
  return version
}

const TOO_OLD: Readonly<Record<Use, string>> = {
  encryption: 'requested version for encryption is less than the minimum encryption key version',
  signing: 'requested version for signing is less than the minimum encryption key version',
  HMAC: 'cannot generate HMAC: version is too old (disallowed by policy)',
}

function noVersion(use: Use, version: number, latest: number): string {
  const isNegative = version < 0
  if (use === 'HMAC')
    return `key version does not exist${isNegative ? ' (cannot be negative)' : `; latest key version is ${latest}`}`
  return `requested version for ${use} is ${isNegative ? 'negative' : 'higher than the latest key version'}`
}

const PREFIX = 'vault:v'
const VERSION_IN_TEXT = /^vault:v(\d{1,9}):/

/** True if an item, which is not checked yet, names a version that the key's limits forbid or that it does not have. */
export function namesUnusable(entry: Entry, item: unknown): boolean {
  if (typeof item !== 'object' || item === null) return false
  const { key_version, ciphertext, signature, hmac } = item as Fields
  const { minDecryption, minEncryption } = limitsOf(entry)
  const latest = latestVersion(entry)
  const isOutside = (version: number, lowest: number) => version !== 0 && (version < lowest || version > latest)
  const opened = [ciphertext, signature, hmac].flatMap((text) =>
    typeof text === 'string' ? (VERSION_IN_TEXT.exec(text)?.[1] ?? []) : [],
  )
  return (
    opened.some((version) => isOutside(Math.max(Number(version), 1), minDecryption)) ||
    ((typeof key_version === 'number' || typeof key_version === 'string') &&
      isOutside(Number(key_version), Math.max(minDecryption, minEncryption)))
  )
}

/** `text` is base64. */
export const versioned = (text: string, version: number): string => `${PREFIX}${version}:${text}`

type Noun = 'ciphertext' | 'signature' | 'HMAC'

/** `text` is the base64 behind the version. Throws for a version that may not be used. */
export function payloadOf(entry: Entry, value: string, what: Noun): { version: number; text: string } {
  if (!value.startsWith(PREFIX)) throw invalid(`invalid ${what}: no prefix`)
  const [number = '', ...rest] = value.slice(PREFIX.length).split(':')
  if (rest.length !== 1) throw invalid(`invalid ${what}: wrong number of fields`)
  if (!/^\d{1,9}$/.test(number)) throw invalid(`invalid ${what}: version number could not be decoded`)
  const version = Math.max(Number(number), 1) // 0 is the first version in texts of old servers
  if (version > latestVersion(entry)) throw invalid(`invalid ${what}: version is too new`)
  if (version < limitsOf(entry).minDecryption)
    throw invalid(
      what === 'HMAC'
        ? 'cannot verify HMAC: version is too old (disallowed by policy)'
        : 'ciphertext or signature version is disallowed by policy (too old)',
    )
  return { version, text: defined(rest[0]) }
}

export function bytesOf(entry: Entry, value: string, what: Noun): { version: number; bytes: Uint8Array } {
  const { version, text } = payloadOf(entry, value, what)
  const bytes = readBase64(text)
  if (bytes === null) throw invalid(`invalid ${what}: could not decode base64`)
  return { version, bytes }
}
