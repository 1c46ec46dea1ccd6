/**
 * All event queues. Every queue gets its events in the same order. The hub knows nothing of the realm: a publication names its recipients
 * and renders itself for each shape of client. Contract section 4.
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

const ANSWERED_AT_ONCE_MAX = 64 // polls answered before other requests get a turn: each takes a tenth of a millisecond
const SWEEP_MS = 60_000
const HEARTBEAT_MS = 45_000
const HEARTBEAT_SPREAD_MS = 10_000
const BYTES_MAX = 256 * 1024 * 1024 // of memory
const SAVED_PART = 1 / 8 // of the bytes in memory, in characters: what is restored shares fewer texts

export interface Publication {
  readonly type: string
  readonly to: Iterable<number> | 'everyone'
  /** Returns the event without its id, as clients of one shape see it. Null for shapes that do not get it. */
  make(shape: Shape): EventBody | null
  /** Returns members that differ from queue to queue. They are appended to the event. */
  tail?(queue: QueueOptions): EventBody | null
  /** Called for each queue of `to`: checks the narrow of the registration. */
  accepts?(queue: QueueOptions): boolean
  /** Also delivers to queues that registered for all public channels and pass `accepts`. */
  readonly alsoPublic?: boolean
  /** Skips queues that receive this event type. */
  readonly unless?: string
  readonly merge?: Merge
  /** Reason of the event for level changes that need one: contract section 8.1. */
  readonly cause?: string
}

interface Batch {
  add(publication: Publication): void
  deliver(): void
}

export interface EventHub {
  /** Starts the events of one change. Each is rendered when it is added and enters the queues in `deliver`. */
  begin(): Batch
  register(options: Omit<QueueOptions, 'id'>): Queue
  /** Throws `BAD_EVENT_QUEUE_ID`, and `BAD_REQUEST` for a queue of another user. */
  find(id: string, userId: number): Queue
  /** Resolves to a JSON list of events as soon as there are any. */
  poll(queue: Queue, lastEventId: number, dontBlock: boolean, onGone: (listener: () => void) => void): Promise<string>
  drop(queue: Queue): void
  dropQueuesOf(userId: number): void
  /** Ends polls with an empty list; the queues stay. A poll must not outlive the key that authorized it. */
  endPollsOf(userId: number): void
  queuesOf(userId: number): Iterable<Queue>
  /** True if the user has an event queue. Skip the work for users without one. */
  hasQueue(userId: number): boolean
  /**
   * Yields queues in the format of `restore`, without the content of messages for which `isGone` is true. If all together exceed
   * `charactersMax` or the hub's own bound, the largest of the owners with most are omitted.
   */
  save(isGone: (messageId: number) => boolean, charactersMax?: number): Iterable<{ id: string; json: string }>
  restore(saved: Iterable<string>): void
  /** Replaces the text of each queued event, except mergeable ones, by what `change` returns for it. */
  revise(change: (text: string) => string): void
  /** Drops queues without a poll for longer than their lifespan. */
  sweep(): void
  readonly size: number
  close(): void
}

/** Adapts events to clients of older feature levels. Contract section 8. */
export interface OldEvents {
  /** False for a type introduced after `level`. */
  knows(level: number, type: string): boolean
  /** Older event types into which events of this type may be rewritten. */
  othersOf(level: number, type: string): readonly string[]
  /** Returns the events that such clients get instead: none, one or several. */
  rewrite(
    level: number,
    event: TypedBody,
    about: { shape: Shape; to: Publication['to']; cause: string | undefined },
  ): readonly TypedBody[]
}

type TypedBody = EventBody & { readonly type: string }

interface HubOptions {
  /** Must return an unguessable id. */
  newQueueId: () => string
  oldEvents?: OldEvents
  /** Must be monotonic. */
  nowMs?: () => number
  heartbeatMs?: () => number
  /** Bytes of memory of all queues. */
  bytesMax?: number
  /** The user to whom a user's queues are charged: for a bot its owner. */
  ownerOf?: (userId: number) => number
}

export function createEventHub({
  newQueueId,
  oldEvents,
  nowMs = () => performance.now(),
  heartbeatMs = () => HEARTBEAT_MS + Math.random() * HEARTBEAT_SPREAD_MS,
  bytesMax = BYTES_MAX,
  ownerOf = (userId) => userId,
}: HubOptions): EventHub {
  const queues = createQueueSet({ nowMs, bytesMax, ownerOf })
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

  function* save(
    isGone: (messageId: number) => boolean,
    charactersMax = Number.POSITIVE_INFINITY,
  ): Generator<{ id: string; json: string }> {
    const kept = new Map<Prepared, string | null>() // queues share events
    const keep = (event: Prepared): string | null => {
      const known = kept.get(event)
      if (known !== undefined) return known
      const json = withoutGone(event, isGone)
      kept.set(event, json)
      return json
    }
    let left = Math.min(bytesMax * SAVED_PART, charactersMax)
    for (const queue of queues.inFairOrder()) {
      const json = saveQueue(queue, keep)
      left -= json.length
      if (left < 0) return
      yield { id: queue.id, json }
    }
  }

  function restore(saved: Iterable<string>): void {
    const texts = new Map<string, Prepared>()
    const share = (text: string): Prepared => {
      const known = texts.get(text) ?? { text, uses: 0 }
      texts.set(text, known)
      return known
    }
    for (const text of saved) queues.restore(readQueue(text, nowMs(), share))
  }

  function sweep(): void {
    const now = nowMs()
    for (const queue of queues.all())
      if (queue.poll === null && now - queue.idleSinceMs > queue.lifespanMs) queues.drop(queue)
  }

  return {
    begin,
    register(options) {
      queues.makeRoomFor(options.userId)
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
    restore,
    revise: queues.revise,
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

interface Made {
  body: TypedBody
  prepared: Prepared
}

interface Delivery extends UserEvent {
  queue: Queue
}

function tailText(tail: EventBody | null | undefined): string {
  if (tail == null) return ''
  const text = JSON.stringify(tail)
  return text === '{}' ? '' : `,${text.slice(1, -1)}`
}
