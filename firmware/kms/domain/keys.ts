/** Keys: made, imported, listed, labelled, restricted, moved, deleted. Contract sections 3.2, 4.4 to 4.6, 6.4 and 6.6. */

import { CofferError } from '../../base/error.ts'
import {
  type KeyTypeName,
  type MechanismName,
  mechanismFits,
  resolveGenerate,
  resolveImport,
  sortMechanisms,
} from '../../crypto/algorithms.ts'
import { type ClaimedPublic, checkClaimed, parsePrivateKeyPem } from '../../crypto/encoding/import-pem.ts'
import type { RsaClaims } from '../../crypto/rsa/generate.ts'
import type { KeyHandle, KeyPair, KeyType, PublicKey } from '../../crypto/types.ts'
import type { Change } from '../../store/store.ts'
import { type Context, damaged } from './context.ts'
import type { Namespace } from './identifiers.ts'
import { generatedId, keyName } from './identifiers.ts'
import { type KeyEntry, KeyIndex, type NamespaceKeys, nextRef } from './key-index.ts'
import { type CertificateType, decodePublic, encodeKey, type KeyMetadata } from './key-record.ts'
import type { Caller } from './roles.ts'

export interface NewKey {
  mechanisms: readonly MechanismName[]
  tags: readonly string[]
  label: string
}

/** The private part of an imported key; wiped by the import. */
export type KeyMaterial =
  | ({ primeP: Uint8Array; primeQ: Uint8Array; publicExponent: Uint8Array } & Partial<RsaClaims>)
  | { data: Uint8Array }

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
}

const PAGE_SCAN_MAX = 10_000 // keys looked at for a page, a millisecond or two

export const OPERATIONS_MAX = 2 ** 31 - 1 // a published client reads 32 bits; contract 4.6

const FLUSH_BATCH = 100 // records in one transaction: bounds the time the server stands still

/** `POST /keys/generate` has the path of a key of this name. Contract 1.2. */
const RESERVED_ID = 'generate'

/** A key without tags is usable by every Operator of its namespace. Contract 7.4. */
export const isUsableWith = (key: { tags: readonly string[] }, tags: readonly string[]): boolean =>
  key.tags.length === 0 || key.tags.some((tag) => tags.includes(tag))

const isSelected = (key: Readonly<KeyEntry>, { label, usableWith }: KeyFilter): boolean =>
  (label === undefined || key.label === label) && (usableWith === undefined || isUsableWith(key, usableWith))

export class Keys {
  readonly #context: Context
  readonly #index: KeyIndex
  /** Keys whose count of operations is ahead of the stored one. */
  readonly #counted = new Set<KeyEntry>()

  constructor(context: Context) {
    this.#context = context
    this.#index = new KeyIndex(context)
  }

  /** Throws `notFound`; `storage` when the key's record is damaged. */
  get(namespace: Namespace, id: string): Readonly<KeyEntry> {
    return this.#entry(namespace, id)
  }

  /** Of everything a client sees of the key. */
  version(namespace: Namespace, id: string): string | null {
    const content = this.contentVersion(namespace, id)
    return content === null ? null : `${content}-${this.get(namespace, id).operations}`
  }

  /** Of all but the count of operations. */
  contentVersion(namespace: Namespace, id: string): string | null {
    const entry = this.#index.of(namespace).entries.get(id)
    return entry === undefined ? null : this.#context.versionText(entry.version)
  }

  certificateVersion(namespace: Namespace, id: string): string | null {
    const entry = this.#index.of(namespace).entries.get(id)
    return entry === undefined || entry.certificate === null ? null : this.#context.versionText(entry.version)
  }

  listVersion(namespace: Namespace): string {
    return this.#context.versionText(this.#index.of(namespace).version)
  }

  list(namespace: Namespace, { prefix = '', label, usableWith }: KeyFilter): string[] {
    const { ids, entries } = this.#index.of(namespace)
    const selected = ids.startingWith(prefix)
    if (label === undefined && usableWith === undefined) return selected
    return selected.filter((id) => isSelected(entries.get(id)!, { label, usableWith }))
  }

  /**
   * The next keys after the id `after` (`''`: from the first one), at most `limit`. `next` is the id to go on after while
   * there may be more: a page looks at a bounded number of keys, however few of them are selected.
   */
  page(namespace: Namespace, filter: KeyFilter, after: string, limit: number): KeyPage {
    const { ids, entries } = this.#index.of(namespace)
    const isFiltered = filter.label !== undefined || filter.usableWith !== undefined
    const lookedAt = isFiltered ? PAGE_SCAN_MAX : limit + 1
    const candidates = ids.after(after, filter.prefix ?? '', lookedAt)
    const keys: KeyEntry[] = []
    for (const id of candidates) {
      const entry = entries.get(id)!
      if (!isSelected(entry, filter)) continue
      if (keys.length === limit) return { keys, next: keys.at(-1)!.id }
      keys.push(entry)
    }
    return candidates.length < lookedAt ? { keys } : { keys, next: candidates.at(-1)! }
  }

  publicKey(namespace: Namespace, id: string): PublicKey {
    return this.#readPublic(this.#entry(namespace, id))
  }

  /** For the crypto pool, which asks for the private bytes once. */
  handle(entry: Readonly<KeyEntry>): KeyHandle {
    const load = () => {
      this.#context.assertOpen()
      // The key may have gone or moved while the request waited.
      if (!this.#holds(entry)) throw noSuchKey()
      return this.#read('privateKeys', entry)
    }
    return { ref: entry.ref, type: entry.type, load }
  }

  /** Returns the id. Throws `invalid`, `conflict` (id taken). */
  async generate(
    caller: Caller,
    id: string | undefined,
    key: NewKey,
    typeName: KeyTypeName,
    length?: number,
  ): Promise<string> {
    const { type, bits } = resolveGenerate(typeName, length)
    if (key.mechanisms.length === 0) throw new CofferError('invalid', 'mechanisms: at least one is needed')
    return this.#create(caller, id, key, { type, typeName }, () => this.#context.pool.generate(type, bits))
  }

  async importFields(
    caller: Caller,
    id: string | undefined,
    key: NewKey,
    typeName: KeyTypeName,
    material: KeyMaterial,
    claimed?: ClaimedPublic,
  ): Promise<string> {
    try {
      const type = resolveImport(typeName, 'data' in material ? material.data.length : 0)
      return await this.#create(caller, id, key, { type, typeName }, () => this.#importPair(type, material, claimed))
    } finally {
      wipeArrays(material)
      if (claimed !== undefined) wipeArrays(claimed)
    }
  }

  /** The type follows from the key. `pem` is wiped. */
  async importPem(caller: Caller, id: string | undefined, key: NewKey, pem: Uint8Array): Promise<string> {
    try {
      const { type, claimed, ...material } = parsePrivateKeyPem(pem)
      return await this.importFields(caller, id, key, type, material, claimed)
    } finally {
      pem.fill(0)
    }
  }

  async #importPair(type: KeyType, material: KeyMaterial, claimed: ClaimedPublic): Promise<KeyPair> {
    const pair = await this.#importUnclaimed(type, material)
    try {
      checkClaimed(claimed, pair.public)
      return pair
    } catch (error) {
      pair.private.fill(0)
      throw error
    }
  }

  #importUnclaimed(type: KeyType, material: KeyMaterial): Promise<KeyPair> {
    const { pool } = this.#context
    if (type === 'RSA') {
      if ('data' in material) throw new CofferError('invalid', 'RSA keys have primeP, primeQ and publicExponent')
      const claims = material.privateExponent === undefined ? undefined : (material as RsaClaims)
      return pool.importRsa(material.primeP, material.primeQ, material.publicExponent, claims)
    }
    if (!('data' in material)) throw new CofferError('invalid', `${type} keys have data only`)
    return pool.importRaw(type, material.data)
  }

  async #create(
    caller: Caller,
    wanted: string | undefined,
    { mechanisms, tags, label }: NewKey,
    { type, typeName }: { type: KeyType; typeName: KeyTypeName },
    make: () => Promise<KeyPair>,
  ): Promise<string> {
    for (const mechanism of mechanisms)
      if (!mechanismFits(mechanism, type)) throw new CofferError('invalid', `${mechanism} does not fit ${type} keys`)
    const namespaceKeys = this.#index.of(caller.namespace)
    const id = wanted ?? generatedId(this.#context.random)
    this.#assertFree(namespaceKeys, id)
    const pair = await make()
    try {
      this.#context.assertOpen()
      if (!this.#index.holds(namespaceKeys)) throw new CofferError('forbidden', 'The namespace was deleted')
      this.#assertFree(namespaceKeys, id)
      const metadata: KeyMetadata = {
        namespace: namespaceKeys.namespace,
        id,
        type,
        typeName,
        mechanisms: sortMechanisms(mechanisms),
        tags,
        label,
        operations: 0,
        certificate: null,
      }
      const name = keyName(namespaceKeys.namespace, id)
      this.#context.records.commit([
        { collection: 'keys', name, value: encodeKey(metadata, pair.public) },
        { collection: 'privateKeys', name, value: pair.private },
      ])
      namespaceKeys.entries.set(id, { ...metadata, ref: nextRef(), version: this.#context.nextVersion() })
      namespaceKeys.ids.insert(id)
      this.#listChanged(namespaceKeys)
      this.#log(caller, `created ${id} (${metadata.typeName}) by ${caller.userId}`)
    } finally {
      pair.private.fill(0)
    }
    return id
  }

  #assertFree(namespaceKeys: NamespaceKeys, id: string): void {
    if (id === RESERVED_ID) throw new CofferError('invalid', `A key cannot be called ${RESERVED_ID}`)
    if (this.#find(namespaceKeys, id) !== undefined) throw new CofferError('conflict', 'The key already exists')
  }

  remove(caller: Caller, id: string): void {
    const namespaceKeys = this.#index.of(caller.namespace)
    const entry = this.#entry(caller.namespace, id)
    this.#context.records.commit(removal(entry))
    namespaceKeys.entries.delete(id)
    namespaceKeys.ids.remove(id)
    this.#listChanged(namespaceKeys)
    this.#forget(entry)
    this.#log(caller, `removed ${id} by ${caller.userId}`)
  }

  /** Every key of a namespace, in one transaction with `also`. */
  removeAll(namespace: Namespace, also: readonly Change[]): void {
    const entries = [...this.#index.of(namespace).entries.values()]
    this.#context.records.commit([...entries.flatMap(removal), ...also])
    this.#index.drop(namespace)
    for (const entry of entries) this.#forget(entry)
  }

  /** Throws `conflict` when the target is taken, also by the key itself. */
  move(caller: Caller, id: string, newId: string): void {
    const { records } = this.#context
    const namespaceKeys = this.#index.of(caller.namespace)
    const entry = this.#entry(caller.namespace, id)
    this.#assertFree(namespaceKeys, newId)
    const [from, to] = [keyName(entry.namespace, id), keyName(entry.namespace, newId)]
    const privateKey = this.#read('privateKeys', entry)
    try {
      const added: Change[] = [
        { collection: 'keys', name: to, value: encodeKey({ ...entry, id: newId }, this.#readPublic(entry)) },
        { collection: 'privateKeys', name: to, value: privateKey },
      ]
      if (entry.certificate !== null)
        added.push({ collection: 'certificates', name: to, value: this.#read('certificates', entry) })
      records.commit([...added, ...added.map(({ collection }) => ({ collection, name: from, value: null }))])
    } finally {
      privateKey.fill(0)
    }
    this.#counted.delete(entry)
    namespaceKeys.entries.delete(id)
    namespaceKeys.ids.remove(id)
    entry.id = newId
    namespaceKeys.entries.set(newId, entry)
    namespaceKeys.ids.insert(newId)
    this.#changed(namespaceKeys, entry)
    this.#log(caller, `moved ${id} to ${newId} by ${caller.userId}`)
  }

  /** Returns false when the key has this label already. */
  setLabel(caller: Caller, id: string, label: string): boolean {
    const entry = this.#entry(caller.namespace, id)
    if (entry.label === label) return false
    this.#update(caller, entry, { label })
    this.#log(caller, `changed the label of ${id} by ${caller.userId}`)
    return true
  }

  /** Returns false when the tag was there already. */
  addTag(caller: Caller, id: string, tag: string): boolean {
    const entry = this.#entry(caller.namespace, id)
    if (entry.tags.includes(tag)) return false
    this.#update(caller, entry, { tags: [...entry.tags, tag].sort() })
    this.#log(caller, `added tag ${tag} to ${id} by ${caller.userId}`)
    return true
  }

  /** Throws `notFound` for a missing key or tag. */
  removeTag(caller: Caller, id: string, tag: string): void {
    const entry = this.#entry(caller.namespace, id)
    if (!entry.tags.includes(tag)) throw new CofferError('notFound', 'The key does not have this tag')
    this.#update(caller, entry, { tags: entry.tags.filter((other) => other !== tag) })
    this.#log(caller, `removed tag ${tag} from ${id} by ${caller.userId}`)
  }

  /** The stored bytes and their type. Throws `notFound` for a missing key or certificate. */
  certificate(namespace: Namespace, id: string): { type: CertificateType; bytes: Uint8Array } {
    const entry = this.#entry(namespace, id)
    return { type: this.certificateType(namespace, id), bytes: this.#read('certificates', entry) }
  }

  certificateType(namespace: Namespace, id: string): CertificateType {
    const { certificate } = this.#entry(namespace, id)
    if (certificate === null) throw new CofferError('notFound', 'The key has no certificate')
    return certificate
  }

  /** Throws `conflict` when there is one: it is deleted first. */
  setCertificate(caller: Caller, id: string, type: CertificateType, bytes: Uint8Array): void {
    const entry = this.#entry(caller.namespace, id)
    if (entry.certificate !== null) throw new CofferError('conflict', 'The key already has a certificate')
    const name = keyName(entry.namespace, id)
    this.#update(caller, entry, { certificate: type }, [{ collection: 'certificates', name, value: bytes }])
    this.#log(caller, `stored the certificate of ${id} by ${caller.userId}`)
  }

  /** Throws `notFound` for a missing key or certificate. */
  removeCertificate(caller: Caller, id: string): void {
    this.certificateType(caller.namespace, id)
    const entry = this.#entry(caller.namespace, id)
    const name = keyName(entry.namespace, id)
    this.#update(caller, entry, { certificate: null }, [{ collection: 'certificates', name, value: null }])
    this.#log(caller, `removed the certificate of ${id} by ${caller.userId}`)
  }

  /** Counts a successful operation; visible at once, stored by `flush`. */
  count(used: Readonly<KeyEntry>): void {
    const entry = used as KeyEntry
    if (entry.operations >= OPERATIONS_MAX) return
    entry.operations++
    // Deleted while it was used: nothing is left to count.
    if (this.#holds(entry)) this.#counted.add(entry)
  }

  /** Stores the counts of operations. */
  flush(): void {
    while (this.flushSome());
  }

  /** Stores a batch of them; false when none were left. */
  flushSome(): boolean {
    const batch = this.#counted.values().take(FLUSH_BATCH).toArray()
    if (batch.length === 0) return false
    for (const entry of batch) this.#counted.delete(entry)
    try {
      this.#context.records.commit(batch.flatMap((entry) => this.#countChange(entry)))
    } catch (error) {
      for (const entry of batch) this.#counted.add(entry)
      throw error
    }
    return true
  }

  /** One record that cannot be read must not keep the counts of all others from the disk. */
  #countChange(entry: KeyEntry): Change[] {
    const name = keyName(entry.namespace, entry.id)
    try {
      return [{ collection: 'keys', name, value: encodeKey(entry, this.#readPublic(entry)) }]
    } catch (error) {
      if (!(error instanceof CofferError && error.code === 'storage')) throw error
      this.#context.log.error('keys', `the operations of ${entry.id} could not be stored: ${error.message}`)
      return []
    }
  }

  #update(caller: Caller, entry: KeyEntry, change: Partial<KeyMetadata>, also: readonly Change[] = []): void {
    const value = encodeKey({ ...entry, ...change }, this.#readPublic(entry))
    this.#context.records.commit([{ collection: 'keys', name: keyName(entry.namespace, entry.id), value }, ...also])
    Object.assign(entry, change)
    this.#counted.delete(entry)
    this.#changed(this.#index.of(caller.namespace), entry)
  }

  #changed(namespaceKeys: NamespaceKeys, entry: KeyEntry): void {
    entry.version = this.#context.nextVersion()
    this.#listChanged(namespaceKeys)
  }

  #listChanged(namespaceKeys: NamespaceKeys): void {
    namespaceKeys.version = this.#context.nextVersion()
  }

  #forget(entry: KeyEntry): void {
    this.#counted.delete(entry)
    this.#context.pool.forget(entry.ref)
  }

  #holds(entry: Readonly<KeyEntry>): boolean {
    return this.#index.of(entry.namespace).entries.get(entry.id) === entry
  }

  #find({ namespace, entries }: NamespaceKeys, id: string): KeyEntry | undefined {
    const entry = entries.get(id)
    if (entry === undefined && this.#context.records.isDamaged('keys', keyName(namespace, id))) throw damaged('key')
    return entry
  }

  #entry(namespace: Namespace, id: string): KeyEntry {
    const entry = this.#find(this.#index.of(namespace), id)
    if (entry === undefined) throw noSuchKey()
    return entry
  }

  #readPublic(entry: KeyEntry): PublicKey {
    return decodePublic(this.#read('keys', entry))
  }

  /** A record that the index knows of; when it is gone, the store is damaged. */
  #read(collection: Change['collection'], { namespace, id }: Readonly<KeyEntry>): Uint8Array {
    const value = this.#context.records.get(collection, keyName(namespace, id))
    if (value === null) throw damaged('key')
    return value
  }

  #log({ namespace }: Caller, text: string): void {
    this.#context.log.info('keys', namespace === '' ? text : `${text} in namespace ${namespace}`)
  }
}

function wipeArrays(secrets: Record<string, Uint8Array>): void {
  for (const secret of Object.values(secrets)) secret.fill(0)
}

const noSuchKey = (): CofferError => new CofferError('notFound', 'No such key')

function removal({ namespace, id, certificate }: KeyEntry): Change[] {
  const name = keyName(namespace, id)
  const collections = ['keys', 'privateKeys', ...(certificate === null ? [] : ['certificates' as const])] as const
  return collections.map((collection) => ({ collection, name, value: null }))
}
