/** What the domain knows of the disk: named records in collections, changed in atomic, durable batches. */

import { join } from 'node:path'

/** Each collection is sealed with a key of its own. */
export const COLLECTIONS = ['users', 'namespaces', 'keys', 'privateKeys', 'certificates', 'configuration'] as const
export type Collection = (typeof COLLECTIONS)[number]

export interface Change {
  collection: Collection
  /** Unique in its collection: an ID, or `namespace/ID` for what lives in a namespace. Never on disk in clear. */
  name: string
  /** The new value, or null to remove the record. */
  value: Uint8Array | null
}

export interface RecordStore {
  /** The opened value, or null. Throws `storage` when the record is damaged or out of its place. */
  get(collection: Collection, name: string): Uint8Array | null
  /** Every intact record of a collection, in no order. Damaged ones are logged and remembered for `isDamaged`. */
  list(collection: Collection): Iterable<Uint8Array>
  /** True when `list` met a damaged record under this name: it must neither be reported missing nor overwritten. */
  isDamaged(collection: Collection, name: string): boolean
  /** All changes in one transaction, on disk when it returns. Throws `storage`, then nothing has changed. */
  commit(changes: readonly Change[]): void
}

/** A record as it lies on disk. */
export interface Row {
  /** 63 bits. */
  slot: bigint
  sealed: Uint8Array
}

export const storePath = (dataDirectory: string): string => join(dataDirectory, 'store.db')

/** What the rooms above know of the store's file. */
export interface StoreFile {
  /**
   * Runs the changes in one transaction, on disk when it returns. Throws `storage`, or what the request is refused with
   * that is admitted no longer; then nothing has changed.
   */
  transaction(changes: () => void): void
  /**
   * The same for the audit log, which no claim stops, and whose rows need not leave the log of SQLite soon. Not `synced`
   * they survive the end of the process at once, and a power cut with the next transaction that is.
   */
  record(changes: () => void, synced: boolean): void
  /** Nobody else changes anything until it is released: they get `busy`, as does who claims it a second time. */
  claim(): Claim
  /** Transactions since the start, for the metrics. */
  readonly writes: number
  /** Moves the log into the database, so that nothing removed or replaced is left in it; tries again while it cannot. */
  checkpoint(): void
  close(): void
}

export interface Claim {
  /** That of the store, for who claimed it. */
  transaction(changes: (rows: Rows) => void): void
  release(): void
}

/** Records that come as they lie on disk: those of a backup. */
export interface Rows {
  clear(collection: Collection): void
  insert(collection: Collection, row: Row): void
}
