/** Names of topics: as they are sent, stored and shown. Contract sections 3.2.1, 9 and 11.13. */

export const TOPIC_CHARACTERS_MAX = 60 // code points

/** What old clients send for the empty topic. */
const NO_TOPIC = '(no topic)'

/** What is shown in its place to clients that know no topics without a name; realm_empty_topic_display_name. */
export const EMPTY_TOPIC_NAME = 'general chat'

/** As it is stored: trimmed, cut, and the empty topic under one name, unless `isLiteral`. */
export function asTopic(sent: string, { isLiteral = false } = {}): string {
  const topic = sent.trim()
  if (topic === NO_TOPIC && !isLiteral) return ''
  const characters = [...topic]
  return characters.length <= TOPIC_CHARACTERS_MAX
    ? topic
    : `${characters.slice(0, TOPIC_CHARACTERS_MAX - 3).join('')}...`
}

/** `emptyTopic`: the client knows topics without a name. */
export const topicName = (topic: string, emptyTopic: boolean): string =>
  topic === '' && !emptyTopic ? EMPTY_TOPIC_NAME : topic
