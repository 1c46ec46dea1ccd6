/** `transit/keys`: lists, shows and creates keys. CONTRACT.md, "Keys". */

import { encodeBase64 } from '../../base/base64.ts'
import { formatTime } from '../../base/clock.ts'
import { CofferError } from '../../base/error.ts'
import { publicKeyPem } from '../../crypto/encoding/public-key.ts'
import type { KeyType, PublicKey } from '../../crypto/types.ts'
import { ADMINISTRATORS, declare, domainOf, OPERATIONAL, READERS, type Services } from '../api/services.ts'
import { ID_PATTERN } from '../domain/identifiers.ts'
import { isUsableWith } from '../domain/key-directory.ts'
import type { KeyEntry } from '../domain/key-index.ts'
import type { Caller } from '../domain/roles.ts'
import { lowestOf } from '../domain/version-record.ts'
import { ANSWER, answer, invalid, missing, unsupportedPath } from './answers.ts'
import { anyQuery, type Fields, flag, integer, jsonBody, plainText, text } from './body.ts'
import { AES, HMAC, type WireType, wireTypeNamed, wireTypeOf } from './key-types.ts'
import { latestVersion, limitsOf } from './versions.ts'

const HMAC_BYTES = { min: 32, max: 512 }
const LIST_MAX = 100_000 // ids in an answer; a client asks for the rest with `after`

export interface OfKey {
  services: Services
  caller: Caller
  params: unknown
}

export function nameIn({ params }: { params: unknown }): string {
  const { name } = params as { name: string }
  if (!ID_PATTERN.test(name)) throw unsupportedPath()
  return name
}

export interface WireKey {
  entry: Readonly<KeyEntry>
  type: WireType
}

/** Undefined for a key that does not exist on this wire. */
export function findKey(request: OfKey, name: string): WireKey | undefined {
  const entry = domainOf(request).keys.peek(request.caller.namespace, name)
  const type = entry === undefined ? undefined : wireTypeOf(entry)
  return entry === undefined || type === undefined ? undefined : { entry, type }
}

/** True for keys whose public part is shown as it is, without a structure. */
export const isRaw = (type: KeyType): boolean => type === 'Curve25519' || type.startsWith('ML_DSA_')

/**
 * Before a missing key or tag is refused, earlier changes of other nodes arrive: contract section 3.6. The pipeline's own barrier does not
 * know the errors of handlers.
 */
export async function awaitKey(request: OfKey): Promise<void> {
  const { caller, services } = request
  const key = findKey(request, (request.params as { name: string }).name)
  const { users } = domainOf(request)
  const isUsable =
    key !== undefined && (caller.role !== 'Operator' || isUsableWith(key.entry, users.tagsOfCaller(caller)))
  if (!isUsable) await services.appliance.replica?.barrier()
}

interface VersionOf {
  version: number
  /** Seconds since 1970. */
  created: number
}

/** Versions that decrypt, as OpenBao shows them. */
function versionsOf({ entry }: WireKey): VersionOf[] {
  const { versions, created = 0 } = entry
  if (versions === null) return [{ version: 1, created }]
  const lowest = lowestOf(versions)
  return versions.list
    .map(({ created }, at) => ({ version: lowest + at, created }))
    .filter(({ version }) => version >= versions.minDecryption)
}

function showVersion({ entry, type }: WireKey, created: number, publicKey: PublicKey) {
  if (publicKey === null) return created
  return {
    certificate_chain: '',
    creation_time: formatTime(created * 1000),
    name: type.publicName,
    public_key:
      isRaw(entry.type) && 'data' in publicKey ? encodeBase64(publicKey.data) : publicKeyPem(entry.type, publicKey),
  }
}

function showVersions(request: OfKey, key: WireKey) {
  const publicKeyOf = domainOf(request).keys.publicKeys(key.entry)
  const shown = versionsOf(key).map(({ version, created }) => [
    version,
    showVersion(key, created, publicKeyOf(version)),
  ])
  return Object.fromEntries(shown)
}

function show(request: OfKey, key: WireKey) {
  const { entry, type } = key
  const { minAvailable, minDecryption, minEncryption } = limitsOf(entry)
  return answer({
    allow_plaintext_backup: false,
    auto_rotate_period: 0,
    deletion_allowed: entry.deletable ?? false,
    derived: entry.derived ?? false,
    ...(entry.derived && { convergent_encryption: false, kdf: 'hkdf_sha256' }),
    exportable: false,
    imported_key: false,
    ...(type === HMAC
      ? { key_size: domainOf(request).keys.privateBytes(entry) }
      : { keys: showVersions(request, key) }),
    latest_version: latestVersion(entry),
    min_available_version: minAvailable,
    min_decryption_version: minDecryption,
    min_encryption_version: minEncryption,
    name: entry.id,
    soft_deleted: false,
    supports_decryption: type.encrypts,
    supports_derivation: type.derives,
    supports_encryption: type.encrypts,
    supports_signing: type.signs,
    type: type.name,
  })
}

const REFUSED = ['chacha20-poly1305', 'xchacha20-poly1305', 'aes128-gcm96', 'aes256-cmac', 'aes128-cmac']

function typeIn(body: Fields): WireType {
  const name = text(body, 'type') ?? AES.name
  const type = wireTypeNamed(name)
  if (type !== undefined) return type
  throw invalid(REFUSED.includes(name) ? `key type ${name} is not offered` : `unknown key type ${name}`)
}

/** Members that OpenBao has and this wire has not: ignoring them would make another key than the client wants. */
function refuseOptions(body: Fields, type: WireType): void {
  const isDerived = flag(body, 'derived')
  if (flag(body, 'convergent_encryption'))
    throw invalid(
      isDerived ? 'convergent_encryption is not offered' : 'convergent encryption requires derivation to be enabled',
    )
  if (isDerived && type !== AES)
    throw invalid(`key derivation and convergent encryption not supported for keys of type ${type.name}`)
  refuseExport(body)
}

function refuseExport(body: Fields): void {
  if (flag(body, 'exportable') || flag(body, 'allow_plaintext_backup'))
    throw invalid('exportable is not offered: no private key leaves this appliance')
  if (!['', '0', '0s'].includes(text(body, 'auto_rotate_period') ?? ''))
    throw invalid('auto_rotate_period is not offered')
}

function bitsOf(type: WireType, body: Fields): number | undefined {
  if (type !== HMAC) return type.bits
  const bytes = integer(body, 'key_size') ?? 0
  if (bytes < HMAC_BYTES.min || bytes > HMAC_BYTES.max)
    throw invalid(`invalid key size for HMAC key, must be between ${HMAC_BYTES.min} and ${HMAC_BYTES.max} bytes`)
  return bytes * 8
}

async function create(request: OfKey & { body: Fields }) {
  const { body, caller, services } = request
  const name = nameIn(request)
  const type = typeIn(body)
  refuseOptions(body, type)
  const existing = findKey(request, name)
  if (existing !== undefined) return show(request, existing)
  const { keys } = domainOf(request)
  const key = { mechanisms: type.mechanisms, tags: [], label: '', derived: flag(body, 'derived') }
  try {
    await keys.generate(caller, name, key, type.type, bitsOf(type, body))
    services.activity.generate++
  } catch (error) {
    if (!(error instanceof CofferError) || error.code !== 'conflict') throw error
  }
  const made = findKey(request, name)
  if (made === undefined) throw invalid(`a key ${name} exists that this API cannot use`)
  return show(request, made)
}

async function configure(request: OfKey & { body: Fields }) {
  const { body, caller } = request
  const name = nameIn(request)
  refuseExport(body)
  if (findKey(request, name) === undefined) throw invalid(`no existing key named ${name} could be found`)
  await domainOf(request).keys.changeVersions(caller, name, {
    minDecryption: integer(body, 'min_decryption_version'),
    minEncryption: integer(body, 'min_encryption_version'),
    deletable: body.deletion_allowed === undefined ? undefined : flag(body, 'deletion_allowed'),
  })
  return show(request, expectKey(request, name))
}

/** The key was there when the request began. */
function expectKey(request: OfKey, name: string): WireKey {
  const key = findKey(request, name)
  if (key === undefined) throw invalid('key not found')
  return key
}

async function rotate(request: OfKey) {
  const name = nameIn(request)
  expectKey(request, name)
  await domainOf(request).keys.rotate(request.caller, name)
  request.services.activity.generate++
  return show(request, expectKey(request, name))
}

async function trim(request: OfKey & { body: Fields }) {
  const name = nameIn(request)
  if (findKey(request, name) === undefined) throw invalid('invalid key name')
  const minAvailable = integer(request.body, 'min_available_version')
  if (minAvailable === undefined) throw invalid('missing min_available_version')
  if (minAvailable === 0) throw invalid('minimum available version should be positive')
  await domainOf(request).keys.changeVersions(request.caller, name, { minAvailable })
  return show(request, expectKey(request, name))
}

const LIMITS = ['min_decryption_version', 'min_encryption_version', 'min_available_version', 'deletion_allowed']

/** For the audit log: the limits that a request names, whether they are right or not. A value that is no text, number or boolean is left out. */
const limitFacts = ({ body }: { body: Fields }): Record<string, string | undefined> =>
  Object.fromEntries(LIMITS.map((name) => [name, plainText(body, name)]))

async function remove(request: OfKey) {
  const name = nameIn(request)
  const refuse = (reason: string): Error => invalid(`error deleting policy ${name}: ${reason}`)
  if (findKey(request, name) === undefined) throw refuse('could not delete key; not found')
  await domainOf(request).keys.remove(request.caller, name, ({ deletable }) => {
    if (!deletable) throw refuse('deletion is not allowed for this key')
  })
  return { status: 204 } as const
}

function list(request: OfKey & { query: Readonly<Record<string, string>> }) {
  const { after = '', limit = '' } = request.query
  if (!/^-?\d{0,9}$/.test(limit)) throw invalid('invalid limit')
  const most = Number(limit) > 0 ? Math.min(Number(limit), LIST_MAX) : LIST_MAX
  const { keys } = domainOf(request)
  const ids: string[] = []
  for (const id of keys.list(request.caller.namespace, { ofAllTypes: true, ofAnyVersion: true })) {
    if (ids.length === most) break
    if (id > after && findKey(request, id) !== undefined) ids.push(id)
  }
  if (ids.length === 0) throw missing()
  return answer({ keys: ids })
}

export const keyDeclarations = [
  declare({
    method: 'LIST',
    path: '/v1/transit/keys',
    summary: 'Names of the keys that this API can use.',
    states: OPERATIONAL,
    access: READERS,
    audit: 'none',
    query: anyQuery,
    answers: ANSWER,
    handle: list,
  }),
  declare({
    method: 'GET',
    path: '/v1/transit/keys/:name',
    summary: 'A key, with its public part.',
    states: OPERATIONAL,
    access: READERS,
    prepare: awaitKey,
    answers: ANSWER,
    handle: (request) => {
      const key = findKey(request, nameIn(request))
      if (key === undefined) throw missing()
      return show(request, key)
    },
  }),
  declare({
    method: 'POST',
    path: '/v1/transit/keys/:name',
    summary: 'Creates a key; one that exists is returned as it is.',
    addsRecords: true,
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    body: jsonBody,
    facts: ({ body }) => ({ type: plainText(body, 'type') }),
    answers: ANSWER,
    handle: create,
  }),
  declare({
    method: 'DELETE',
    path: '/v1/transit/keys/:name',
    summary: 'Deletes a key that was configured with deletion_allowed.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    prepare: awaitKey,
    answers: ANSWER,
    handle: remove,
  }),
  declare({
    method: 'POST',
    path: '/v1/transit/keys/:name/config',
    summary: 'Allows or forbids the deletion of a key, and limits which versions are used.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    prepare: awaitKey,
    body: jsonBody,
    facts: limitFacts,
    answers: ANSWER,
    handle: configure,
  }),
  declare({
    method: 'POST',
    path: '/v1/transit/keys/:name/rotate',
    summary: 'Adds a version to a key.',
    addsRecords: true,
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    prepare: awaitKey,
    body: jsonBody,
    answers: ANSWER,
    handle: rotate,
  }),
  declare({
    method: 'POST',
    path: '/v1/transit/keys/:name/trim',
    summary: 'Deletes the oldest versions of a key.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    prepare: awaitKey,
    body: jsonBody,
    facts: limitFacts,
    answers: ANSWER,
    handle: trim,
  }),
]
