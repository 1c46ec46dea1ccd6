/**
 * Collections of the key-management service in the store, in the order of backups. Each collection is sealed with its own key. A new
 * collection needs a migration: store/sqlite/schema.ts.
 */

import type { Change as AnyChange, Collections, RecordStore } from '../../store/store.ts'

export const COLLECTIONS = {
  users: { kind: 1 },
  namespaces: { kind: 2 },
  /** Counts of operations: key-counts.ts. */
  counts: { kind: 7 },
  keys: { kind: 3 },
  privateKeys: { kind: 4 },
  certificates: { kind: 5 },
  /** The backup key and quotas. */
  configuration: { kind: 6 },
} as const satisfies Collections

export type Collection = keyof typeof COLLECTIONS
export const COLLECTION_NAMES = Object.keys(COLLECTIONS) as readonly Collection[]

export type RecordChange = AnyChange<Collection>
export type Records = RecordStore<Collection>
