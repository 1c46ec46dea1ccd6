/** The events that one client has not acknowledged. Contract section 4.3. */

import { defined } from '../../base/defined.ts'
import { badRequest } from '../base/error.ts'
import type { Shape } from './shapes.ts'

const EVENTS_MAX = 10_000
const TEXT_MAX = 4 * 1024 * 1024 // characters: a day of a busy organization
const MERGED_TEXT_MAX = 16 * 1024 // characters: each merge writes the whole event again

// Upper bounds of what V8 allocates beside the characters: a queue without entries takes 1.2 KB, an entry 160 bytes.
const QUEUE_BYTES = 2048
const ENTRY_BYTES = 256
const TEXT_BYTES = 64
const CHARACTER_BYTES = 2 // one if all are Latin-1

export type EventBody = Readonly<Record<string, unknown>>

/** The JSON of an event without its id, shared by all queues of one shape. */
export interface Prepared {
  /** Replaced only by `QueueSet.revise`. */
  text: string
  /** Number of queue entries that refer to it. */
  uses: number
}

/** Lets an event replace the last one of its queue if that has the same key and was not sent yet. */
export interface Merge {
  readonly key: string
  join(before: EventBody, after: EventBody): EventBody
}

export interface QueueEntry {
  id: number
  prepared: Prepared
  /** Members for this queue only, as `,"flags":[]`; may be empty. */
  tail: string
  merge?: { key: string; body: EventBody }
}

export interface QueueOptions {
  readonly id: string
  readonly userId: number
  readonly shape: Shape
  /** Null stands for all types. */
  readonly eventTypes: ReadonlySet<string> | null
  readonly allPublicStreams: boolean
  /** As the client sent it. `register` has validated it. */
  readonly narrow: readonly (readonly [operator: string, operand: string])[]
  readonly clientName: string
  readonly lifespanMs: number
}

interface Poll {
  answer(events: string): void
  timer: NodeJS.Timeout
}

export interface Queue extends QueueOptions {
  /** Null if no poll is waiting. */
  poll: Poll | null
  /** Monotonic time of the last poll's end, or of the queue's creation. */
  idleSinceMs: number
  entries: QueueEntry[]
  nextId: number
  /** Last id that the client has acknowledged, and last id that it was sent. */
  prunedId: number
  sentId: number
  textLength: number
  /** Bytes of memory of the queue and its entries without their `prepared`, which queues share. */
  ownBytes: number
}

export const createQueue = (options: QueueOptions, nowMs: number): Queue => ({
  ...options,
  poll: null,
  idleSinceMs: nowMs,
  entries: [],
  nextId: 0,
  prunedId: -1,
  sentId: -1,
  textLength: 0,
  ownBytes: optionBytes(options),
})

const optionBytes = ({ eventTypes, narrow, clientName }: QueueOptions): number =>
  [...(eventTypes ?? []), ...narrow.flat(), clientName].reduce((sum, text) => sum + textBytes(text), QUEUE_BYTES)

/** Upper bound of the memory of a text. */
export const textBytes = ({ length }: string): number => TEXT_BYTES + CHARACTER_BYTES * length

/** Upper bound of the memory of an entry without its `prepared`. The body of a merge takes about as much as its text. */
export const entryBytes = ({ prepared, tail, merge }: Omit<QueueEntry, 'id'>): number =>
  ENTRY_BYTES + CHARACTER_BYTES * tail.length + (merge === undefined ? 0 : textBytes(prepared.text))

/** Memory of a queue if it shared nothing. */
export const fullBytes = ({ ownBytes, textLength }: Queue): number => ownBytes + CHARACTER_BYTES * textLength

export const isFull = (queue: Queue): boolean => queue.entries.length > EVENTS_MAX || queue.textLength > TEXT_MAX

export function append(queue: Queue, entry: Omit<QueueEntry, 'id'>): void {
  const id = queue.nextId++
  queue.entries.push({ ...entry, id })
  count(queue, entry, 1)
}

function count(queue: Queue, entry: Omit<QueueEntry, 'id'>, sign: 1 | -1): void {
  queue.textLength += sign * (entry.prepared.text.length + entry.tail.length)
  queue.ownBytes += sign * entryBytes(entry)
}

/** Returns the last entry if an event with this key may still be merged into it. */
export function lastToMerge(queue: Queue, key: string): QueueEntry | undefined {
  const last = queue.entries.at(-1)
  if (last?.merge?.key !== key || last.id <= queue.sentId) return undefined
  return last.prepared.text.length < MERGED_TEXT_MAX ? last : undefined
}

export function takeLast(queue: Queue): QueueEntry {
  const last = defined(queue.entries.pop())
  count(queue, last, -1)
  return last
}

/** Removes entries up to `lastEventId`. Throws `BAD_REQUEST` for an id that was pruned before or never issued. */
export function acknowledge(queue: Queue, lastEventId: number): QueueEntry[] {
  if (lastEventId < queue.prunedId) throw badRequest(`An event newer than ${lastEventId} has already been pruned`)
  if (lastEventId >= queue.nextId) throw badRequest(`Event ${lastEventId} was not in this queue`)
  const dropped = queue.entries.splice(0, countUpTo(queue.entries, lastEventId))
  for (const entry of dropped) count(queue, entry, -1)
  queue.prunedId = Math.max(queue.prunedId, lastEventId)
  return dropped
}

function countUpTo(entries: readonly QueueEntry[], id: number): number {
  let at = 0
  while ((entries[at]?.id ?? Infinity) <= id) at++
  return at
}

/** Returns a JSON list, and counts all of its events as sent. */
export function readAll(queue: Queue): string {
  queue.sentId = queue.nextId - 1
  return `[${queue.entries.map(({ prepared, tail, id }) => `${prepared.text.slice(0, -1)}${tail},"id":${id}}`).join(',')}]`
}
