/** Names of topics: as they are sent, stored and shown. Contract sections 3.2.1, 9 and 11.13. */

import { expectName } from '../../base/characters.ts'

export const TOPIC_CHARACTERS_MAX = 60 // code points

/** Shown to clients that cannot handle the empty topic: realm_empty_topic_display_name. */
export const EMPTY_TOPIC_NAME = 'general chat'

/** What old clients send for the empty topic. */
const NO_TOPIC = '(no topic)'

/**
 * As it is stored: trimmed, cut, and the empty topic under one name. `isLiteral`: `(no topic)` is a name like any other. Throws
 * `BAD_REQUEST` for a character that no name has.
 */
export function asTopic(sent: string, { isLiteral = false } = {}): string {
  const name = expectName(sent.trim(), 'topic')
  return isLiteral && name === NO_TOPIC ? name : cutTopic(meantTopic(name))
}

/** The topic that is meant by a name, of which there may be none. */
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

/** `emptyTopic`: the client knows topics without a name. */
export const topicName = (topic: string, emptyTopic: boolean): string =>
  topic === '' && !emptyTopic ? EMPTY_TOPIC_NAME : topic
