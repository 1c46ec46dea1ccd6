/** Keys as everybody sees them: found, listed, page by page, with their public parts. Contract sections 3.2, 4.6 and 7.4. */

import { CofferError } from '../../base/error.ts'
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
  /** Exactly this label; `''` selects keys without one. */
  label?: string | undefined
  /** Only keys that an Operator with these tags may use. */
  usableWith?: readonly string[] | undefined
  /** Also those whose types published clients do not know. */
  ofAllTypes?: boolean
}

const PAGE_SCAN_MAX = 10_000 // keys looked at for a page, a millisecond or two

/** A key without tags is usable by every Operator of its namespace. Contract 7.4. */
export const isUsableWith = (key: { tags: readonly string[] }, tags: readonly string[]): boolean =>
  key.tags.length === 0 || key.tags.some((tag) => tags.includes(tag))

/** Null: every key is. */
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

  /** How many keys there are; for callers outside any namespace, in all of those that exist. */
  size(namespace: Namespace): number {
    return this.index.size(namespace)
  }

  /** Throws `notFound`; `storage` when the key's record is damaged. */
  get(namespace: Namespace, id: string): Readonly<KeyEntry> {
    return this.entry(namespace, id)
  }

  /** Of everything a client sees of the key. */
  version(namespace: Namespace, id: string): string | null {
    const content = this.contentVersion(namespace, id)
    return content === null ? null : `${content}-${this.get(namespace, id).operations}`
  }

  /** Of all but the count of operations. */
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
    return isSelected === null ? ids : ids.filter((id) => isSelected(keys.entries.get(id)!))
  }

  /**
   * The next keys after the id `after` (`''`: from the first one), at most `limit`. `next` is the id to go on after while
   * there may be more: a page looks at a bounded number of keys, however few of them are selected.
   */
  page(namespace: Namespace, filter: KeyFilter, after: string, limit: number): KeyPage {
    const all = this.index.of(namespace)
    const isSelected = selectionOf(all, filter)
    const lookedAt = isSelected === null ? limit + 1 : PAGE_SCAN_MAX
    const candidates = all.ids.after(after, filter.prefix ?? '', lookedAt)
    const keys: KeyEntry[] = []
    for (const id of candidates) {
      const entry = all.entries.get(id)!
      if (isSelected !== null && !isSelected(entry)) continue
      if (keys.length === limit) return { keys, next: keys.at(-1)!.id }
      keys.push(entry)
    }
    return candidates.length < lookedAt ? { keys } : { keys, next: candidates.at(-1)! }
  }

  publicKey(namespace: Namespace, id: string): PublicKey {
    return decodePublic(this.read('keys', this.entry(namespace, id)))
  }

  /** For the crypto pool, which asks for the private bytes once. */
  handle(entry: Readonly<KeyEntry>): KeyHandle {
    const load = () => {
      this.context.assertOpen()
      // The key may have gone or moved while the request waited.
      if (!this.index.keeps(entry)) throw noSuchKey()
      return this.read('privateKeys', entry)
    }
    return { ref: entry.ref, type: entry.type, load }
  }

  /** The stored bytes and their type. Throws `notFound` for a missing key or certificate. */
  certificate(namespace: Namespace, id: string): { type: CertificateType; bytes: Uint8Array } {
    const entry = this.entry(namespace, id)
    return { type: this.certificateType(namespace, id), bytes: this.read('certificates', entry) }
  }

  certificateType(namespace: Namespace, id: string): CertificateType {
    const { certificate } = this.entry(namespace, id)
    if (certificate === null) throw new CofferError('notFound', 'The key has no certificate')
    return certificate
  }

  /** Throws `storage` when a damaged record has this id. */
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

  /** A record that the index knows of; when it is gone, the store is damaged. */
  protected read(collection: Collection, { namespace, id }: Readonly<KeyEntry>): Uint8Array {
    const value = this.context.records.get(collection, keyName(namespace, id))
    if (value === null) throw damaged('key')
    return value
  }
}

const noSuchKey = (): CofferError => new CofferError('notFound', 'No such key')
