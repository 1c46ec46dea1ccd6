/** Iterators that stand between a source and its reader. */

/**
 * The same pieces; `see` is called with each, and with the end. Throws what it throws. Who leaves it, leaves the source, also
 * before the first piece was asked for: a generator between them would not have begun then, and do nothing.
 */
export function passOn<T>(source: AsyncIterable<T>, see: (result: IteratorResult<T>) => void): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]: () => {
      const pieces = source[Symbol.asyncIterator]()
      return {
        async next() {
          const result = await pieces.next()
          try {
            see(result)
          } catch (error) {
            await pieces.return?.()
            throw error
          }
          return result
        },
        async return() {
          await pieces.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/** Deletes the entry that was added first, if any. */
export function deleteOldest<Key>(entries: { keys(): Iterable<Key>; delete(key: Key): boolean }): void {
  for (const key of entries.keys()) {
    entries.delete(key)
    return
  }
}
