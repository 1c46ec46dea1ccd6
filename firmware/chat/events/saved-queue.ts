/** A queue as text, for a stop and the next start. */

import { createQueue, type Prepared, type Queue } from './queue.ts'
import { CAPABILITIES, type Capability, internShape } from './shapes.ts'

/**
 * With the text that `keep` gives for an event, without those for which it is null. Nothing can be merged into an entry any
 * more: whoever took it may have been cut off before he said so.
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

/** An event without the words of a message that is gone; null where all that it is about are gone. */
export function withoutGone({ text }: Prepared, isGone: (messageId: number) => boolean): string | null {
  if (!TELLING.some((type) => text.startsWith(`{"type":"${type}",`))) return text
  const event = JSON.parse(text) as Telling
  const told = event.message?.id ?? event.message_id!
  if (!isGone(told)) return text
  if ((event.message_ids ?? []).every(isGone)) return null
  return JSON.stringify(event, (name, value) => (WORDS.includes(name) ? undefined : value)) // others were moved with it
}

/** What tells the words of a message. */
const TELLING = ['message', 'submessage', 'update_message']
type Telling = { message?: { id: number }; message_id?: number; message_ids?: number[] }

/** Members of `update_message`. */
const WORDS = ['orig_content', 'orig_rendered_content', 'content', 'rendered_content', 'is_me_message']

type SavedQueue = Pick<Queue, 'id' | 'userId' | 'shape' | 'allPublicStreams' | 'narrow' | 'clientName' | 'lifespanMs'> &
  Pick<Queue, 'nextId' | 'prunedId'> & { eventTypes: string[] | null; entries: [number, string, string][] }

export function readQueue(text: string, nowMs: number): Queue {
  const { entries, nextId, prunedId, ...options } = JSON.parse(text) as SavedQueue
  const eventTypes = options.eventTypes === null ? null : new Set(options.eventTypes)
  const { shape } = options
  // A version that did not know a capability has saved none of it.
  const can = Object.fromEntries(CAPABILITIES.map((name) => [name, shape.can[name] ?? false])) as Record<
    Capability,
    boolean
  >
  const queue = createQueue(
    { ...options, eventTypes, shape: internShape({ ...shape, can, level: shape.level ?? null }) },
    nowMs,
  )
  const held = entries.map(([id, text, tail]) => ({ id, prepared: { text, uses: 0 }, tail }))
  const textLength = entries.reduce((sum, [, text, tail]) => sum + text.length + tail.length, 0)
  return Object.assign(queue, { nextId, prunedId, sentId: nextId - 1, entries: held, textLength })
}
