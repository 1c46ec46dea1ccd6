/** Serializes a queue for a restart. */

import { append, createQueue, type Prepared, type Queue } from './queue.ts'
import { CAPABILITIES, type Capability, internShape } from './shapes.ts'

/**
 * Writes the text that `keep` returns for each event, and omits events for which it returns null. No event can be merged into a saved
 * entry: the client may have received it although the connection ended before its acknowledgment.
 */
export function saveQueue(queue: Queue, keep: (event: Prepared) => string | null): string {
  const { id, userId, shape, allPublicStreams, narrow, clientName, lifespanMs, nextId, prunedId } = queue
  const eventTypes = queue.eventTypes === null ? null : [...queue.eventTypes]
  const entries = queue.entries.flatMap(({ id, prepared, tail }) => {
    const text = keep(prepared)
    return text === null ? [] : [[id, text, tail] as const]
  })
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

/** Removes the content of deleted messages from an event. Returns null if all messages of the event are deleted. */
export function withoutGone({ text }: Prepared, isGone: (messageId: number) => boolean): string | null {
  if (!TELLING.some((type) => text.startsWith(`{"type":"${type}",`))) return text
  const event = JSON.parse(text) as Telling
  const told = event.message?.id ?? event.message_id
  if (told === undefined || !isGone(told)) return text
  if ((event.message_ids ?? []).every(isGone)) return null
  return JSON.stringify(event, (name, value) => (WORDS.includes(name) ? undefined : value)) // other messages only moved along
}

const TELLING = ['message', 'submessage', 'update_message']
type Telling = { message?: { id: number }; message_id?: number; message_ids?: number[] }

/** Members with content in `update_message`. */
const WORDS = ['orig_content', 'orig_rendered_content', 'content', 'rendered_content', 'is_me_message']

type SavedQueue = Pick<Queue, 'id' | 'userId' | 'shape' | 'allPublicStreams' | 'narrow' | 'clientName' | 'lifespanMs'> &
  Pick<Queue, 'nextId' | 'prunedId'> & { eventTypes: string[] | null; entries: [number, string, string][] }

/** `share` returns the same object for equal texts, as queues shared them before they were saved. */
export function readQueue(text: string, nowMs: number, share: (text: string) => Prepared): Queue {
  const { entries, nextId, prunedId, ...options } = JSON.parse(text) as SavedQueue
  const eventTypes = options.eventTypes === null ? null : new Set(options.eventTypes)
  const { shape } = options
  // A queue saved by an older version lacks newer capabilities.
  const can = Object.fromEntries(CAPABILITIES.map((name) => [name, shape.can[name] ?? false])) as Record<
    Capability,
    boolean
  >
  const queue = createQueue(
    { ...options, eventTypes, shape: internShape({ ...shape, can, level: shape.level ?? null }) },
    nowMs,
  )
  for (const [id, text, tail] of entries) {
    queue.nextId = id
    append(queue, { prepared: share(text), tail })
  }
  return Object.assign(queue, { nextId, prunedId, sentId: nextId - 1 })
}
