/**
 * All event queues: who is told what, in one order that is the same for everybody. It knows no realm: whoever publishes
 * says who is to hear of it and how it looks to one kind of client. Contract section 4, design 7.
 */

import { badRequest, ChatError } from '../base/error.ts'
import {
  acknowledge,
  createQueue,
  type EventBody,
  type Merge,
  type Prepared,
  type Queue,
  type QueueOptions,
  readAll,
} from './queue.ts'
import { createQueueSet, type UserEvent } from './queue-set.ts'
import { readQueue, saveQueue, withoutGone } from './saved-queue.ts'
import type { Shape } from './shapes.ts'

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

interface Batch {
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
  /** Whether he has a queue: whom else nothing tells, nobody need look up what he may be told. */
  hasQueue(userId: number): boolean
  /** What `restore` takes; without the words of messages that are gone. */
  save(isGone: (messageId: number) => boolean): { id: string; json: string }[]
  restore(saved: readonly string[]): void
  /** Drops queues that nobody has polled for as long as they may live. */
  sweep(): void
  readonly size: number
  close(): void
}

/** How events look to clients of older levels. Contract section 8. */
export interface OldEvents {
  /** False for a type that came later. */
  knows(level: number, type: string): boolean
  /** Types of before, of which events of this type may become some. */
  othersOf(level: number, type: string): readonly string[]
  /** What such clients are told instead: nothing, one event, or some. */
  rewrite(
    level: number,
    event: TypedBody,
    about: { shape: Shape; to: Publication['to']; cause: string | undefined },
  ): readonly TypedBody[]
}

type TypedBody = EventBody & { readonly type: string }

interface HubOptions {
  /** Unguessable. */
  newQueueId: () => string
  oldEvents?: OldEvents
  /** Must never jump. */
  nowMs?: () => number
  heartbeatMs?: () => number
}

export function createEventHub({
  newQueueId,
  oldEvents,
  nowMs = () => performance.now(),
  heartbeatMs = () => HEARTBEAT_MS + Math.random() * HEARTBEAT_SPREAD_MS,
}: HubOptions): EventHub {
  const queues = createQueueSet(nowMs)
  const sweeper = setInterval(sweep, SWEEP_MS).unref()

  const knows = ({ shape: { level } }: Queue, type: string): boolean =>
    level === null || oldEvents === undefined || oldEvents.knows(level, type)
  const hearsOther = (queue: Queue, type: string): boolean =>
    queue.shape.level !== null &&
    oldEvents?.othersOf(queue.shape.level, type).some((other) => hears(queue, other)) === true

  function* recipientsOf({ type, to, accepts, alsoPublic, unless }: Publication): Generator<Queue> {
    const wants = (queue: Queue): boolean => {
      if (unless !== undefined && hears(queue, unless) && knows(queue, unless)) return false
      return (hears(queue, type) || hearsOther(queue, type)) && (accepts === undefined || accepts(queue))
    }
    if (to === 'everyone') {
      for (const queue of queues.all()) if (wants(queue)) yield queue
      return
    }
    const told = new Set<number>()
    for (const userId of to) {
      if (told.has(userId)) continue
      told.add(userId)
      for (const queue of queues.ofUser(userId)) if (wants(queue)) yield queue
    }
    if (alsoPublic) for (const queue of queues.ofAllPublic()) if (!told.has(queue.userId) && wants(queue)) yield queue
  }

  function bodiesFor({ type, to, cause, make }: Publication, shape: Shape): readonly TypedBody[] {
    const event = make(shape)
    if (event === null) return []
    const body = { type, ...event }
    if (shape.level === null || oldEvents === undefined) return [body]
    return oldEvents.rewrite(shape.level, body, { shape, to, cause })
  }

  function begin(): Batch {
    const deliveries: Delivery[] = []
    return {
      add(publication) {
        const made = new Map<Shape, readonly Made[]>()
        for (const queue of recipientsOf(publication)) {
          const { shape } = queue
          let known = made.get(shape)
          if (known === undefined) {
            known = bodiesFor(publication, shape).map((body) => ({
              body,
              prepared: { text: JSON.stringify(body), uses: 0 },
            }))
            made.set(shape, known)
          }
          for (const one of known) {
            if (shape.level !== null && !hears(queue, one.body.type)) continue
            deliveries.push({ queue, ...one, tail: tailText(publication.tail?.(queue)), merge: publication.merge })
          }
        }
      },
      deliver() {
        const woken = new Set<Queue>()
        for (const delivery of deliveries) {
          const { queue } = delivery
          if (!queues.has(queue)) continue
          queues.push(queue, delivery)
          if (queue.poll !== null) woken.add(queue)
        }
        queues.makeRoom()
        answer([...woken])
      },
    }
  }

  function answer(woken: readonly Queue[]): void {
    for (const queue of woken.slice(0, ANSWERED_AT_ONCE_MAX))
      if (queue.poll !== null) queues.endPoll(queue, readAll(queue))
    if (woken.length > ANSWERED_AT_ONCE_MAX) setImmediate(answer, woken.slice(ANSWERED_AT_ONCE_MAX))
  }

  function poll(
    queue: Queue,
    lastEventId: number,
    dontBlock: boolean,
    onGone: (listener: () => void) => void,
  ): Promise<string> {
    queues.release(acknowledge(queue, lastEventId))
    queues.endPoll(queue, '[]')
    queue.idleSinceMs = nowMs()
    if (queue.entries.length > 0 || dontBlock) return Promise.resolve(readAll(queue))
    const { promise, resolve } = Promise.withResolvers<string>()
    const beat = (): void => {
      const body = { type: 'heartbeat' }
      queues.push(queue, { body, prepared: { text: JSON.stringify(body), uses: 0 }, tail: '', merge: undefined })
      queues.endPoll(queue, readAll(queue))
    }
    const own = { answer: resolve, timer: setTimeout(beat, heartbeatMs()).unref() }
    queue.poll = own
    onGone(() => {
      if (queue.poll === own) queues.endPoll(queue, '[]')
    })
    return promise
  }

  function save(isGone: (messageId: number) => boolean): { id: string; json: string }[] {
    const kept = new Map<Prepared, string | null>() // queues share events
    const keep = (event: Prepared): string | null => {
      if (!kept.has(event)) kept.set(event, withoutGone(event, isGone))
      return kept.get(event)!
    }
    return Array.from(queues.all(), (queue) => ({ id: queue.id, json: saveQueue(queue, keep) }))
  }

  function sweep(): void {
    const now = nowMs()
    for (const queue of queues.all())
      if (queue.poll === null && now - queue.idleSinceMs > queue.lifespanMs) queues.drop(queue)
  }

  return {
    begin,
    register(options) {
      queues.expectRoom(options.userId)
      const queue = createQueue({ ...options, id: newQueueId() }, nowMs())
      queues.add(queue)
      return queue
    },
    find(id, userId) {
      const queue = queues.get(id)
      if (queue === undefined) throw new ChatError('BAD_EVENT_QUEUE_ID', 'Bad event queue ID', { queue_id: id })
      if (queue.userId !== userId) throw badRequest('You are not authorized to get events from this queue')
      return queue
    },
    poll,
    drop: queues.drop,
    dropQueuesOf(userId) {
      for (const queue of [...queues.ofUser(userId)]) queues.drop(queue)
    },
    endPollsOf(userId) {
      for (const queue of queues.ofUser(userId)) queues.endPoll(queue, '[]')
    },
    queuesOf: queues.ofUser,
    hasQueue: queues.hasAnyOf,
    save,
    restore(saved) {
      for (const text of saved) queues.restore(readQueue(text, nowMs()))
    },
    sweep,
    get size() {
      return queues.size
    },
    close() {
      clearInterval(sweeper)
      for (const queue of queues.all()) queues.endPoll(queue, '[]')
    },
  }
}

const hears = ({ eventTypes }: Queue, type: string): boolean => eventTypes === null || eventTypes.has(type)

/** For all queues of one shape. */
interface Made {
  body: TypedBody
  prepared: Prepared
}

/** What one queue gets. */
interface Delivery extends UserEvent {
  queue: Queue
}

function tailText(tail: EventBody | null | undefined): string {
  if (tail == null) return ''
  const text = JSON.stringify(tail)
  return text === '{}' ? '' : `,${text.slice(1, -1)}`
}
