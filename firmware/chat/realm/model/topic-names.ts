/** Topic names in requests, in the store and in answers. Contract sections 3.2.1, 9 and 11.13. */

import { expectName } from '../../base/characters.ts'

export const TOPIC_CHARACTERS_MAX = 60 // code points

/** Shown to clients without support for the empty topic: `realm_empty_topic_display_name`. */
export const EMPTY_TOPIC_NAME = 'general chat'

/** Old clients send this for the empty topic. */
const NO_TOPIC = '(no topic)'

/**
 * Returns the name as stored: trimmed, truncated, '' for all names of the empty topic. With `isLiteral`, `(no topic)` is an ordinary name.
 * Throws `BAD_REQUEST` if the name has invalid characters.
 */
export function asTopic(sent: string, { isLiteral = false } = {}): string {
  const name = expectName(sent.trim(), 'topic')
  return isLiteral && name === NO_TOPIC ? name : cutTopic(meantTopic(name))
}

/** Returns '' for all names of the empty topic. */
export function meantTopic(sent: string): string {
  const name = sent.trim()
  return name === EMPTY_TOPIC_NAME || name === NO_TOPIC ? '' : name
}

export function cutTopic(name: string): string {
  const characters = [...name]
  return characters.length <= TOPIC_CHARACTERS_MAX
    ? name
    : `${characters.slice(0, TOPIC_CHARACTERS_MAX - 3).join('')}...`
}

/** `emptyTopic`: the client supports the empty topic. */
export const topicName = (topic: string, emptyTopic: boolean): string =>
  topic === '' && !emptyTopic ? EMPTY_TOPIC_NAME : topic
