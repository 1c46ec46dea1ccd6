/** Versions of keys: adds, limits and deletes them. Contract section 7.11. */

import { bytesToHex } from '@noble/hashes/utils.js'
import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { copySecret, wipe } from '../../base/secret.ts'
import type { RecordChange } from './collections.ts'
import type { Context } from './context.ts'
import { keyName } from './identifiers.ts'
import { KeyAttributes } from './key-attributes.ts'
import type { KeyCounts } from './key-counts.ts'
import type { KeyEntry, NamespaceKeys } from './key-index.ts'
import { decodeKey, decodePublic, encodeKey, type StoredKey } from './key-record.ts'
import type { NamespaceQuotas } from './namespace-quotas.ts'
import type { Namespaces } from './namespaces.ts'
import type { Caller } from './roles.ts'
import {
  decodeParts,
  encodeParts,
  laterPartsName,
  latestOf,
  lowestOf,
  NO_LIMITS,
  type StoredVersion,
  VERSIONS_MAX,
  type VersionLimits,
  type Versions,
  withPublicPart,
} from './version-record.ts'

type VersionChange = { [Name in keyof VersionLimits]?: number | undefined } & {
  /** Whether the transit API may delete the key. */
  deletable?: boolean | undefined
}

type StoredVersions = Versions<StoredVersion>

const VERSION_ID_BYTES = 8

export class KeyVersions extends KeyAttributes {
  readonly #quotas: NamespaceQuotas

  constructor(context: Context, namespaces: Namespaces, quotas: NamespaceQuotas, counts: KeyCounts) {
    super(context, namespaces, counts)
    this.#quotas = quotas
  }

  /** Each version counts as a key: its record and its memory are as large. Throws `full`. */
  protected assertQuota({ namespace, entries, laterVersions }: NamespaceKeys): void {
    this.#quotas.assertRoom(namespace, 'keys', entries.size + laterVersions)
  }

  /** Adds a version of the same type and size, and returns its number. Throws `invalid` if the key has 100 already, `full`. */
  async rotate(caller: Caller, id: string): Promise<number> {
    const before = this.entry(caller.namespace, id)
    const namespaceKeys = this.index.of(caller.namespace)
    assertRoom(before)
    this.assertQuota(namespaceKeys)
    const pair = await this.context.pool.generate(before.type, this.#bitsOf(before))
    const secrets = [pair.private]
    try {
      const latest = await this.context.records.change(() => {
        this.context.assertOpen()
        const entry = this.entry(caller.namespace, id)
        if (entry !== before) throw new CofferError('notFound', 'The key was deleted')
        assertRoom(entry)
        this.assertQuota(namespaceKeys)
        const stored = this.read('keys', entry)
        const key = decodeKey(stored)
        const former = this.#versionsOf(key)
        const added = withPublicPart(this.#newVersion(this.context.nowSeconds()), pair.public)
        const versions = { ...former, list: [...former.list, added] }
        const value = encodeKey({ ...key, versions }, decodePublic(stored))
        const parts = [...this.#laterParts(entry, secrets), pair.private]
        return {
          changes: [change('keys', entry, value), partsChange(entry, parts, secrets)],
          result: latestOf(versions),
        }
      })
      this.log(caller, `added version ${latest} of ${id} by ${caller.userId}`)
      return latest
    } finally {
      wipe(...secrets)
    }
  }

  /** Deletes the versions below `minAvailable`. Throws `invalid` for limits that do not fit each other or the versions. */
  async changeVersions(caller: Caller, id: string, wanted: VersionChange): Promise<void> {
    const secrets: Uint8Array[] = []
    try {
      const text = await this.context.records.change(() => {
        const entry = this.entry(caller.namespace, id)
        const stored = this.read('keys', entry)
        const key = decodeKey(stored)
        const former = this.#versionsOf(key)
        const limits = limitsAfter(former, wanted)
        const deletable = wanted.deletable ?? key.deletable ?? false
        const areSame = isSameLimits(limits, former)
        if (areSame && deletable === (key.deletable ?? false)) return { changes: [], result: null }
        const changed = { ...key, deletable, ...(!areSame && { versions: { ...former, ...limits } }) }
        const dropped = lowestOf(limits) - lowestOf(former)
        const changes =
          dropped === 0
            ? [change('keys', entry, encodeKey(changed, decodePublic(stored)))]
            : this.#trimmed(entry, stored, { ...changed, versions: { ...former, ...limits } }, dropped, secrets)
        return { changes, result: describe(limits, deletable) }
      })
      if (text !== null) this.log(caller, `changed the versions of ${id} by ${caller.userId}: ${text}`)
    } finally {
      wipe(...secrets)
    }
  }

  /** `key` has its new limits, and `dropped` versions too many in its list. The certificate is that of version 1, so it goes, too. */
  #trimmed(
    entry: Readonly<KeyEntry>,
    stored: Uint8Array,
    key: StoredKey & { versions: StoredVersions },
    dropped: number,
    secrets: Uint8Array[],
  ): RecordChange[] {
    const [lowest, ...later] = key.versions.list.slice(dropped)
    const { id, created } = defined(lowest)
    const versions = { ...key.versions, list: [{ id, created }, ...later] }
    const publicKey = decodePublic(stored, lowestOf(versions))
    const [lowestPart, ...laterParts] = this.#laterParts(entry, secrets).slice(dropped - 1)
    const part = copySecret(defined(lowestPart))
    secrets.push(part)
    return [
      change('keys', entry, encodeKey({ ...key, versions, certificate: null }, publicKey)),
      change('privateKeys', entry, part),
      partsChange(entry, laterParts, secrets),
      ...(entry.certificate === null ? [] : [change('certificates', entry, null)]),
    ]
  }

  #versionsOf({ versions, created = 0 }: StoredKey): StoredVersions {
    return versions ?? { ...NO_LIMITS, list: [this.#newVersion(created)] }
  }

  #newVersion(created: number): StoredVersion {
    return { id: bytesToHex(this.context.random(VERSION_ID_BYTES)), created }
  }

  #bitsOf(entry: Readonly<KeyEntry>): number | undefined {
    if (entry.type === 'RSA') return entry.publicBytes * 8
    return entry.type === 'Generic' ? this.privateBytes(entry) * 8 : undefined
  }

  /** Views of what is added to `secrets`. */
  #laterParts(entry: Readonly<KeyEntry>, secrets: Uint8Array[]): Uint8Array[] {
    if (!hasLaterParts(entry)) return []
    const value = this.readLaterParts(entry)
    secrets.push(value)
    return decodeParts(value)
  }
}

/** True if the record beside that of the lowest version exists. */
export const hasLaterParts = ({ versions }: Pick<KeyEntry, 'versions'>): boolean =>
  versions !== null && versions.list.length > 1

const change = (
  collection: 'keys' | 'privateKeys' | 'certificates',
  { namespace, id }: Readonly<KeyEntry>,
  value: Uint8Array | null,
): RecordChange => ({ collection, name: keyName(namespace, id), value })

function partsChange(
  { namespace, id }: Readonly<KeyEntry>,
  parts: readonly Uint8Array[],
  secrets: Uint8Array[],
): RecordChange {
  const value = parts.length === 0 ? null : encodeParts(parts)
  if (value !== null) secrets.push(value)
  return { collection: 'privateKeys', name: laterPartsName(keyName(namespace, id)), value }
}

function assertRoom({ versions }: Readonly<KeyEntry>): void {
  if (versions !== null && versions.list.length >= VERSIONS_MAX)
    throw new CofferError('invalid', `A key may have ${VERSIONS_MAX} versions: delete the oldest ones first`)
}

const isSameLimits = (a: VersionLimits, b: VersionLimits): boolean =>
  (Object.keys(NO_LIMITS) as (keyof VersionLimits)[]).every((name) => a[name] === b[name])

const describe = ({ minDecryption, minEncryption, minAvailable }: VersionLimits, deletable: boolean): string =>
  `minimum of decryption ${minDecryption}, of encryption ${minEncryption}, available ${minAvailable}, deletion ${deletable ? 'allowed' : 'forbidden'}`

/** The texts are those of OpenBao, with its spelling. */
function limitsAfter(versions: StoredVersions, wanted: VersionChange): VersionLimits {
  const latest = latestOf(versions)
  const minDecryption = wanted.minDecryption ?? versions.minDecryption
  const minEncryption = wanted.minEncryption ?? versions.minEncryption
  const minAvailable = wanted.minAvailable ?? versions.minAvailable
  for (const [use, minimum] of [
    ['decryption', minDecryption],
    ['encryption', minEncryption],
  ] as const) {
    if (minimum < 0) throw refused(`min ${use} version cannot be negative`)
    if (minimum > latest) throw refused(`cannot set min ${use} version of ${minimum}, latest key version is ${latest}`)
  }
  const decryption = Math.max(minDecryption, 1)
  if (minEncryption > 0 && minEncryption < decryption)
    throw refused(
      `cannot set min encryption/decryption values; min encryption version of ${minEncryption} must be greater than or equal to min decryption version of ${decryption}`,
    )
  const limits = { minDecryption: decryption, minEncryption, minAvailable }
  if (wanted.minAvailable === undefined) assertStored(limits)
  else assertAvailable(limits, versions.minAvailable)
  return limits
}

/** Limits that leave the stored versions alone. */
function assertStored({ minDecryption, minEncryption, minAvailable }: VersionLimits): void {
  if (minAvailable > minEncryption)
    throw refused('min encryption version should not be less than min available version')
  if (minAvailable > minDecryption)
    throw refused('min decryption version should not be less then min available version')
}

function assertAvailable({ minDecryption, minEncryption, minAvailable }: VersionLimits, former: number): void {
  if (minAvailable < former) throw refused('minimum available version cannot be decremented')
  if (minAvailable === 0) return
  if (minEncryption === 0)
    throw refused('minimum available version cannot be set when minimum encryption version is not set')
  if (minAvailable > minEncryption)
    throw refused('minimum available version cannot be greater than minmum encryption version')
  if (minAvailable > minDecryption)
    throw refused('minimum available version cannot be greater than minimum decryption version')
}

const refused = (text: string): CofferError => new CofferError('invalid', text)
