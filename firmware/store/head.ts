/**
 * The head of the store: the number of the last change, and the set of records of each collection after it. It is sealed by the
 * domain key and written with every change, so that an older record that is put back, or one that is taken away, is found out.
 */

import { utf8ToBytes } from '@noble/hashes/utils.js'
import { CofferError } from '../base/error.ts'
import type { Random } from '../crypto/random.ts'
import { emptySet, type RecordSet } from './record-set.ts'
import { createSealedTable } from './sealed-table.ts'
import { HEADS, type StoreFile } from './store.ts'

const FORMAT = 1
const NAME = 'head'

export interface Head {
  /** Number of the last change. */
  n: number
  sets: Map<string, RecordSet>
}

/** As JSON. */
export interface StoredHead {
  format: number
  n: number
  /** By collection: number of records, and the sum in base 64. */
  sets: Record<string, readonly [number, string]>
}

export interface HeadRow {
  /** Null where no change was made yet. Throws `storage` when it is damaged. */
  read(): Head | null
  /** Call within a transaction. */
  put(head: Head): void
  /** Wipes the keys. */
  close(): void
}

export function openHead(store: StoreFile, domainKey: Uint8Array, random: Random): HeadRow {
  const table = createSealedTable(store, HEADS, domainKey, random, () => {})
  return {
    read() {
      const value = table.get(NAME)
      return value === null ? null : headOf(JSON.parse(new TextDecoder().decode(value)) as StoredHead)
    },
    put: (head) => void table.put(NAME, utf8ToBytes(JSON.stringify(storedHead(head))), head.n),
    close: table.close,
  }
}

export const setOf = ({ sets }: Head, collection: string): RecordSet => {
  const known = sets.get(collection)
  if (known !== undefined) return known
  const set = emptySet()
  sets.set(collection, set)
  return set
}

export function storedHead({ n, sets }: Head): StoredHead {
  const entries = [...sets].map(([name, { count, sum }]) => [name, [count, Buffer.from(sum.buffer).toString('base64')]])
  return { format: FORMAT, n, sets: Object.fromEntries(entries) }
}

/** Throws `storage` where newer software has written it. */
export function headOf({ format, n, sets }: StoredHead): Head {
  if (format !== FORMAT)
    throw new CofferError('storage', 'The records of the store are of newer software: start a newer version of Coffer')
  const decoded = Object.entries(sets).map(
    ([name, [count, sum]]) =>
      [name, { count, sum: new Int32Array(new Uint8Array(Buffer.from(sum, 'base64')).buffer) }] as const,
  )
  return { n, sets: new Map(decoded) }
}
