/** Users, keys and namespaces as a NetHSM stores them, and as we do. Contract section 8.2. */

import { isUtf8 } from 'node:buffer'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { CofferError } from '../../base/error.ts'
import { wipe, wipeIn } from '../../base/secret.ts'
import { MECHANISM_NAMES, type MechanismName, mechanismFits, sortMechanisms } from '../../crypto/algorithms.ts'
import { checkClaimed, parsePrivateKeyPem } from '../../crypto/encoding/import-pem.ts'
import { decodeBody, encodeSecretPem } from '../../crypto/encoding/pem.ts'
import { encodePkcs8 } from '../../crypto/encoding/pkcs8.ts'
import type { CryptoPool, KeyPair, KeyType, ScryptCost } from '../../crypto/types.ts'
import type { RecordChange } from '../../kms/domain/collections.ts'
import { ID_PATTERN, keyName, type Namespace } from '../../kms/domain/identifiers.ts'
import { CERTIFICATE_TYPES, encodeKey, type KeyMetadata, OPERATIONS_MAX } from '../../kms/domain/key-record.ts'
import { PASSPHRASE_COST, type PassphraseDigest } from '../../kms/domain/passphrase.ts'
import { ROLES } from '../../kms/domain/roles.ts'
import type { User } from '../../kms/domain/user-record.ts'
import { encodeString, joinJson, type NethsmJson, parseJson } from './json.ts'

// ---- users

/** `omit` is told of parts that cannot be represented, with the reason. Throws `invalid` where nothing can be kept. */
export type Omit = (part: string, reason: string) => void

export function decodeUser(userId: string, value: Uint8Array, omit: Omit): User {
  const members = membersOf(parseJson(value))
  const role = ROLES.find((name) => name === text(members.get('role')))
  if (role === undefined) throw unreadable()
  return {
    id: userId,
    realName: realNameIn(members.get('name'), omit),
    role,
    tags: tagsIn(members.get('tags'), omit),
    passphrase: decodeDigest(bytes(members.get('salt')), bytes(members.get('digest'))),
    accessKeys: [],
    revocations: [],
  }
}

function realNameIn(value: NethsmJson | undefined, omit: Omit): string {
  const name = new TextDecoder().decode(bytes(value))
  if (name.includes('\ufffd')) omit('name', 'bytes that are not UTF-8 are replaced')
  return name
}

export const encodeUser = ({ realName, role, tags, passphrase }: User): Uint8Array =>
  joinJson(
    '{"name":',
    encodeText(realName),
    ',"salt":',
    encodeString(encodeSalt(passphrase)),
    ',"digest":',
    encodeString(passphrase.digest),
    `,"role":${JSON.stringify(role)},"tags":${JSON.stringify(tags)}}`,
  )

/**
 * A NetHSM's digest is one HMAC-SHA-256, which its backups bring, and which we keep until the next login. One of ours says
 * so in its salt: a NetHSM finds no passphrase right for it.
 */
const SCRYPT = /^coffer scrypt (\d{1,9}) (\d{1,4}) (\d{1,4}) /
const DIGEST_BYTES = 32
const SALT_BYTES = 16
const SALT_PREFIX_BYTES_MAX = 64

const encodeSalt = ({ salt, cost }: PassphraseDigest): Uint8Array =>
  cost === 'hmac' ? salt.slice() : joinJson(`coffer scrypt ${cost.N} ${cost.r} ${cost.p} `, salt.slice())

function decodeDigest(bytes: Uint8Array, digest: Uint8Array): PassphraseDigest {
  const [prefix = '', N, r, p] = SCRYPT.exec(String.fromCharCode(...bytes.subarray(0, SALT_PREFIX_BYTES_MAX))) ?? []
  const salt = bytes.slice(prefix.length)
  if (salt.length !== SALT_BYTES || digest.length !== DIGEST_BYTES) throw unreadable()
  if (prefix === '') return { salt, digest: digest.slice(), cost: 'hmac' }
  const cost = { N: Number(N), r: Number(r), p: Number(p) }
  if (!isAffordable(cost)) throw unreadable()
  return { salt, digest: digest.slice(), cost }
}

/** A login pays the cost, before it is known to be right, so no restored record may name a higher one than ours. */
function isAffordable({ N, r, p }: ScryptCost): boolean {
  const { N: ourN, r: ourR, p: ourP } = PASSPHRASE_COST
  return N > 1 && r > 0 && p > 0 && Number.isInteger(Math.log2(N)) && N * r * p <= ourN * ourR * ourP
}

// ---- namespaces

export const encodeNamespace = (id: string): Uint8Array => encodeText(id)

// ---- keys

interface NethsmStoredKey {
  metadata: KeyMetadata
  pair: KeyPair
  certificate: Uint8Array | null
}

/** The caller wipes it. */
export function encodeKeyEntry({ metadata, pair, certificate }: NethsmStoredKey): Uint8Array {
  const { mechanisms, tags, label, operations } = metadata
  const canonical = mechanisms.map((name) => (name === 'ED25519_Signature' ? 'EdDSA_Signature' : name))
  return joinJson(
    `{"mechanisms":${JSON.stringify(canonical)},"priv":`,
    ...encodePrivate(pair),
    ',"cert":',
    ...(certificate === null
      ? ['null']
      : [`[${JSON.stringify(metadata.certificate)},`, encodeString(certificate), ']']),
    `,"operations":${operations},"restrictions":${tags.length === 0 ? '{}' : JSON.stringify({ tags })}`,
    ...(label === '' ? [] : [',"label":', encodeText(label)]),
    '}',
  )
}

function encodePrivate(pair: KeyPair): (string | Uint8Array)[] {
  const generic = pair.type === 'Generic'
  const der = generic ? pair.private : encodePkcs8(pair)
  const pem = encodeSecretPem('PRIVATE KEY', der)
  try {
    if (!generic) return ['{"PEM":', encodeString(pem), '}']
    return ['{"raw":"', pem.slice(PEM_BEGIN_BYTES, -PEM_END_BYTES).filter((byte) => byte !== LINE_FEED), '"}']
  } finally {
    wipe(pem)
    if (!generic) wipe(der)
  }
}

const LINE_FEED = 0x0a
const PEM_BEGIN_BYTES = '-----BEGIN PRIVATE KEY-----\n'.length
const PEM_END_BYTES = '-----END PRIVATE KEY-----\n'.length

export type Imports = Pick<CryptoPool, 'importRaw' | 'importRsa'>

/** The stored form of a key; the caller wipes the private one. Throws `invalid` for a key that we cannot hold. */
export async function decodeKeyEntry(
  namespace: Namespace,
  id: string,
  value: Uint8Array,
  pool: Imports,
  omit: Omit,
): Promise<RecordChange[]> {
  const json = parseJson(value)
  try {
    const members = membersOf(json)
    const certificate = certificateIn(members.get('cert'), omit)
    const restrictions = membersOf(members.get('restrictions') ?? new Map())
    const pair = await importPrivate(membersOf(members.get('priv')), pool)
    const metadata: KeyMetadata = {
      namespace,
      id,
      type: pair.type,
      typeName: pair.type,
      mechanisms: mechanismsIn(members.get('mechanisms'), pair.type, omit),
      tags: restrictionIn(restrictions.get('tags'), omit),
      label: labelIn(members.get('label'), omit),
      operations: operationsIn(members.get('operations'), omit),
      certificate: certificate?.type ?? null,
    }
    const name = keyName(namespace, id)
    return [
      { collection: 'keys', name, value: encodeKey(metadata, pair.public) },
      { collection: 'privateKeys', name, value: pair.private },
      ...(certificate === null
        ? []
        : [{ collection: 'certificates' as const, name, value: certificate.bytes.slice() }]),
    ]
  } finally {
    wipeIn(json)
  }
}

async function importPrivate(members: Map<string, NethsmJson>, pool: Imports): Promise<KeyPair> {
  const raw = members.get('raw')
  if (raw !== undefined) {
    const data = decodeBody(bytes(raw))
    try {
      return await pool.importRaw('Generic', data)
    } finally {
      wipe(data)
    }
  }
  const file = parsePrivateKeyPem(bytes(members.get('PEM')))
  const secrets = file.type === 'RSA' ? [file.primeP, file.primeQ] : [file.data]
  try {
    const pair = await (file.type === 'RSA'
      ? pool.importRsa(file.primeP, file.primeQ, file.publicExponent)
      : pool.importRaw(file.type, file.data))
    checkClaimed(file.claimed, pair.public)
    return pair
  } finally {
    wipe(...secrets)
  }
}

function certificateIn(
  value: NethsmJson | undefined,
  omit: Omit,
): { type: (typeof CERTIFICATE_TYPES)[number]; bytes: Uint8Array } | null {
  if (value == null) return null
  const [typeName, content] = list(value)
  const type = CERTIFICATE_TYPES.find((known) => known === text(typeName))
  if (type !== undefined) return { type, bytes: bytes(content) }
  omit('certificate', 'its content type is unknown')
  return null
}

/** A mechanism that is left out takes a use away and gives none. */
function mechanismsIn(value: NethsmJson | undefined, type: KeyType, omit: Omit): MechanismName[] {
  const names = list(value).map(shown)
  const known = names.filter((name): name is MechanismName => MECHANISM_NAMES.some((one) => one === name))
  const fitting = known.filter((name) => mechanismFits(name, type))
  const others = names.filter((name) => !fitting.some((one) => one === name))
  if (others.length > 0) omit('mechanisms', `unknown, or not for ${type}: ${listed(others)}`)
  return sortMechanisms(fitting)
}

function tagsIn(value: NethsmJson | undefined, omit: Omit): string[] {
  const tags = value == null ? [] : list(value).map(shown)
  const odd = tags.filter((tag) => !ID_PATTERN.test(tag))
  if (odd.length > 0) omit('tags', `not valid IDs: ${listed(odd)}`)
  return [...new Set(tags.filter((tag) => ID_PATTERN.test(tag)))].sort()
}

/** A key without tags is for every Operator, so a key that had only odd ones gets one that nobody has. */
const NOBODYS_TAG = 'restored-odd-tag'

function restrictionIn(value: NethsmJson | undefined, omit: Omit): string[] {
  const tags = tagsIn(value, omit)
  if (tags.length > 0 || value == null || list(value).length === 0) return tags
  omit('tags', `restricted to the tag ${NOBODYS_TAG} instead`)
  return [NOBODYS_TAG]
}

const LABEL_BYTES_MAX = 32 // contract section 4.1

function labelIn(value: NethsmJson | undefined, omit: Omit): string {
  if (value == null) return ''
  const label = bytes(value)
  if (label.length <= LABEL_BYTES_MAX && isUtf8(label)) return text(label)
  omit('label', `not UTF-8 of at most ${LABEL_BYTES_MAX} bytes`)
  return ''
}

function operationsIn(value: NethsmJson | undefined, omit: Omit): number {
  if (typeof value === 'number' && value >= 0) return Math.min(value, OPERATIONS_MAX)
  omit('operations', 'not a count; counted from 0')
  return 0
}

const LISTED_MAX = 8
const NAME_LENGTH_MAX = 64

/** Names of a backup for a report, whatever bytes they have. */
const shown = (value: NethsmJson): string => new TextDecoder().decode(bytes(value))
const listed = (names: readonly string[]): string =>
  names
    .slice(0, LISTED_MAX)
    .map((name) => JSON.stringify(name.slice(0, NAME_LENGTH_MAX)))
    .join(', ') + (names.length > LISTED_MAX ? ', ...' : '')

// ---- JSON

const encodeText = (value: string): Uint8Array => encodeString(utf8ToBytes(value))

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Throws `invalid`, as the next ones do. */
export function text(value: NethsmJson | undefined): string {
  try {
    return utf8.decode(bytes(value))
  } catch {
    throw unreadable()
  }
}

function bytes(value: NethsmJson | undefined): Uint8Array {
  if (!(value instanceof Uint8Array)) throw unreadable()
  return value
}

function list(value: NethsmJson | undefined): NethsmJson[] {
  if (!Array.isArray(value)) throw unreadable()
  return value
}

export function membersOf(value: NethsmJson | undefined): Map<string, NethsmJson> {
  if (!(value instanceof Map)) throw unreadable()
  return value
}

export const unreadable = (): CofferError => new CofferError('invalid', 'A record of the backup cannot be read')
