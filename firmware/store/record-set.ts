/**
 * Proves that a collection has exactly the records of its last change: their number, and the XOR of a keyed hash of each row.
 * A change costs two hashes, and without the key nobody can find other rows with the same result.
 * MSet-XOR-Hash: Clarke, Devadas, van Dijk, Gassend and Suh, "Incremental Multiset Hash Functions and Their Application to
 * Memory Integrity Checking", 2003.
 */

import { createMac, MAC_BYTES } from '../crypto/mac.ts'
import { deriveSealKey } from '../crypto/seal.ts'

export interface RecordSet {
  count: number
  /** 32 bytes, four at once. */
  readonly sum: Int32Array
}

const WORDS = MAC_BYTES / 4

export const emptySet = (): RecordSet => ({ count: 0, sum: new Int32Array(WORDS) })

const NONE = emptySet()

export const isSameSet = (a: RecordSet, b: RecordSet): boolean =>
  a.count === b.count && a.sum.every((word, at) => word === b.sum[at])

/** Collections that one does not know and the other has none of are no difference. */
export const areSameSets = (a: ReadonlyMap<string, RecordSet>, b: ReadonlyMap<string, RecordSet>): boolean =>
  [...new Set([...a.keys(), ...b.keys()])].every((name) => isSameSet(a.get(name) ?? NONE, b.get(name) ?? NONE))

function addTo(sum: Int32Array, other: Int32Array): void {
  for (let at = 0; at < WORDS; at++) sum[at] = (sum[at] ?? 0) ^ (other[at] ?? 0)
}

/** Merged into `b`, it gives `a`. */
export function differenceOf(a: RecordSet, b: RecordSet): RecordSet {
  const difference = { count: a.count - b.count, sum: a.sum.slice() }
  addTo(difference.sum, b.sum)
  return difference
}

export function merge(set: RecordSet, { count, sum }: RecordSet): void {
  set.count += count
  addTo(set.sum, sum)
}

/** Adds rows of one collection to sets, and takes them away. */
export interface SetHash {
  add(set: RecordSet, slot: bigint, sealed: Uint8Array): void
  remove(set: RecordSet, slot: bigint, sealed: Uint8Array): void
  /** Wipes the key. */
  close(): void
}

export function createSetHash(collection: string, secret: Uint8Array): SetHash {
  const mac = createMac(deriveSealKey(secret, `coffer ${collection} set`))
  const slotBytes = new DataView(new ArrayBuffer(8))
  const slotView = new Uint8Array(slotBytes.buffer)
  const toggle = ({ sum }: RecordSet, slot: bigint, sealed: Uint8Array): void => {
    slotBytes.setBigInt64(0, slot)
    addTo(sum, mac.of(slotView, sealed))
  }
  return {
    add(set, slot, sealed) {
      toggle(set, slot, sealed)
      set.count++
    },
    remove(set, slot, sealed) {
      toggle(set, slot, sealed)
      set.count--
    },
    close: mac.close,
  }
}
