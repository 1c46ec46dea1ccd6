/**
 * Items of a bounded store by the sender who caused them. A full store loses the oldest item of the sender with most of them, so a sender
 * who fills it loses only own items (longest queue drop: Suter, Lakshman, Stiliadis and Choudhury, "Design considerations for supporting
 * TCP with per-flow queueing", 1998).
 */

interface SenderShares<T> {
  readonly size: number
  countOf(senderId: number): number
  add(senderId: number, item: T): void
  remove(senderId: number, item: T): void
  /** Oldest item that may go, of the sender with most items. */
  leastFair(mayGo: (item: T) => boolean): T | undefined
}

export function createSenderShares<T>(): SenderShares<T> {
  /** Oldest first. */
  const itemsOf = new Map<number, Set<T>>()
  let size = 0
  return {
    get size() {
      return size
    },
    countOf: (senderId) => itemsOf.get(senderId)?.size ?? 0,
    add(senderId, item) {
      const own = itemsOf.get(senderId)
      if (own === undefined) itemsOf.set(senderId, new Set([item]))
      else own.add(item)
      size++
    },
    remove(senderId, item) {
      const own = itemsOf.get(senderId)
      if (!own?.delete(item)) return
      if (own.size === 0) itemsOf.delete(senderId)
      size--
    },
    leastFair(mayGo) {
      let most: ReadonlySet<T> = new Set()
      for (const own of itemsOf.values()) if (own.size > most.size) most = own
      for (const item of most) if (mayGo(item)) return item
      return undefined
    },
  }
}
