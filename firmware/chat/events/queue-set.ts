/** Event queues by user, and the bounds on their number and on the total size of their events. */

import { badRequest } from '../base/error.ts'
import {
  append,
  type EventBody,
  isFull,
  lastToMerge,
  type Merge,
  type Prepared,
  type Queue,
  type QueueEntry,
  takeLast,
} from './queue.ts'

const QUEUES_MAX = 20_000
const QUEUES_OF_USER_MAX = 64
const TEXT_TOTAL_MAX = 128 * 1024 * 1024 // characters of undelivered events; each counts once, however many queues share it

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
  /** Throws `BAD_REQUEST` when there are too many queues. If one user has too many, the least recently polled one is dropped. */
  expectRoom(userId: number): void
  add(queue: Queue): void
  restore(queue: Queue): void
  drop(queue: Queue): void
  /** Drops the queue if it is full. */
  push(queue: Queue, event: UserEvent): void
  /** Releases the text of entries that have left a queue. */
  release(entries: readonly QueueEntry[]): void
  /** Drops queues until the total size is within its bound. */
  makeRoom(): void
  endPoll(queue: Queue, events: string): void
  readonly size: number
}

export function createQueueSet(nowMs: () => number): QueueSet {
  const queues = new Map<string, Queue>()
  const byUser = new Map<number, Set<Queue>>()
  const ofAllPublic = new Set<Queue>()
  let textTotal = 0

  function add(queue: Queue): void {
    queues.set(queue.id, queue)
    const own = byUser.get(queue.userId) ?? new Set()
    byUser.set(queue.userId, own.add(queue))
    if (queue.allPublicStreams) ofAllPublic.add(queue)
  }

  function drop(queue: Queue): void {
    if (!queues.delete(queue.id)) return
    const own = byUser.get(queue.userId)
    own?.delete(queue)
    if (own?.size === 0) byUser.delete(queue.userId)
    ofAllPublic.delete(queue)
    release(queue.entries)
    queue.entries = []
    endPoll(queue, '[]')
  }

  function release(entries: readonly QueueEntry[]): void {
    for (const { prepared } of entries) if (--prepared.uses === 0) textTotal -= prepared.text.length
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
      const joined = last === undefined ? body : merge.join(last.merge!.body, body)
      if (last !== undefined) release([takeLast(queue)])
      const own = last === undefined ? prepared : { text: JSON.stringify(joined), uses: 0 }
      hold(own)
      append(queue, { prepared: own, tail, merge: { key: merge.key, body: joined } })
    } else {
      hold(prepared)
      append(queue, { prepared, tail })
    }
    if (isFull(queue)) drop(queue)
  }

  function hold(prepared: Prepared): void {
    if (prepared.uses++ === 0) textTotal += prepared.text.length
  }

  /** Drops the queues with the most text first. */
  function makeRoom(): void {
    while (textTotal > TEXT_TOTAL_MAX) {
      let longest: Queue | undefined
      for (const queue of queues.values()) if (queue.textLength > (longest?.textLength ?? 0)) longest = queue
      if (longest === undefined) return
      drop(longest)
    }
  }

  return {
    has: (queue) => queues.has(queue.id),
    get: (id) => queues.get(id),
    all: () => queues.values(),
    ofUser: (userId) => byUser.get(userId) ?? [],
    hasAnyOf: (userId) => byUser.has(userId),
    ofAllPublic: () => ofAllPublic,
    expectRoom(userId) {
      if (queues.size >= QUEUES_MAX) throw badRequest('Too many event queues')
      const own = byUser.get(userId)
      // The least recently polled queue goes: its client has most likely gone as well.
      if (own !== undefined && own.size >= QUEUES_OF_USER_MAX)
        drop([...own].reduce((oldest, queue) => (isOlder(queue, oldest) ? queue : oldest)))
    },
    add,
    restore(queue) {
      for (const { prepared } of queue.entries) hold(prepared)
      add(queue)
    },
    drop,
    push,
    release,
    makeRoom,
    endPoll,
    get size() {
      return queues.size
    },
  }
}

const isOlder = (a: Queue, b: Queue): boolean =>
  (a.poll === null && b.poll !== null) || ((a.poll === null) === (b.poll === null) && a.idleSinceMs < b.idleSinceMs)
