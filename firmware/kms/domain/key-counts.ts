/**
 * Counts of key operations, stored apart from the keys. Key records then change only by Administrators, and a busy hour of 100,000 keys
 * writes only a megabyte. A node stores its counts in 256 records (buckets), each with slots and counts of its keys. The count of a key is
 * the sum of the one in its record, those stored by all nodes, and the unstored one of this node. Contract section 6.2.
 */

import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { runDetached } from '../../base/request-authorization.ts'
import type { RecordChange } from './collections.ts'
import type { Context } from './context.ts'
import type { Namespace } from './identifiers.ts'
import type { KeyEntry } from './key-index.ts'
import { OPERATIONS_MAX } from './key-record.ts'

const BUCKETS = 256
const ENTRY_BYTES = 12 // slot and count
const RECOUNT_MS = 500
const SEEN_MAX = 1000 // keys visited per turn: a millisecond or two
const GROUP = 2 // buckets per transaction: each is a page or two, and all write the same few pages again

interface CountedKeys {
  keeps(entry: Readonly<KeyEntry>): boolean
  entries(): Iterable<KeyEntry>
}

export class KeyCounts {
  readonly #context: Context
  readonly #unstored = Array.from({ length: BUCKETS }, () => new Map<KeyEntry, number>())
  /** Names of each bucket's records, of this node and of others. */
  readonly #names = Array.from({ length: BUCKETS }, () => new Set<string>())
  /** Counts that a new record value includes and `#unstored` still has. */
  readonly #stores = new WeakMap<Uint8Array, Map<KeyEntry, number>>()
  /** Values written by this node, which need no recount. */
  readonly #made = new WeakSet<Uint8Array>()
  #keys: CountedKeys = { keeps: () => true, entries: () => [] }
  /** Buckets in which other nodes have stored counts. */
  readonly #outdated = new Set<number>()
  #isRecounting = false
  /** Stored counts by slot, until all keys are loaded. */
  #found: Map<bigint, number> | null = new Map()

  constructor(context: Context) {
    this.#context = context
    context.records.follow('counts', (before, after) => {
      const { value } = after ?? before ?? {}
      if (value === undefined) return // a damaged record, whose counts are unknown
      const { bucket, member } = decodeOwner(value)
      const name = nameOf(member, bucket)
      if (after === null) this.#names[bucket]?.delete(name)
      else this.#names[bucket]?.add(name)
      if (this.#found !== null)
        for (const [slot, count] of decodeBucket(value).counts) this.#found.set(slot, this.stored(slot) + count)
      if (after !== null) this.#owe(bucket, this.#stores.get(after.value), -1)
      if (before !== null) this.#owe(bucket, this.#stores.get(before.value), 1)
      const isOwn = [before, after].some((record) => record !== null && this.#made.has(record.value))
      if (this.#found === null && !isOwn) this.recountLater(bucket)
    })
  }

  stored(slot: bigint): number {
    return this.#found?.get(slot) ?? 0
  }

  loaded(keys: CountedKeys): void {
    this.#found = null
    this.#keys = keys
  }

  /** Schedules a recount: the displayed counts of the bucket differ from the stored ones. */
  recountLater(bucket: number): void {
    this.#outdated.add(bucket)
    if (this.#isRecounting) return
    this.#isRecounting = true
    void runDetached(() => this.#recount())
  }

  /** Recounts in small pieces. Counts of other nodes show within a second or two. */
  async #recount(): Promise<void> {
    try {
      while (this.#outdated.size > 0) {
        await wait(RECOUNT_MS, undefined, { ref: false }) // collects the records that a node stores together
        const buckets = new Set(this.#outdated)
        this.#outdated.clear()
        for (const [bucket, entries] of await this.#keysIn(buckets)) {
          this.#recountBucket(bucket, entries)
          await nextTurn()
        }
      }
    } catch (error) {
      if (!(error instanceof CofferError)) throw error
      if (error.code !== 'unavailable') this.#context.log.error('keys', `cannot recount keys: ${error.message}`)
    } finally {
      this.#isRecounting = false
    }
  }

  async #keysIn(buckets: ReadonlySet<number>): Promise<Map<number, KeyEntry[]>> {
    const found = new Map<number, KeyEntry[]>()
    let seen = 0
    for (const entry of this.#keys.entries()) {
      const bucket = bucketOf(entry)
      if (buckets.has(bucket)) known(found, bucket).push(entry)
      if (++seen % SEEN_MAX === 0) await nextTurn()
    }
    return found
  }

  /** Runs in one turn, so that stored and unstored counts match. */
  #recountBucket(bucket: number, entries: readonly KeyEntry[]): void {
    const stored = new Map<bigint, number>()
    for (const name of this.#names[bucket] ?? []) {
      const value = this.#value(name)
      if (value === null) continue
      for (const [slot, count] of decodeBucket(value).counts) stored.set(slot, (stored.get(slot) ?? 0) + count)
    }
    for (const entry of entries) {
      if (!this.#keys.keeps(entry)) continue
      const counted = entry.base + (stored.get(entry.slot) ?? 0) + this.unstored(entry)
      entry.operations = Math.min(counted, OPERATIONS_MAX)
    }
  }

  add(entry: KeyEntry): void {
    this.give(entry, this.unstored(entry) + 1)
  }

  unstored(entry: Readonly<KeyEntry>): number {
    return this.#unstored[bucketOf(entry)]?.get(entry as KeyEntry) ?? 0
  }

  /** Removes the unstored count of a key before its id changes. `give` restores it under the new id. */
  take(entry: KeyEntry): number {
    const count = this.unstored(entry)
    this.#unstored[bucketOf(entry)]?.delete(entry)
    return count
  }

  give(entry: KeyEntry, count: number): void {
    if (count > 0) this.#unstored[bucketOf(entry)]?.set(entry, count)
  }

  /** Stores all counts. All writes begin in this turn, or, if `slowly`, a few records at a time. Throws `storage` if the disk fails. */
  async store(slowly: boolean): Promise<void> {
    const buckets = this.#inOrderOfRows()
    const groupSize = slowly ? GROUP : BUCKETS
    for (let at = 0; at < buckets.length; at += groupSize)
      await Promise.all(buckets.slice(at, at + groupSize).map((bucket) => this.#storeBucket(bucket)))
  }

  /** Buckets with unstored counts, in the order of their rows: adjacent rows share pages of the disk. */
  #inOrderOfRows(): number[] {
    const { records, member } = this.#context
    const used = [...this.#unstored.entries()].filter(([, counts]) => counts.size > 0)
    const placed = used.map(([bucket]) => ({ bucket, slot: records.slotOf('counts', nameOf(member, bucket)) }))
    return placed.sort((a, b) => (a.slot < b.slot ? -1 : 1)).map(({ bucket }) => bucket)
  }

  #storeBucket(bucket: number): Promise<void> {
    const { records, member } = this.#context
    return records.change(() => {
      const unstored = defined(this.#unstored[bucket])
      for (const entry of unstored.keys()) if (!this.#keys.keeps(entry)) unstored.delete(entry)
      const name = nameOf(member, bucket)
      const counts = unstored.size === 0 ? null : this.#read(name)
      if (counts === null) return { changes: [], result: undefined }
      for (const [{ slot }, count] of unstored) counts.set(slot, (counts.get(slot) ?? 0) + count)
      const value = encodeBucket({ bucket, member, counts })
      this.#stores.set(value, new Map(unstored))
      this.#made.add(value)
      return { changes: [{ collection: 'counts', name, value }], result: undefined }
    })
  }

  /** Removes counts together with their keys, so that they do not reappear with a new key of the same id. */
  removal(entries: readonly Readonly<KeyEntry>[]): RecordChange[] {
    const counted = entries.filter((entry) => entry.operations > this.unstored(entry))
    return [...Map.groupBy(counted, bucketOf)].flatMap(([bucket, entries]) => {
      const slots = entries.map(({ slot }) => slot)
      return [...(this.#names[bucket] ?? [])].flatMap((name) => this.#without(name, slots))
    })
  }

  #without(name: string, slots: readonly bigint[]): RecordChange[] {
    const value = this.#value(name)
    if (value === null) return []
    const { bucket, member, counts } = decodeBucket(value)
    const removed = slots.filter((slot) => counts.delete(slot))
    if (removed.length === 0) return []
    const rest = counts.size === 0 ? null : encodeBucket({ bucket, member, counts })
    if (rest !== null) this.#made.add(rest)
    return [{ collection: 'counts', name, value: rest }]
  }

  /** Returns null for a damaged record. It must not keep the other buckets from being stored. */
  #read(name: string): Map<bigint, number> | null {
    try {
      const value = this.#context.records.get('counts', name)
      return value === null ? new Map() : decodeBucket(value).counts
    } catch (error) {
      if (!(error instanceof CofferError && error.code === 'storage')) throw error
      this.#context.log.error('keys', `cannot store the counts of operations: ${error.message}`)
      return null
    }
  }

  #value(name: string): Uint8Array | null {
    return this.#context.records.isDamaged('counts', name) ? null : this.#context.records.get('counts', name)
  }

  #owe(bucket: number, counts: Map<KeyEntry, number> | undefined, sign: 1 | -1): void {
    const unstored = defined(this.#unstored[bucket])
    for (const [entry, count] of counts ?? []) {
      const owed = (unstored.get(entry) ?? 0) + sign * count
      if (owed > 0) unstored.set(entry, owed)
      else unstored.delete(entry)
    }
  }
}

function known(found: Map<number, KeyEntry[]>, bucket: number): KeyEntry[] {
  const entries = found.get(bucket) ?? []
  found.set(bucket, entries)
  return entries
}

/** Any hash that spreads keys; computing the slot would cost more. */
export function bucketOf({ namespace, id }: { namespace: Namespace; id: string }): number {
  let hash = 0x811c9dc5
  for (const text of [namespace, id])
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return ((hash >>> 24) ^ (hash >>> 16) ^ (hash >>> 8) ^ hash) & (BUCKETS - 1)
}

const nameOf = (member: string, bucket: number): string => `${member}/${bucket}`

interface Bucket {
  bucket: number
  /** Node that counted. */
  member: string
  counts: Map<bigint, number>
}

/** Format: number of the bucket, length of the member's name, the name, then slots and counts. */
function encodeBucket({ bucket, member, counts }: Bucket): Uint8Array {
  const name = new TextEncoder().encode(member)
  const value = new Uint8Array(2 + name.length + counts.size * ENTRY_BYTES)
  value.set([bucket, name.length])
  value.set(name, 2)
  const view = new DataView(value.buffer)
  let at = 2 + name.length
  for (const [slot, count] of counts) {
    view.setBigUint64(at, slot)
    view.setUint32(at + 8, count)
    at += ENTRY_BYTES
  }
  return value
}

export function decodeBucket(value: Uint8Array): Bucket {
  const view = new DataView(value.buffer, value.byteOffset, value.length)
  const counts = new Map<bigint, number>()
  for (let at = entriesAt(value); at < value.length; at += ENTRY_BYTES)
    counts.set(view.getBigUint64(at), view.getUint32(at + 8))
  return { ...decodeOwner(value), counts }
}

const decodeOwner = (value: Uint8Array): Omit<Bucket, 'counts'> => ({
  bucket: value[0] ?? 0,
  member: new TextDecoder().decode(value.subarray(2, entriesAt(value))),
})

const entriesAt = (value: Uint8Array): number => 2 + (value[1] ?? 0)
