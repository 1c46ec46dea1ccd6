/** The events that one client has not acknowledged. Contract section 4.3. */

import { badRequest } from '../base/error.ts'
import type { Shape } from './shapes.ts'

const EVENTS_MAX = 10_000
const TEXT_MAX = 4 * 1024 * 1024 // characters: a day of a busy organization

export type EventBody = Readonly<Record<string, unknown>>

/** The JSON of an event without its id, shared by all queues of one shape. */
export interface Prepared {
  readonly text: string
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
})

export const isFull = (queue: Queue): boolean => queue.entries.length > EVENTS_MAX || queue.textLength > TEXT_MAX

export function append(queue: Queue, entry: Omit<QueueEntry, 'id'>): void {
  const id = queue.nextId++
  queue.entries.push({ ...entry, id })
  queue.textLength += entry.prepared.text.length + entry.tail.length
}

/** Returns the last entry if an event with this key may still be merged into it. */
export function lastToMerge(queue: Queue, key: string): QueueEntry | undefined {
  const last = queue.entries.at(-1)
  return last?.merge?.key === key && last.id > queue.sentId ? last : undefined
}

export function takeLast(queue: Queue): QueueEntry {
  const last = queue.entries.pop()!
  queue.textLength -= last.prepared.text.length + last.tail.length
  return last
}

/** Removes entries up to `lastEventId`. Throws `BAD_REQUEST` for an id that was pruned before or never issued. */
export function acknowledge(queue: Queue, lastEventId: number): QueueEntry[] {
  if (lastEventId < queue.prunedId) throw badRequest(`An event newer than ${lastEventId} has already been pruned`)
  if (lastEventId >= queue.nextId) throw badRequest(`Event ${lastEventId} was not in this queue`)
  const count = countUpTo(queue.entries, lastEventId)
  const dropped = queue.entries.splice(0, count)
  for (const { prepared, tail } of dropped) queue.textLength -= prepared.text.length + tail.length
  queue.prunedId = Math.max(queue.prunedId, lastEventId)
  return dropped
}

function countUpTo(entries: readonly QueueEntry[], id: number): number {
  let count = 0
  while (count < entries.length && entries[count]!.id <= id) count++
  return count
}

/** Returns a JSON list, and counts all of its events as sent. */
export function readAll(queue: Queue): string {
  queue.sentId = queue.nextId - 1
  return `[${queue.entries.map(({ prepared, tail, id }) => `${prepared.text.slice(0, -1)}${tail},"id":${id}}`).join(',')}]`
}
