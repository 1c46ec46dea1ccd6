/** Creates, imports, moves, deletes and counts keys. Contract sections 3.2, 4.4 to 4.6, 6.4 and 6.6. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { bytesToHex } from '@noble/hashes/utils.js'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import { type KeyTypeName, type MechanismName, resolveGenerate, sortMechanisms } from '../../crypto/algorithms.ts'
import { type ClaimedPublic, parsePrivateKeyPem } from '../../crypto/encoding/import-pem.ts'
import type { KeyPair } from '../../crypto/types.ts'
import type { RecordChange } from './collections.ts'
import type { Context } from './context.ts'
import { generatedId, keyName, type Namespace } from './identifiers.ts'
import { bucketOf, KeyCounts } from './key-counts.ts'
import { assertFit, importPair, type KeyMaterial, type KeySpec, kindOf } from './key-import.ts'
import type { KeyEntry, NamespaceKeys } from './key-index.ts'
import { decodeKey, decodePublic, encodeKey, OPERATIONS_MAX } from './key-record.ts'
import { hasLaterParts, KeyVersions } from './key-versions.ts'
import type { NamespaceQuotas } from './namespace-quotas.ts'
import type { Namespaces } from './namespaces.ts'
import type { Caller } from './roles.ts'
import { laterPartsName } from './version-record.ts'

export interface NewKey {
  mechanisms: readonly MechanismName[]
  tags: readonly string[]
  label: string
  /** For XAES keys only. */
  derived?: boolean
}

/** `POST /keys/generate` has the path of a key with this id. Contract 1.2. */
const RESERVED_ID = 'generate'

const REMOVED_WHOLE_MAX = 100 // keys that are deleted with their namespace in one change
const REMOVED_BYTES_MAX = 512 * 1024 // of remaining counts; a change of a cluster may have 1.5 MiB
const IDENTITY_BYTES = 8
const SEEN_MAX = 1000 // entries visited per turn: a millisecond or two

export class Keys extends KeyVersions {
  readonly #namespaces: Namespaces
  readonly #counts: KeyCounts

  constructor(context: Context, namespaces: Namespaces, quotas: NamespaceQuotas) {
    const counts = new KeyCounts(context)
    super(context, namespaces, quotas, counts)
    this.#namespaces = namespaces
    this.#counts = counts
  }

  /** Returns the id. Throws `invalid`, `conflict` (id exists), `full` (quota of the namespace). */
  async generate(
    caller: Caller,
    id: string | undefined,
    key: NewKey,
    typeName: KeyTypeName,
    length?: number,
  ): Promise<string> {
    const { type, bits } = resolveGenerate(typeName, length)
    if (key.mechanisms.length === 0) throw new CofferError('invalid', 'mechanisms: at least one is needed')
    const kind = { type, typeName, bytes: bits && Math.ceil(bits / 8) }
    return this.#create(caller, id, key, kind, () => this.context.pool.generate(type, bits))
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
      const kind = kindOf(typeName, material)
      return await this.#create(caller, id, key, kind, () =>
        importPair(this.context.pool, kind.type, material, claimed),
      )
    } finally {
      wipe(...Object.values(material), ...Object.values(claimed ?? {}))
    }
  }

  /** The key's type follows from the PEM. `pem` is wiped. */
  async importPem(caller: Caller, id: string | undefined, key: NewKey, pem: Uint8Array): Promise<string> {
    try {
      const { type, claimed, ...material } = parsePrivateKeyPem(pem)
      return await this.importFields(caller, id, key, type, material, claimed)
    } finally {
      wipe(pem)
    }
  }

  async #create(
    caller: Caller,
    wanted: string | undefined,
    { mechanisms, tags, label, derived = false }: NewKey,
    kind: KeySpec,
    make: () => Promise<KeyPair>,
  ): Promise<string> {
    assertFit(mechanisms, kind)
    const { type, typeName } = kind
    const namespaceKeys = this.index.of(caller.namespace)
    const id = wanted ?? generatedId(this.context.random)
    this.#assertFree(namespaceKeys, id)
    this.assertQuota(namespaceKeys)
    const pair = await make()
    try {
      await this.context.records.change(() => {
        this.context.assertOpen()
        if (!this.index.holds(namespaceKeys) || !this.#namespaces.exists(caller.namespace))
          throw new CofferError('forbidden', 'The namespace was deleted')
        this.#assertFree(namespaceKeys, id)
        this.assertQuota(namespaceKeys)
        const { namespace } = namespaceKeys
        const about = {
          mechanisms: sortMechanisms(mechanisms),
          tags,
          label,
          operations: 0,
          certificate: null,
          created: this.context.nowSeconds(),
          derived,
          ...(type === 'Generic' && { identity: bytesToHex(this.context.random(IDENTITY_BYTES)) }),
        }
        const value = encodeKey({ namespace, id, type, typeName, ...about }, pair.public)
        const name = keyName(namespace, id)
        const changes: RecordChange[] = [
          { collection: 'keys', name, value },
          { collection: 'privateKeys', name, value: pair.private },
        ]
        return { changes, result: undefined }
      })
      this.log(caller, `created ${id} (${typeName}) by ${caller.userId}`)
    } finally {
      wipe(pair.private)
    }
    return id
  }

  #assertFree(namespaceKeys: NamespaceKeys, id: string): void {
    if (id === RESERVED_ID) throw new CofferError('invalid', `A key cannot be called ${RESERVED_ID}`)
    if (this.find(namespaceKeys, id) !== undefined) throw new CofferError('conflict', 'The key already exists')
  }

  /** `check` throws for a key that must stay. */
  async remove(caller: Caller, id: string, check = (_key: Readonly<KeyEntry>): void => {}): Promise<void> {
    await this.context.records.change(() => {
      const entry = this.entry(caller.namespace, id)
      check(entry)
      return { changes: this.removalOf([entry]), result: undefined }
    })
    this.log(caller, `removed ${id} by ${caller.userId}`)
  }

  removalOf(entries: readonly Readonly<KeyEntry>[]): RecordChange[] {
    return [...entries.flatMap(removal), ...this.#counts.removal(entries)]
  }

  /** Returns the changes that delete all keys of a namespace; null if they exceed one change. */
  removalOfAll(namespace: Namespace): RecordChange[] | null {
    const { entries } = this.index.of(namespace)
    if (entries.size > REMOVED_WHOLE_MAX) return null
    const removal = this.removalOf([...entries.values()])
    const bytes = removal.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
    return bytes > REMOVED_BYTES_MAX ? null : removal
  }

  /** Iterates over the keys of a namespace pending deletion, grouped by the record of their counts. */
  async leftOfDoomed(namespace: Namespace): Promise<Iterator<KeyEntry>> {
    const buckets = new Map<number, KeyEntry[]>()
    let seen = 0
    for (const entry of this.index.doomed(namespace)) {
      const bucket = buckets.get(bucketOf(entry))
      if (bucket === undefined) buckets.set(bucketOf(entry), [entry])
      else bucket.push(entry)
      if (++seen % SEEN_MAX === 0) await nextTurn()
    }
    return oneByOne(buckets.values())
  }

  hasLeftOfDoomed(namespace: Namespace): boolean {
    return this.index.doomed(namespace)[Symbol.iterator]().next().done === false
  }

  isLeftOfDoomed(entry: Readonly<KeyEntry>): boolean {
    return this.index.isDoomed(entry)
  }

  /** Throws `conflict` if `newId` exists, even if it is the key's own. */
  async move(caller: Caller, id: string, newId: string): Promise<void> {
    const secrets: Uint8Array[] = []
    try {
      await this.context.records.change(() => {
        const entry = this.firstEntry(caller.namespace, id)
        this.#assertFree(this.index.of(caller.namespace), newId)
        const to = keyName(entry.namespace, newId)
        const stored = this.read('keys', entry)
        const privateKey = this.read('privateKeys', entry)
        secrets.push(privateKey)
        // The stored count moves with the key's record. The unstored one is stored under the new id.
        const operations = entry.operations - this.#counts.unstored(entry)
        const moved = { ...decodeKey(stored), id: newId, operations }
        const added: RecordChange[] = [
          { collection: 'keys', name: to, value: encodeKey(moved, decodePublic(stored), id) },
          { collection: 'privateKeys', name: to, value: privateKey },
        ]
        if (hasLaterParts(entry)) {
          const parts = this.readLaterParts(entry)
          secrets.push(parts)
          added.push({ collection: 'privateKeys', name: laterPartsName(to), value: parts })
        }
        if (entry.certificate !== null)
          added.push({ collection: 'certificates', name: to, value: this.read('certificates', entry) })
        return { changes: [...removal(entry), ...added, ...this.#counts.removal([entry])], result: undefined }
      })
    } finally {
      wipe(...secrets)
    }
    this.log(caller, `moved ${id} to ${newId} by ${caller.userId}`)
  }

  /** Counts a successful operation. Shown at once, stored by `storeCounts`. */
  count(used: Readonly<KeyEntry>): void {
    const entry = used as KeyEntry
    if (entry.operations >= OPERATIONS_MAX) return
    entry.operations++
    // The key may have been deleted during the operation.
    if (this.index.keeps(entry)) this.#counts.add(entry)
  }

  storeCounts(slowly: boolean): Promise<void> {
    return this.#counts.store(slowly)
  }
}

/** Also of private parts that the entry does not show: an older node of a cluster drops the list of versions, and they stay. */
function removal(entry: Readonly<KeyEntry>): RecordChange[] {
  const name = keyName(entry.namespace, entry.id)
  return [
    { collection: 'keys', name, value: null },
    { collection: 'privateKeys', name, value: null },
    { collection: 'privateKeys', name: laterPartsName(name), value: null },
    ...(entry.certificate === null ? [] : [{ collection: 'certificates' as const, name, value: null }]),
  ]
}

function* oneByOne<T>(groups: Iterable<readonly T[]>): Generator<T, void> {
  for (const group of groups) yield* group
}
