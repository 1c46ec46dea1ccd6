/**
 * All event queues: who is told what, in one order that is the same for everybody. It knows no realm: whoever publishes
 * says who is to hear of it and how it looks to one kind of client. Contract section 4, design 7.
 */

import { badRequest, ChatError } from '../error.ts'
import {
  acknowledge,
  append,
  createQueue,
  type Entry,
  type EventBody,
  isFull,
  lastToMerge,
  type Merge,
  type Prepared,
  type Queue,
  type QueueOptions,
  readAll,
  takeLast,
} from './queue.ts'
import { internShape, type Shape } from './shapes.ts'

const QUEUES_MAX = 20_000
const QUEUES_OF_USER_MAX = 64
const TEXT_TOTAL_MAX = 128 * 1024 * 1024 // characters of events that wait; each is counted once, however many queues have it
const ANSWERED_AT_ONCE_MAX = 64 // polls in one turn: a tenth of a millisecond each, and other requests wait meanwhile
const SWEEP_MS = 60_000
const HEARTBEAT_MS = 45_000
const HEARTBEAT_SPREAD_MS = 10_000

export interface Publication {
  readonly type: string
  /** User ids, or every queue there is. */
  readonly to: Iterable<number> | 'everyone'
  /** The event without its id, as clients of one shape see it; null for shapes that do not hear of it. */
  make(shape: Shape): EventBody | null
  /** Members that differ from queue to queue; they stand at the end. */
  tail?(queue: QueueOptions): EventBody | null
  /** Asked for each queue of `to`: narrows of a registration. */
  accepts?(queue: QueueOptions): boolean
  /** Also to queues that asked for all public channels and pass `accepts`. */
  readonly alsoPublic?: boolean
  /** Not to queues that hear of this type. */
  readonly unless?: string
  readonly merge?: Merge
  /** Why, where gates of old levels ask for it: contract section 8.1. */
  readonly cause?: string
}

export interface Batch {
  add(publication: Publication): void
  deliver(): void
}

export interface EventHub {
  /** Events of one change: made when they are added, in the queues when it is delivered. */
  begin(): Batch
  register(options: Omit<QueueOptions, 'id'>): Queue
  /** Throws `BAD_EVENT_QUEUE_ID`, and `BAD_REQUEST` for a queue of somebody else. */
  find(id: string, userId: number): Queue
  /** A JSON list of events, at once or when there are any. */
  poll(queue: Queue, lastEventId: number, dontBlock: boolean, onGone: (listener: () => void) => void): Promise<string>
  drop(queue: Queue): void
  dropQueuesOf(userId: number): void
  /** Ends polls with an empty list; the queues stay. For keys that are revoked: whoever asked with one must not wait on. */
  endPollsOf(userId: number): void
  queuesOf(userId: number): Iterable<Queue>
  /** What `restore` takes. */
  save(): { id: string; json: string }[]
  restore(saved: readonly string[]): void
  /** Drops queues that nobody has polled for as long as they may live. */
  sweep(): void
  readonly size: number
  close(): void
}

export interface HubOptions {
  /** Unguessable. */
  newQueueId: () => string
  /** Must never jump. */
  nowMs?: () => number
  heartbeatMs?: () => number
}

export function createEventHub({
  newQueueId,
  nowMs = () => performance.now(),
  heartbeatMs = () => HEARTBEAT_MS + Math.random() * HEARTBEAT_SPREAD_MS,
}: HubOptions): EventHub {
  const queues = new Map<string, Queue>()
  const byUser = new Map<number, Set<Queue>>()
  const ofAllPublic = new Set<Queue>()
  let textTotal = 0
  const sweeper = setInterval(sweep, SWEEP_MS).unref()

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

  function release(entries: readonly Entry[]): void {
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

  function push(queue: Queue, { prepared, tail, merge, body }: Delivery): void {
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

  /** Of those that nobody reads the longest first: they hold what all others have taken. */
  function makeRoom(): void {
    while (textTotal > TEXT_TOTAL_MAX) {
      let longest: Queue | undefined
      for (const queue of queues.values()) if (queue.textLength > (longest?.textLength ?? 0)) longest = queue
      if (longest === undefined) return
      drop(longest)
    }
  }

  function* recipients({ type, to, accepts, alsoPublic, unless }: Publication): Generator<Queue> {
    const wants = (queue: Queue): boolean => {
      const { eventTypes } = queue
      if (unless !== undefined && (eventTypes === null || eventTypes.has(unless))) return false
      return (eventTypes === null || eventTypes.has(type)) && (accepts === undefined || accepts(queue))
    }
    if (to === 'everyone') {
      for (const queue of queues.values()) if (wants(queue)) yield queue
      return
    }
    const told = new Set<number>()
    for (const userId of to) {
      if (told.has(userId)) continue
      told.add(userId)
      for (const queue of byUser.get(userId) ?? []) if (wants(queue)) yield queue
    }
    if (alsoPublic) for (const queue of ofAllPublic) if (!told.has(queue.userId) && wants(queue)) yield queue
  }

  function begin(): Batch {
    const deliveries: Delivery[] = []
    return {
      add(publication) {
        const made = new Map<Shape, { body: EventBody; prepared: Prepared } | null>()
        for (const queue of recipients(publication)) {
          let known = made.get(queue.shape)
          if (known === undefined) {
            const event = publication.make(queue.shape)
            const body = event === null ? null : { type: publication.type, ...event }
            known = body === null ? null : { body, prepared: { text: JSON.stringify(body), uses: 0 } }
            made.set(queue.shape, known)
          }
          if (known === null) continue
          deliveries.push({ queue, ...known, tail: tailText(publication.tail?.(queue)), merge: publication.merge })
        }
      },
      deliver() {
        const woken = new Set<Queue>()
        for (const delivery of deliveries) {
          const { queue } = delivery
          if (!queues.has(queue.id)) continue
          push(queue, delivery)
          if (queue.poll !== null) woken.add(queue)
        }
        makeRoom()
        answer([...woken])
      },
    }
  }

  function answer(woken: readonly Queue[]): void {
    for (const queue of woken.slice(0, ANSWERED_AT_ONCE_MAX)) if (queue.poll !== null) endPoll(queue, readAll(queue))
    if (woken.length > ANSWERED_AT_ONCE_MAX) setImmediate(answer, woken.slice(ANSWERED_AT_ONCE_MAX))
  }

  function poll(
    queue: Queue,
    lastEventId: number,
    dontBlock: boolean,
    onGone: (listener: () => void) => void,
  ): Promise<string> {
    release(acknowledge(queue, lastEventId))
    endPoll(queue, '[]')
    queue.idleSinceMs = nowMs()
    if (queue.entries.length > 0 || dontBlock) return Promise.resolve(readAll(queue))
    const { promise, resolve } = Promise.withResolvers<string>()
    const beat = (): void => {
      const body = { type: 'heartbeat' }
      push(queue, { queue, body, prepared: { text: JSON.stringify(body), uses: 0 }, tail: '', merge: undefined })
      endPoll(queue, readAll(queue))
    }
    const own = { answer: resolve, timer: setTimeout(beat, heartbeatMs()).unref() }
    queue.poll = own
    onGone(() => {
      if (queue.poll === own) endPoll(queue, '[]')
    })
    return promise
  }

  function sweep(): void {
    const now = nowMs()
    for (const queue of queues.values())
      if (queue.poll === null && now - queue.idleSinceMs > queue.lifespanMs) drop(queue)
  }

  return {
    begin,
    register(options) {
      if (queues.size >= QUEUES_MAX) throw badRequest('Too many event queues')
      const own = byUser.get(options.userId)
      // The one that nobody has polled for the longest goes: most likely its client has gone as well.
      if (own !== undefined && own.size >= QUEUES_OF_USER_MAX)
        drop([...own].reduce((oldest, queue) => (isOlder(queue, oldest) ? queue : oldest)))
      const queue = createQueue({ ...options, id: newQueueId() }, nowMs())
      add(queue)
      return queue
    },
    find(id, userId) {
      const queue = queues.get(id)
      if (queue === undefined) throw new ChatError('BAD_EVENT_QUEUE_ID', 'Bad event queue ID', { queue_id: id })
      if (queue.userId !== userId) throw badRequest('You are not authorized to get events from this queue')
      return queue
    },
    poll,
    drop,
    dropQueuesOf(userId) {
      for (const queue of [...(byUser.get(userId) ?? [])]) drop(queue)
    },
    endPollsOf(userId) {
      for (const queue of byUser.get(userId) ?? []) endPoll(queue, '[]')
    },
    queuesOf: (userId) => byUser.get(userId) ?? [],
    save: () =>
      queues
        .values()
        .map((queue) => ({ id: queue.id, json: saveQueue(queue) }))
        .toArray(),
    restore(saved) {
      for (const text of saved) {
        const queue = readQueue(text, nowMs())
        for (const { prepared } of queue.entries) hold(prepared)
        add(queue)
      }
    },
    sweep,
    get size() {
      return queues.size
    },
    close() {
      clearInterval(sweeper)
      for (const queue of queues.values()) endPoll(queue, '[]')
    },
  }
}

interface Delivery {
  queue: Queue
  body: EventBody
  prepared: Prepared
  tail: string
  merge: Merge | undefined
}

const isOlder = (a: Queue, b: Queue): boolean =>
  (a.poll === null && b.poll !== null) || ((a.poll === null) === (b.poll === null) && a.idleSinceMs < b.idleSinceMs)

function tailText(tail: EventBody | null | undefined): string {
  if (tail == null) return ''
  const text = JSON.stringify(tail)
  return text === '{}' ? '' : `,${text.slice(1, -1)}`
}

/** Nothing can be merged into an entry any more: whoever took it may have been cut off before he said so. */
function saveQueue(queue: Queue): string {
  const { id, userId, shape, allPublicStreams, narrow, clientName, lifespanMs, nextId, prunedId } = queue
  const eventTypes = queue.eventTypes === null ? null : [...queue.eventTypes]
  const entries = queue.entries.map(({ id, prepared, tail }) => [id, prepared.text, tail] as const)
  return JSON.stringify({
    id,
    userId,
    shape,
    eventTypes,
    allPublicStreams,
    narrow,
    clientName,
    lifespanMs,
    nextId,
    prunedId,
    entries,
  })
}

type SavedQueue = Pick<Queue, 'id' | 'userId' | 'shape' | 'allPublicStreams' | 'narrow' | 'clientName' | 'lifespanMs'> &
  Pick<Queue, 'nextId' | 'prunedId'> & { eventTypes: string[] | null; entries: [number, string, string][] }

function readQueue(text: string, nowMs: number): Queue {
  const { entries, nextId, prunedId, ...options } = JSON.parse(text) as SavedQueue
  const eventTypes = options.eventTypes === null ? null : new Set(options.eventTypes)
  const queue = createQueue({ ...options, eventTypes, shape: internShape(options.shape) }, nowMs)
  const held = entries.map(([id, text, tail]) => ({ id, prepared: { text, uses: 0 }, tail }))
  const textLength = entries.reduce((sum, [, text, tail]) => sum + text.length + tail.length, 0)
  return Object.assign(queue, { nextId, prunedId, sentId: nextId - 1, entries: held, textLength })
}
