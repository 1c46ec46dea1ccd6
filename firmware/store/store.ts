/** The store as the domain sees it: named records in collections, changed in atomic, durable batches. */

import { join } from 'node:path'

/** Collections that a service declares. `kind` marks their rows in a backup; a number is never given twice. */
export type Collections = Readonly<Record<string, { kind: number }>>

/** The table beside those of the collections that says what they hold: head.ts. */
export const HEADS = 'heads'

export interface Change<C extends string = string> {
  collection: C
  /** Unique in its collection: an ID, or `namespace/ID` for what lives in a namespace. Never on disk in clear. */
  name: string
  /** The new value, or null to remove the record. */
  value: Uint8Array | null
}

export interface Decision<T, C extends string = string> {
  changes: readonly Change<C>[]
  /** The caller gets it once the changes are on disk. */
  result: T
  /** Changes to the device area in the same transaction; only where no other node holds the records. */
  withinTransaction?: () => void
  /** One of many that touch much of the file: it is moved there from the log at once, since all of them would take long. */
  isBulk?: boolean
}

export interface StoredRecord {
  readonly value: Uint8Array
  /** The number of the change that wrote it; 0 where it is from before changes had numbers. */
  readonly n: number
  /** Where it lies: 63 bits that are the same for the same name. */
  readonly slot: bigint
}

/**
 * Called for a record that was added, replaced or removed (`after` is null). `before` is null also for a record that was damaged,
 * possibly after followers were told of it: they know it by the id in `after`, or by its slot where both are null.
 */
export type Applied = (before: StoredRecord | null, after: StoredRecord | null, slot: bigint) => void

/** `C`: the collections that its user knows. */
export interface RecordStore<C extends string = string> {
  /** Drawn anew when the records are replaced by others: with it the number of a change names one state of a record for ever. */
  readonly generation: string
  /** The opened value, or null. Throws `storage` when the record is damaged or out of its place. */
  get(collection: C, name: string): Uint8Array | null
  /** Every intact record of a collection, in no order. Damaged ones are logged and remembered for `isDamaged`. */
  list(collection: C): Iterable<Uint8Array>
  /**
   * Calls `applied` with every intact record of a collection, in no order, whose value is valid for the call, and then on every
   * change, in the turn in which it is made. A change that does not reach the disk is applied backwards, with the same objects,
   * before anybody has seen it. Throws `storage` when the records are not those of the last change.
   */
  follow(collection: C, applied: Applied): void
  /** True when a damaged record lies under this name: it must neither be reported missing nor overwritten. */
  isDamaged(collection: C, name: string): boolean
  slotOf(collection: C, name: string): bigint
  /**
   * `decide` sees everything as it is, throws what is to be answered, and may run again. Its changes are on disk, all or none,
   * when the promise is fulfilled. Values may be wiped from then on. Throws `storage`, then nothing has changed.
   */
  change<T>(decide: () => Decision<T, C>): Promise<T>
}

/** A record as it lies on disk. */
export interface Row {
  /** 63 bits. */
  slot: bigint
  sealed: Uint8Array
}

export const storePath = (dataDirectory: string): string => join(dataDirectory, 'store.db')

/** The store's file as the folders above see it. */
export interface StoreFile {
  /**
   * Runs the changes in one transaction, on disk when it returns. Throws `storage`, or what the request is refused with
   * that is admitted no longer; then nothing has changed.
   */
  transaction(changes: () => void): void
  /**
   * The same for the last write before the records are closed, which no claim stops: code that replaces records checks in the same
   * turn that they are still open.
   */
  lastTransaction(changes: () => void): void
  /**
   * The same for the audit log, which no claim stops, and whose rows need not leave the log of SQLite soon. Not `synced`
   * they survive the end of the process at once, and a power cut with the next transaction that is.
   */
  record(changes: () => void, synced: boolean): void
  /**
   * The same for changes that are on disk elsewhere, and come again should they be lost here: no claim stops them, they survive a
   * power cut with the next transaction that is synced, and what they replace soon leaves the log of SQLite.
   */
  adopt(changes: () => void): void
  /** Nobody else changes anything until it is released: they get `busy`, as does who claims it a second time. */
  lockStore(): ExclusiveAccess
  /** In free pages of the file, which new records are written to before the file grows. Throws `storage`. */
  readonly reusableBytes: number
  /** Transactions since the start, for the metrics. */
  readonly writes: number
  /** Moves the log into the database, so that nothing removed or replaced is left in it; tries again while it cannot. */
  checkpoint(): void
  close(): void
}

interface ExclusiveAccess {
  /** A transaction of the store for the holder of the claim; it starts another generation of records. */
  transaction(changes: (rows: Rows) => void): void
  release(): void
}

/** Records that come as they lie on disk: those of a backup. */
export interface Rows {
  /** `table`: a collection, or `HEADS`. */
  clear(table: string): void
  insert(table: string, row: Row): void
}
