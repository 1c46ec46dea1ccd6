/** Records of one kind in memory, with indexes that are updated together with the records. */

export type Key = string | number

type Listener<T> = (before: T | undefined, after: T | undefined) => void

export interface RecordCollection<T> {
  get(key: Key): T | undefined
  /** Throws if there is no such record: for keys that other records hold. */
  require(key: Key): T
  has(key: Key): boolean
  all(): Iterable<T>
  readonly size: number
}

export interface MutableCollection<T> extends RecordCollection<T> {
  /** Returns the previous record. An undefined `record` deletes. */
  set(key: Key, record: T | undefined): T | undefined
  listen(listener: Listener<T>): void
}

export function createCollection<T>(name = 'record'): MutableCollection<T> {
  const records = new Map<Key, T>()
  const listeners: Listener<T>[] = []
  return {
    get: (key) => records.get(key),
    require(key) {
      const record = records.get(key)
      if (record === undefined) throw new Error(`No ${name} ${key}`)
      return record
    },
    has: (key) => records.has(key),
    all: () => records.values(),
    get size() {
      return records.size
    },
    set(key, record) {
      const before = records.get(key)
      if (record === undefined) records.delete(key)
      else records.set(key, record)
      for (const listener of listeners) listener(before, record)
      return before
    },
    listen: (listener) => void listeners.push(listener),
  }
}

export interface Index<K, T> {
  get(key: K): T | undefined
}

/** Holds at most one record per key. Records with the key null are left out. */
export function indexBy<K, T>(collection: MutableCollection<T>, keyOf: (record: T) => K | null): Index<K, T> {
  const index = new Map<K, T>()
  collection.listen((before, after) => {
    const old = before === undefined ? null : keyOf(before)
    if (old !== null && index.get(old) === before) index.delete(old)
    const key = after === undefined ? null : keyOf(after)
    if (after !== undefined && key !== null) index.set(key, after)
  })
  return index
}

export interface GroupIndex<K, M, T> {
  get(key: K): ReadonlyMap<M, T>
}

const NONE = new Map()

/** Holds any number of records per key. `memberOf` tells them apart. */
export function groupBy<K, M, T>(
  collection: MutableCollection<T>,
  keyOf: (record: T) => K | null,
  memberOf: (record: T) => M,
): GroupIndex<K, M, T> {
  const groups = new Map<K, Map<M, T>>()
  collection.listen((before, after) => {
    const old = before === undefined ? null : keyOf(before)
    const key = after === undefined ? null : keyOf(after)
    if (old !== null && old !== key) {
      const group = groups.get(old)
      if (before !== undefined) group?.delete(memberOf(before))
      if (group?.size === 0) groups.delete(old)
    }
    if (after === undefined || key === null) return
    let group = groups.get(key)
    if (group === undefined) {
      group = new Map()
      groups.set(key, group)
    }
    group.set(memberOf(after), after)
  })
  return { get: (key) => groups.get(key) ?? NONE }
}
