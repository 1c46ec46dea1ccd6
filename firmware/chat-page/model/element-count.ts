/** How many elements messages take in the document, and which of them a list keeps for that. Uses no DOM. */

import type { ReceivedMessage } from './types.ts'

/** A message with more elements is shown as plain text until the user wants all of it. */
const ELEMENTS_OF_MESSAGE_MAX = 1500
const ELEMENTS_OF_ROW = 16 // sender, time, actions, dividers
const ELEMENTS_OF_REACTION = 4
const ELEMENTS_OF_SUBMESSAGE = 8

const counts = new WeakMap<ReceivedMessage, number>()

/** Elements of the message's HTML. */
function elementsOf(message: ReceivedMessage): number {
  const known = counts.get(message)
  if (known !== undefined) return known
  const count = message.content.match(/<[a-z]/g)?.length ?? 0
  counts.set(message, count)
  return count
}

export const isHeavy = (message: ReceivedMessage): boolean => elementsOf(message) > ELEMENTS_OF_MESSAGE_MAX

const weightOf = (message: ReceivedMessage): number =>
  ELEMENTS_OF_ROW +
  (isHeavy(message) ? 0 : elementsOf(message)) +
  ELEMENTS_OF_REACTION * message.reactions.length +
  ELEMENTS_OF_SUBMESSAGE * message.submessages.length

/** Number of messages from the start, at least one, that fit. */
function fitting(messages: readonly ReceivedMessage[], elements: number): number {
  let sum = 0
  const end = messages.findIndex((message) => {
    sum += weightOf(message)
    return sum > elements
  })
  return end === -1 ? messages.length : Math.max(1, end)
}

/**
 * Joins `fresh` messages to the `known` ones, and drops those farthest from the join until the rest fits. Both lists begin at
 * the join. The fresh ones get at least half of the room.
 */
export function join(
  known: readonly ReceivedMessage[],
  fresh: readonly ReceivedMessage[],
  { max, elements }: { max: number; elements: number },
): { known: readonly ReceivedMessage[]; fresh: readonly ReceivedMessage[] } {
  const near = known.slice(0, fitting(known, elements / 2))
  const room = elements - near.reduce((sum, message) => sum + weightOf(message), 0)
  const taken = fresh.slice(0, fitting(fresh, room))
  const left = room - taken.reduce((sum, message) => sum + weightOf(message), 0)
  const far = known.slice(near.length)
  const kept = [...near, ...(left > 0 && far.length > 0 ? far.slice(0, fitting(far, left)) : [])]
  return { known: kept.slice(0, Math.max(1, max - taken.length)), fresh: taken }
}
