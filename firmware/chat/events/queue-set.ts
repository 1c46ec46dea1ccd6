/** Event queues by user, and the bounds on their number and on their memory. */

import { defined } from '../../base/defined.ts'
import {
  append,
  type EventBody,
  entryBytes,
  fullBytes,
  isFull,
  lastToMerge,
  type Merge,
  type Prepared,
  type Queue,
  type QueueEntry,
  takeLast,
  textBytes,
} from './queue.ts'

const QUEUES_MAX = 20_000
const QUEUES_OF_USER_MAX = 64
const SHARE_LEFT = 7 / 8 // of the bound, after room was made: queues are then sorted once for many events

export interface UserEvent {
  body: EventBody
  prepared: Prepared
  tail: string
  merge: Merge | undefined
}

interface QueueSet {
  has(queue: Queue): boolean
  get(id: string): Queue | undefined
  all(): Iterable<Queue>
  ofUser(userId: number): Iterable<Queue>
  hasAnyOf(userId: number): boolean
  /** Queues that registered for all public channels. */
  ofAllPublic(): Iterable<Queue>
  /**
   * Each queue stands at the sum of its owner's queues up to its own size. Taken from the start, every owner gets the same share;
   * dropped from the end, room always comes from the owner with most.
   */
  inFairOrder(): Queue[]
  /** Drops the least recently polled queue of a user with too many, and of the owner with most if there are too many in all. */
  makeRoomFor(userId: number): void
  add(queue: Queue): void
  restore(queue: Queue): void
  /** Replaces the text of each event in a queue, except mergeable ones, by what `change` returns for it. */
  revise(change: (text: string) => string): void
  drop(queue: Queue): void
  /** Drops the queue if it is full, and others if all together are too large. */
  push(queue: Queue, event: UserEvent): void
  /** Subtracts the memory of entries that have left a queue. */
  release(entries: readonly QueueEntry[]): void
  endPoll(queue: Queue, events: string): void
  readonly size: number
}

interface QueueSetOptions {
  nowMs: () => number
  /** Bounds the memory of all queues. A text counts once, however many queues share it. */
  bytesMax: number
  /** The user to whom a user's queues are charged: for a bot its owner. */
  ownerOf: (userId: number) => number
}

export function createQueueSet({ nowMs, bytesMax, ownerOf }: QueueSetOptions): QueueSet {
  const queues = new Map<string, Queue>()
  const byUser = new Map<number, Set<Queue>>()
  const ofAllPublic = new Set<Queue>()
  let bytes = 0

  function add(queue: Queue): void {
    bytes += queue.ownBytes
    queues.set(queue.id, queue)
    const own = byUser.get(queue.userId) ?? new Set()
    byUser.set(queue.userId, own.add(queue))
    if (queue.allPublicStreams) ofAllPublic.add(queue)
    makeRoom()
  }

  function drop(queue: Queue): void {
    if (!queues.delete(queue.id)) return
    const own = byUser.get(queue.userId)
    own?.delete(queue)
    if (own?.size === 0) byUser.delete(queue.userId)
    ofAllPublic.delete(queue)
    bytes -= queue.ownBytes
    for (const { prepared } of queue.entries) releaseText(prepared)
    queue.entries = []
    endPoll(queue, '[]')
  }

  function release(entries: readonly QueueEntry[]): void {
    for (const entry of entries) {
      bytes -= entryBytes(entry)
      releaseText(entry.prepared)
    }
  }

  function endPoll(queue: Queue, events: string): void {
    const { poll } = queue
    if (poll === null) return
    clearTimeout(poll.timer)
    queue.poll = null
    queue.idleSinceMs = nowMs()
    poll.answer(events)
  }

  function push(queue: Queue, { prepared, tail, merge, body }: UserEvent): void {
    if (merge !== undefined) {
      const last = lastToMerge(queue, merge.key)
      const joined = last === undefined ? body : merge.join(defined(last.merge).body, body)
      if (last !== undefined) release([takeLast(queue)])
      const own = last === undefined ? prepared : { text: JSON.stringify(joined), uses: 0 }
      hold(queue, { prepared: own, tail, merge: { key: merge.key, body: joined } })
    } else hold(queue, { prepared, tail })
    if (isFull(queue)) drop(queue)
    else makeRoom()
  }

  function hold(queue: Queue, entry: Omit<QueueEntry, 'id'>): void {
    append(queue, entry)
    bytes += entryBytes(entry)
    holdText(entry.prepared)
  }

  function holdText(prepared: Prepared): void {
    if (prepared.uses++ === 0) bytes += textBytes(prepared.text)
  }

  function releaseText(prepared: Prepared): void {
    if (--prepared.uses === 0) bytes -= textBytes(prepared.text)
  }

  function makeRoom(): void {
    if (bytes <= bytesMax) return
    for (const queue of inFairOrder().reverse()) {
      if (bytes <= bytesMax * SHARE_LEFT) return
      drop(queue)
    }
  }

  function inFairOrder(): Queue[] {
    const sums = new Map<number, number>() // by owner
    return [...queues.values()]
      .sort((a, b) => fullBytes(a) - fullBytes(b) || compareIdle(a, b))
      .map((queue) => {
        const owner = ownerOf(queue.userId)
        const sum = (sums.get(owner) ?? 0) + fullBytes(queue)
        sums.set(owner, sum)
        return { queue, sum }
      })
      .sort((a, b) => a.sum - b.sum || compareIdle(a.queue, b.queue))
      .map(({ queue }) => queue)
  }

  /** The least recently polled queue of a user or owner has most likely lost its client. */
  function makeRoomFor(userId: number): void {
    const own = [...(byUser.get(userId) ?? [])]
    if (own.length >= QUEUES_OF_USER_MAX) drop(leastRecent(own))
    if (queues.size < QUEUES_MAX) return
    const groups = [...Map.groupBy(queues.values(), (queue) => ownerOf(queue.userId)).values()]
    const most = Math.max(...groups.map(({ length }) => length))
    drop(leastRecent(groups.filter(({ length }) => length === most).map(leastRecent)))
  }

  function revise(change: (text: string) => string): void {
    const grown = new Map<Prepared, number>() // characters; queues share events
    for (const queue of queues.values())
      for (const { prepared, merge } of queue.entries) {
        if (merge !== undefined) continue // its body would bring the former text back
        if (!grown.has(prepared)) {
          const before = prepared.text
          prepared.text = change(before)
          grown.set(prepared, prepared.text.length - before.length)
          bytes += textBytes(prepared.text) - textBytes(before)
        }
        queue.textLength += defined(grown.get(prepared))
      }
    makeRoom()
  }

  return {
    has: (queue) => queues.has(queue.id),
    get: (id) => queues.get(id),
    all: () => queues.values(),
    ofUser: (userId) => byUser.get(userId) ?? [],
    hasAnyOf: (userId) => byUser.has(userId),
    ofAllPublic: () => ofAllPublic,
    inFairOrder,
    makeRoomFor,
    add,
    restore(queue) {
      for (const { prepared } of queue.entries) holdText(prepared)
      add(queue)
    },
    revise,
    drop,
    push,
    release,
    endPoll,
    get size() {
      return queues.size
    },
  }
}

const isOlder = (a: Queue, b: Queue): boolean =>
  (a.poll === null && b.poll !== null) || ((a.poll === null) === (b.poll === null) && a.idleSinceMs < b.idleSinceMs)

/** Positive if `a` is the less recently polled one. */
const compareIdle = (a: Queue, b: Queue): number => Number(isOlder(a, b)) - Number(isOlder(b, a))

const leastRecent = (queues: readonly Queue[]): Queue =>
  queues.reduce((oldest, queue) => (isOlder(queue, oldest) ? queue : oldest))
