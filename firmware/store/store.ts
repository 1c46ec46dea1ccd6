/** What the domain knows of the disk: named records in collections, changed in atomic, durable batches. */

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
