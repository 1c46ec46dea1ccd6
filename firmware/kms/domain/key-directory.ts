/** Lookup and lists of keys, with their public parts. Contract sections 3.2, 4.6 and 7.4. */

import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import type { KeyHandle, PublicKey } from '../../crypto/types.ts'
import type { Collection } from './collections.ts'
import { type Context, damaged } from './context.ts'
import { keyName, type Namespace } from './identifiers.ts'
import type { KeyCounts } from './key-counts.ts'
import { isKnownToClients, type KeyEntry, KeyIndex, type NamespaceKeys } from './key-index.ts'
import { type CertificateType, decodePublic } from './key-record.ts'
import type { Namespaces } from './namespaces.ts'

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
}

const PAGE_SCAN_MAX = 10_000 // keys visited per page, a millisecond or two

/** A key without tags is usable by every Operator of its namespace. Contract 7.4. */
export const isUsableWith = (key: { tags: readonly string[] }, tags: readonly string[]): boolean =>
  key.tags.length === 0 || key.tags.some((tag) => tags.includes(tag))

function selectionOf(keys: NamespaceKeys, { label, usableWith, ofAllTypes = false }: KeyFilter) {
  const ofAll = ofAllTypes || keys.unknownToClients === 0
  if (label === undefined && usableWith === undefined && ofAll) return null
  return (key: Readonly<KeyEntry>): boolean =>
    (label === undefined || key.label === label) &&
    (usableWith === undefined || isUsableWith(key, usableWith)) &&
    (ofAll || isKnownToClients(key))
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

  /** Throws `notFound`, or `storage` if the key's record is damaged. */
  get(namespace: Namespace, id: string): Readonly<KeyEntry> {
    return this.entry(namespace, id)
  }

  /** Returns undefined for a missing key. Throws `storage` if the key's record is damaged. */
  peek(namespace: Namespace, id: string): Readonly<KeyEntry> | undefined {
    return this.find(this.index.of(namespace), id)
  }

  /** Length of the private part. */
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

  contentVersion(namespace: Namespace, id: string): string | null {
    const entry = this.index.of(namespace).entries.get(id)
    return entry === undefined ? null : this.context.versionText(entry.version)
  }

  certificateVersion(namespace: Namespace, id: string): string | null {
    const entry = this.index.of(namespace).entries.get(id)
    return entry === undefined || entry.certificate === null ? null : this.context.versionText(entry.version)
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

  publicKey(namespace: Namespace, id: string): PublicKey {
    return decodePublic(this.read('keys', this.entry(namespace, id)))
  }

  /** Handle for the crypto pool, which loads the private key once. */
  handle(entry: Readonly<KeyEntry>): KeyHandle {
    const load = () => {
      this.context.assertOpen()
      // The key may have been deleted or moved while the request waited.
      if (!this.index.keeps(entry)) throw noSuchKey()
      return this.read('privateKeys', entry)
    }
    return { ref: entry.ref, type: entry.type, load }
  }

  /** Throws `notFound` for a missing key or certificate. */
  certificate(namespace: Namespace, id: string): { type: CertificateType; bytes: Uint8Array } {
    const entry = this.entry(namespace, id)
    return { type: this.certificateType(namespace, id), bytes: this.read('certificates', entry) }
  }

  certificateType(namespace: Namespace, id: string): CertificateType {
    const { certificate } = this.entry(namespace, id)
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

  /** Reads a record that the index lists. If it is missing, the store is damaged. */
  protected read(collection: Collection, { namespace, id }: Readonly<KeyEntry>): Uint8Array {
    const value = this.context.records.get(collection, keyName(namespace, id))
    if (value === null) throw damaged('key')
    return value
  }
}

const noSuchKey = (): CofferError => new CofferError('notFound', 'No such key')
