/** Lookup and lists of keys, with their public parts. Contract sections 3.2, 4.6 and 7.4. */

import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { copySecret, wipe } from '../../base/secret.ts'
import type { KeyHandle, PublicKey } from '../../crypto/types.ts'
import type { Collection } from './collections.ts'
import { type Context, damaged } from './context.ts'
import { keyName, type Namespace } from './identifiers.ts'
import type { KeyCounts } from './key-counts.ts'
import { hasFirstVersion, isKnownToClients, type KeyEntry, KeyIndex, type NamespaceKeys } from './key-index.ts'
import { type CertificateType, decodePublics } from './key-record.ts'
import type { Namespaces } from './namespaces.ts'
import { decodeParts, laterPartsName, lowestOf } from './version-record.ts'

export interface KeyPage {
  keys: readonly Readonly<KeyEntry>[]
  next?: string
}

export interface KeyFilter {
  prefix?: string | undefined
  /** Only keys with exactly this label; `''` selects keys without one. */
  label?: string | undefined
  usableWith?: readonly string[] | undefined
  ofAllTypes?: boolean
  /** Also keys whose version 1 was deleted. */
  ofAnyVersion?: boolean
}

const PAGE_SCAN_MAX = 10_000 // keys visited per page, a millisecond or two

/** A key without tags is usable by every Operator of its namespace. Contract 7.4. */
const isUsableIf = ({ tags }: { tags: readonly string[] }, holds: (tag: string) => boolean): boolean =>
  tags.length === 0 || tags.some(holds)

export const isUsableWith = (key: { tags: readonly string[] }, held: readonly string[]): boolean =>
  isUsableIf(key, (tag) => held.includes(tag))

function selectionOf(keys: NamespaceKeys, filter: KeyFilter) {
  const { label, usableWith, ofAllTypes = false, ofAnyVersion = false } = filter
  const ofAll = ofAllTypes || keys.unknownToClients === 0
  const ofAny = ofAnyVersion || keys.withoutFirst === 0
  if (label === undefined && usableWith === undefined && ofAll && ofAny) return null
  const held = usableWith && new Set(usableWith) // a list may look at all keys of a namespace
  return (key: Readonly<KeyEntry>): boolean =>
    (label === undefined || key.label === label) &&
    (held === undefined || isUsableIf(key, (tag) => held.has(tag))) &&
    (ofAll || isKnownToClients(key)) &&
    (ofAny || hasFirstVersion(key))
}

export class KeyDirectory {
  protected readonly context: Context
  protected readonly index: KeyIndex

  constructor(context: Context, namespaces: Namespaces, counts: KeyCounts) {
    this.context = context
    this.index = new KeyIndex(context, namespaces, counts)
  }

  /** Number of keys; for callers outside any namespace, of all namespaces. */
  size(namespace: Namespace): number {
    return this.index.size(namespace)
  }

  /** As `size`, of the versions of keys. */
  versionCount(namespace: Namespace): number {
    return this.index.versionCount(namespace)
  }

  /** For APIs without versions. Throws `notFound`, also once version 1 was deleted, or `storage` if the key's record is damaged. */
  get(namespace: Namespace, id: string): Readonly<KeyEntry> {
    return this.firstEntry(namespace, id)
  }

  /** True if a key has versions, limits or messages with a context, which clients of NetHSM do not know. */
  get haveVersions(): boolean {
    return this.index.entries().some(({ versions, derived }) => versions !== null || derived === true)
  }

  /** Throws `notFound`, or `storage` if the key's record is damaged. */
  getAnyVersion(namespace: Namespace, id: string): Readonly<KeyEntry> {
    return this.entry(namespace, id)
  }

  /** Returns undefined for a missing key. Throws `storage` if the key's record is damaged. */
  peek(namespace: Namespace, id: string): Readonly<KeyEntry> | undefined {
    return this.find(this.index.of(namespace), id)
  }

  /** Length of the private part, which is that of all versions of a Generic key. */
  privateBytes(entry: Readonly<KeyEntry>): number {
    const bytes = this.read('privateKeys', entry)
    wipe(bytes)
    return bytes.length
  }

  /** Version of all that clients see of the key. */
  version(namespace: Namespace, id: string): string | null {
    const content = this.contentVersion(namespace, id)
    return content === null ? null : `${content}-${this.get(namespace, id).operations}`
  }

  /** Null also once version 1 was deleted. */
  contentVersion(namespace: Namespace, id: string): string | null {
    const entry = this.index.of(namespace).entries.get(id)
    return entry === undefined || !hasFirstVersion(entry) ? null : this.context.versionText(entry.version)
  }

  certificateVersion(namespace: Namespace, id: string): string | null {
    const entry = this.index.of(namespace).entries.get(id)
    return entry === undefined || entry.certificate === null ? null : this.context.versionText(entry.version)
  }

  /** Version of the key with all its versions. */
  recordVersion(namespace: Namespace, id: string): string | null {
    const entry = this.index.of(namespace).entries.get(id)
    return entry === undefined ? null : this.context.versionText(entry.version)
  }

  listVersion(namespace: Namespace): string {
    return this.context.versionText(this.index.of(namespace).version)
  }

  list(namespace: Namespace, filter: KeyFilter): string[] {
    const keys = this.index.of(namespace)
    const ids = keys.ids.startingWith(filter.prefix ?? '')
    const isSelected = selectionOf(keys, filter)
    return isSelected === null ? ids : ids.filter((id) => isSelected(defined(keys.entries.get(id))))
  }

  /**
   * Returns at most `limit` keys after the id `after`; `''` starts at the first one. A page visits a bounded number of keys even if few are
   * selected. `next` is the id to continue after if there may be more.
   */
  page(namespace: Namespace, filter: KeyFilter, after: string, limit: number): KeyPage {
    const all = this.index.of(namespace)
    const isSelected = selectionOf(all, filter)
    const lookedAt = isSelected === null ? limit + 1 : PAGE_SCAN_MAX
    const candidates = all.ids.after(after, filter.prefix ?? '', lookedAt)
    const keys: KeyEntry[] = []
    for (const id of candidates) {
      const entry = defined(all.entries.get(id))
      if (isSelected !== null && !isSelected(entry)) continue
      if (keys.length === limit) return { keys, next: defined(keys.at(-1)).id }
      keys.push(entry)
    }
    return candidates.length < lookedAt ? { keys } : { keys, next: defined(candidates.at(-1)) }
  }

  /** Without `version`, that of version 1. Throws `notFound` for a version that is not stored. */
  publicKey(namespace: Namespace, id: string, version = 1): PublicKey {
    return this.publicKeys(this.entry(namespace, id))(version)
  }

  /** Reads the key's record once for all of its versions. The result throws `notFound` for a version that is not stored. */
  publicKeys(entry: Readonly<KeyEntry>): (version: number) => PublicKey {
    const publicKeyOf = decodePublics(this.read('keys', entry))
    return (version) => {
      refOf(entry, version)
      return publicKeyOf(version)
    }
  }

  /** Handle for the crypto pool, which loads the private key once. Throws `notFound` for a version that is not stored. */
  handle(entry: Readonly<KeyEntry>, version = 1): KeyHandle {
    const ref = refOf(entry, version)
    const load = () => {
      this.context.assertOpen()
      // The key may have been deleted or moved, or the version deleted, while the request waited.
      if (!this.index.keeps(entry) || refOf(entry, version) !== ref) throw noSuchKey()
      return this.#privatePart(entry, version)
    }
    return { ref, type: entry.type, load }
  }

  #privatePart(entry: Readonly<KeyEntry>, version: number): Uint8Array {
    const at = version - (entry.versions === null ? 1 : lowestOf(entry.versions))
    if (at === 0) return this.read('privateKeys', entry)
    const parts = this.readLaterParts(entry)
    try {
      return copySecret(defined(decodeParts(parts)[at - 1]))
    } finally {
      wipe(parts)
    }
  }

  /** Throws `notFound` for a missing key or certificate. */
  certificate(namespace: Namespace, id: string): { type: CertificateType; bytes: Uint8Array } {
    const entry = this.firstEntry(namespace, id)
    return { type: this.certificateType(namespace, id), bytes: this.read('certificates', entry) }
  }

  certificateType(namespace: Namespace, id: string): CertificateType {
    const { certificate } = this.firstEntry(namespace, id)
    if (certificate === null) throw new CofferError('notFound', 'The key has no certificate')
    return certificate
  }

  /** Throws `storage` if the id belongs to a damaged record. */
  protected find({ namespace, entries }: NamespaceKeys, id: string): KeyEntry | undefined {
    const entry = entries.get(id)
    if (entry === undefined && this.context.records.isDamaged('keys', keyName(namespace, id))) throw damaged('key')
    return entry
  }

  protected entry(namespace: Namespace, id: string): KeyEntry {
    const entry = this.find(this.index.of(namespace), id)
    if (entry === undefined) throw noSuchKey()
    return entry
  }

  /** As `entry`, but a key whose version 1 was deleted is missing. */
  protected firstEntry(namespace: Namespace, id: string): KeyEntry {
    const entry = this.entry(namespace, id)
    if (!hasFirstVersion(entry)) throw noSuchKey()
    return entry
  }

  /** Private parts of all versions but the lowest, of a key that has them: see `decodeParts`. The caller wipes them. */
  protected readLaterParts({ namespace, id }: Readonly<KeyEntry>): Uint8Array {
    const value = this.context.records.get('privateKeys', laterPartsName(keyName(namespace, id)))
    if (value === null) throw damaged('key')
    return value
  }

  /** Reads a record that the index lists. If it is missing, the store is damaged. */
  protected read(collection: Collection, { namespace, id }: Readonly<KeyEntry>): Uint8Array {
    const value = this.context.records.get(collection, keyName(namespace, id))
    if (value === null) throw damaged('key')
    return value
  }
}

/** Throws `notFound` for a version that is not stored. */
function refOf({ ref, versions }: Readonly<KeyEntry>, version: number): number {
  const found = versions === null ? (version === 1 ? ref : undefined) : versions.list[version - lowestOf(versions)]?.ref
  if (found === undefined) throw new CofferError('notFound', 'No such version of the key')
  return found
}

const noSuchKey = (): CofferError => new CofferError('notFound', 'No such key')
