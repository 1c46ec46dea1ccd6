/** A queue as text, for a stop and the next start. */

import { createQueue, type Prepared, type Queue } from './queue.ts'
import { internShape } from './shapes.ts'

/**
 * Only what `isKept`. Nothing can be merged into an entry any more: whoever took it may have been cut off before he said so.
 */
export function saveQueue(queue: Queue, isKept: (event: Prepared) => boolean): string {
  const { id, userId, shape, allPublicStreams, narrow, clientName, lifespanMs, nextId, prunedId } = queue
  const eventTypes = queue.eventTypes === null ? null : [...queue.eventTypes]
  const kept = queue.entries.filter(({ prepared }) => isKept(prepared))
  const entries = kept.map(({ id, prepared, tail }) => [id, prepared.text, tail] as const)
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

/** The message whose text an event tells, or told before it was edited; null for all else. */
export function toldMessage({ text }: Prepared): number | null {
  if (!TELLING.some((type) => text.startsWith(`{"type":"${type}",`))) return null
  const event = JSON.parse(text) as { message?: { id: number }; message_id?: number }
  return event.message?.id ?? event.message_id ?? null
}

const TELLING = ['message', 'update_message']

type SavedQueue = Pick<Queue, 'id' | 'userId' | 'shape' | 'allPublicStreams' | 'narrow' | 'clientName' | 'lifespanMs'> &
  Pick<Queue, 'nextId' | 'prunedId'> & { eventTypes: string[] | null; entries: [number, string, string][] }

export function readQueue(text: string, nowMs: number): Queue {
  const { entries, nextId, prunedId, ...options } = JSON.parse(text) as SavedQueue
  const eventTypes = options.eventTypes === null ? null : new Set(options.eventTypes)
  const queue = createQueue(
    { ...options, eventTypes, shape: internShape({ ...options.shape, level: options.shape.level ?? null }) },
    nowMs,
  )
  const held = entries.map(([id, text, tail]) => ({ id, prepared: { text, uses: 0 }, tail }))
  const textLength = entries.reduce((sum, [, text, tail]) => sum + text.length + tail.length, 0)
  return Object.assign(queue, { nextId, prunedId, sentId: nextId - 1, entries: held, textLength })
}
