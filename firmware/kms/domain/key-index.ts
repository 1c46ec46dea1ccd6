/** The index of stored keys, so that requests need not open records. It follows the store's records only. */

import { defined } from '../../base/defined.ts'
import { isMlDsaKeyType, isUnknownMechanism } from '../../crypto/algorithms.ts'
import type { StoredRecord } from '../../store/store.ts'
import type { Context } from './context.ts'
import type { Namespace } from './identifiers.ts'
import { bucketOf, type KeyCounts } from './key-counts.ts'
import { decodeKey, isSameKey, type KeyMetadata, OPERATIONS_MAX, type StoredKey } from './key-record.ts'
import { ListVersion } from './list-version.ts'
import type { NamespaceState, Namespaces } from './namespaces.ts'
import { SortedIds } from './sorted-ids.ts'
import type { StoredVersion, Versions } from './version-record.ts'

/** A key in the index. Changes happen in place, so references always see the current state. */
export interface KeyEntry extends Omit<KeyMetadata, 'versions' | 'identity'> {
  /** Identifies the key's lowest version and its content in the crypto pool; unique for the life of the process. */
  ref: number
  readonly publicBytes: number
  /** Null if the key has one version and no limits. */
  versions: Versions<EntryVersion> | null
  slot: bigint
  /** Number of the change that wrote the record. */
  version: number
  /** Count of operations in the key's record. */
  base: number
}

interface EntryVersion extends Pick<StoredVersion, 'id' | 'created'> {
  /** As `ref` of the key, which is that of its lowest version. */
  readonly ref: number
}

export interface NamespaceKeys {
  readonly namespace: Namespace
  readonly entries: Map<string, KeyEntry>
  readonly ids: SortedIds
  /** Number of keys whose types or mechanisms published clients do not know. */
  unknownToClients: number
  /** Number of keys whose version 1 was deleted, which do not exist for APIs without versions. */
  withoutFirst: number
  /** Number of versions besides one of each key, which count for the quota. */
  laterVersions: number
  readonly version: ListVersion
}

/** Published clients fail on the complete list if it has an unknown type or mechanism. Contract section 4.6. */
export const isKnownToClients = ({ type, mechanisms }: Pick<KeyMetadata, 'type' | 'mechanisms'>): boolean =>
  !isMlDsaKeyType(type) && !mechanisms.some(isUnknownMechanism)

/** False once version 1 was deleted. Contract section 7.11. */
export const hasFirstVersion = ({ versions }: Pick<KeyEntry, 'versions'>): boolean =>
  versions === null || versions.minAvailable <= 1

/** Never reset, because workers outlive a lock. */
let lastRef = 0

export class KeyIndex {
  readonly #context: Context
  readonly #counts: KeyCounts
  readonly #namespaces = new Map<Namespace, NamespaceKeys>()
  /** Keys of namespaces pending deletion. */
  readonly #doomed = new Map<Namespace, NamespaceKeys>()
  readonly #intern = createInterning()
  /** Entries of removed records. If a removal is undone, the same entry returns. */
  readonly #gone = new WeakMap<StoredRecord, KeyEntry>()
  /** The entry removed last in this turn, with its old id: a move removes a key before it adds it elsewhere. */
  #lastGone: { entry: KeyEntry; value: Uint8Array } | null = null

  constructor(context: Context, namespaces: Namespaces, counts: KeyCounts) {
    this.#context = context
    this.#counts = counts
    for (const namespace of namespaces.doomed()) this.#doomed.set(namespace, newKeys(namespace))
    namespaces.onChange((namespace, became) => this.#namespaceBecame(namespace, became))
    context.records.follow('keys', (before, after, slot) => this.#applied(before, after, slot))
    for (const { ids } of this.#namespaces.values()) ids.sort()
    counts.loaded(this)
  }

  /** Keys of an existing namespace; empty before the first one. */
  of(namespace: Namespace): NamespaceKeys {
    return known(this.#namespaces, namespace, newKeys)
  }

  size(namespace: Namespace): number {
    if (namespace !== '') return this.#namespaces.get(namespace)?.entries.size ?? 0
    return this.#namespaces.values().reduce((sum, { entries }) => sum + entries.size, 0)
  }

  /** Number of versions of all keys. */
  versionCount(namespace: Namespace): number {
    const counted = namespace === '' ? [...this.#namespaces.values()] : [this.of(namespace)]
    return counted.reduce((sum, { entries, laterVersions }) => sum + entries.size + laterVersions, 0)
  }

  /** False once the namespace is deleted, even if it was created again. */
  holds(namespaceKeys: NamespaceKeys): boolean {
    return this.#namespaces.get(namespaceKeys.namespace) === namespaceKeys
  }

  /** Keys of all existing namespaces. Keys may be added or removed during the iteration. */
  *entries(): Generator<KeyEntry> {
    for (const { entries } of this.#namespaces.values()) yield* entries.values()
  }

  keeps(entry: Readonly<KeyEntry>): boolean {
    return this.#namespaces.get(entry.namespace)?.entries.get(entry.id) === entry
  }

  doomed(namespace: Namespace): Iterable<KeyEntry> {
    return this.#doomed.get(namespace)?.entries.values() ?? []
  }

  isDoomed(entry: Readonly<KeyEntry>): boolean {
    return this.#doomed.get(entry.namespace)?.entries.get(entry.id) === entry
  }

  /** Within one transaction, a namespace may change before or after its keys. */
  #namespaceBecame(namespace: Namespace, became: NamespaceState): void {
    const doomed = this.#doomed.get(namespace)
    const keys = doomed ?? this.#namespaces.get(namespace) ?? newKeys(namespace)
    this.#doomed.delete(namespace)
    this.#namespaces.delete(namespace)
    if (became === 'doomed') this.#doomed.set(namespace, keys)
    else if (keys.entries.size === 0) return
    else if (became === 'gone') this.#doomed.set(namespace, keys)
    else this.#namespaces.set(namespace, doomed === undefined ? keys : listed(keys))
  }

  #applied(before: StoredRecord | null, after: StoredRecord | null, slot: bigint): void {
    if (before !== null && after !== null) this.#replace(decodeKey(before.value), before, decodeKey(after.value), after)
    else if (before !== null) this.#remove(decodeKey(before.value), before)
    else if (after !== null) this.#add(decodeKey(after.value), after)
    else this.#removeAt(slot)
  }

  #add(key: StoredKey, record: StoredRecord): void {
    const keys = this.#keysOf(key.namespace)
    const entry = this.#returned(key, record) ?? this.#entryOf(key, record)
    this.#lastGone = null
    const damaged = keys.entries.get(key.id)
    if (damaged !== undefined) this.#mend(keys, damaged, entry)
    entry.slot = record.slot
    entry.version = record.n
    keys.entries.set(entry.id, entry)
    if (!isKnownToClients(entry)) keys.unknownToClients++
    countVersions(keys, entry, 1)
    if (this.#areDoomed(keys)) return
    keys.ids.insert(entry.id)
    keys.version.toggle(entry.id, entry.version)
  }

  #entryOf(
    {
      namespace,
      id,
      type,
      typeName,
      mechanisms,
      tags,
      label,
      operations,
      certificate,
      created,
      deletable = false,
      derived = false,
      versions,
      publicBytes,
    }: StoredKey,
    record: StoredRecord,
  ): KeyEntry {
    const { text, list } = this.#intern
    const ref = ++lastRef
    return {
      namespace: text(namespace),
      id,
      type,
      typeName,
      mechanisms: list(mechanisms),
      tags: list(tags),
      label: text(label),
      operations: Math.min(operations + this.#counts.stored(record.slot), OPERATIONS_MAX),
      base: operations,
      certificate,
      ...(created !== undefined && { created }),
      deletable,
      derived,
      publicBytes,
      ref,
      versions: entryVersions(versions, { ref, versions: null }),
      slot: record.slot,
      version: record.n,
    }
  }

  /** Returns the former entry of this record, or the entry of a key that is moved to this id. */
  #returned(key: StoredKey, record: StoredRecord): KeyEntry | undefined {
    const returned = this.#gone.get(record)
    if (returned !== undefined) return this.#renamed(returned, { id: key.id, base: key.operations })
    const last = this.#lastGone
    if (last === null || key.formerId !== last.entry.id || key.namespace !== last.entry.namespace) return undefined
    if (!isSameKey(last.value, record.value)) return undefined
    const entry = this.#renamed(last.entry, changeable(key))
    this.#takeVersions(entry, key)
    return entry
  }

  #renamed(entry: KeyEntry, change: Partial<KeyEntry> & { id: string }): KeyEntry {
    const unstored = this.#counts.take(entry)
    Object.assign(entry, change)
    this.#counts.give(entry, unstored)
    return entry
  }

  /** After several changes in one transaction, an id may belong to another key. */
  #replace(former: StoredKey, before: StoredRecord, next: StoredKey, after: StoredRecord): void {
    if (isSameKey(before.value, after.value)) {
      const entry = this.#update(former, next, after.n)
      if (next.type === 'Generic' && !hasIdentity(former, next)) this.#context.pool.forget(entry.ref) // the private key may differ
      return
    }
    this.#remove(former, before)
    this.#add(next, after)
  }

  #update(former: StoredKey, key: StoredKey, n: number): KeyEntry {
    const keys = this.#keysOf(key.namespace)
    const entry = defined(keys.entries.get(former.id))
    keys.version.toggle(entry.id, entry.version)
    countVersions(keys, entry, -1)
    if (entry.base !== key.operations) this.#counts.recountLater(bucketOf(entry)) // a restored count
    Object.assign(entry, changeable(key), { version: n })
    this.#takeVersions(entry, key)
    countVersions(keys, entry, 1)
    keys.version.toggle(entry.id, entry.version)
    return entry
  }

  /** The pool forgets versions that are gone. */
  #takeVersions(entry: KeyEntry, { versions }: StoredKey): void {
    const former = refsOf(entry)
    entry.versions = entryVersions(versions, entry)
    entry.ref = entry.versions?.list[0]?.ref ?? entry.ref
    const refs = new Set(refsOf(entry))
    for (const ref of former) if (!refs.has(ref)) this.#context.pool.forget(ref)
  }

  /** Replaces a key whose record became damaged; it may be a different key. */
  #mend(keys: NamespaceKeys, damaged: KeyEntry, entry: KeyEntry): void {
    this.#takeOut(keys, damaged)
    entry.operations = damaged.operations
    this.#counts.give(entry, this.#counts.take(damaged))
    this.#counts.recountLater(bucketOf(entry))
  }

  /** Removes a key whose record became damaged. */
  #removeAt(slot: bigint): void {
    for (const keys of [...this.#namespaces.values(), ...this.#doomed.values()]) {
      const entry = keys.entries.values().find((entry) => entry.slot === slot)
      if (entry !== undefined) this.#takeOut(keys, entry)
    }
  }

  #remove({ namespace, id }: StoredKey, record: StoredRecord): void {
    const keys = this.#keysOf(namespace)
    const entry = defined(keys.entries.get(id))
    this.#takeOut(keys, entry)
    this.#gone.set(record, entry)
    this.#lastGone = { entry, value: record.value }
    queueMicrotask(() => {
      this.#lastGone = null
    })
  }

  #takeOut(keys: NamespaceKeys, entry: KeyEntry): void {
    keys.entries.delete(entry.id)
    if (!isKnownToClients(entry)) keys.unknownToClients--
    countVersions(keys, entry, -1)
    if (!this.#areDoomed(keys)) {
      keys.ids.remove(entry.id)
      keys.version.toggle(entry.id, entry.version)
    }
    for (const ref of refsOf(entry)) this.#context.pool.forget(ref)
  }

  /** True for keys that are no longer listed. Removing 100,000 ids from the list one by one would take seconds. */
  #areDoomed(keys: NamespaceKeys): boolean {
    return this.#doomed.get(keys.namespace) === keys
  }

  #keysOf(namespace: Namespace): NamespaceKeys {
    return this.#doomed.get(namespace) ?? this.of(namespace)
  }
}

/** True if it is certain that both records are of one key: pending uses go on. See `isSameKey`. */
const hasIdentity = (a: StoredKey, b: StoredKey): boolean =>
  (a.identity !== undefined && b.identity !== undefined) || (a.versions !== undefined && b.versions !== undefined)

const refsOf = ({ ref, versions }: Pick<KeyEntry, 'ref' | 'versions'>): number[] =>
  versions === null ? [ref] : versions.list.map(({ ref }) => ref)

/** Versions that the entry has already keep their references. The lowest one of a key without a list has that of the key. */
function entryVersions(
  stored: Versions<StoredVersion> | undefined,
  { ref, versions: former }: Pick<KeyEntry, 'ref' | 'versions'>,
): Versions<EntryVersion> | null {
  if (stored === undefined) return null
  const known = new Map(former?.list.map(({ id, ref }) => [id, ref]))
  const list = stored.list.map(({ id, created }, at) => ({
    id,
    created,
    ref: former === null && at === 0 ? ref : (known.get(id) ?? ++lastRef),
  }))
  return { ...stored, list }
}

function countVersions(keys: NamespaceKeys, entry: Readonly<KeyEntry>, sign: 1 | -1): void {
  if (!hasFirstVersion(entry)) keys.withoutFirst += sign
  keys.laterVersions += sign * ((entry.versions?.list.length ?? 1) - 1)
}

const changeable = ({
  id,
  typeName,
  mechanisms,
  tags,
  label,
  operations,
  certificate,
  deletable = false,
}: StoredKey) => ({
  id,
  typeName,
  mechanisms,
  tags,
  label,
  base: operations,
  certificate,
  deletable,
})

const newKeys = (namespace: Namespace): NamespaceKeys => ({
  namespace,
  entries: new Map(),
  ids: new SortedIds(),
  unknownToClients: 0,
  withoutFirst: 0,
  laterVersions: 0,
  version: new ListVersion(),
})

/** Rebuilds the list of a namespace whose deletion was undone. */
function listed(keys: NamespaceKeys): NamespaceKeys {
  const version = new ListVersion()
  for (const entry of keys.entries.values()) version.toggle(entry.id, entry.version)
  return { ...keys, version, ids: new SortedIds(keys.entries.keys()) }
}

/** Each kind is forgotten when so many were made: keys that are created and deleted again must not fill the memory. */
const INTERNED_MAX = 1000

/** Keys share few sets of mechanisms, tags and labels, so equal ones are stored once. */
function createInterning(): {
  text: (text: string) => string
  list: <T extends string>(list: readonly T[]) => readonly T[]
} {
  const texts = new Map<string, string>()
  const lists = new Map<string, readonly string[]>()
  function interned<V>(map: Map<string, V>, name: string, value: V): V {
    if (map.size >= INTERNED_MAX && !map.has(name)) map.clear()
    return known(map, name, () => value)
  }
  return {
    text: (value) => interned(texts, value, value),
    list: <T extends string>(list: readonly T[]) => interned(lists, list.join(), list) as readonly T[],
  }
}

function known<V>(map: Map<string, V>, name: string, make: (name: string) => V): V {
  const value = map.get(name)
  if (value !== undefined) return value
  const made = make(name)
  map.set(name, made)
  return made
}
