/** `unread_msgs` of the register answer as text. Contract section 4.2.1. */

import { defined } from '../../../base/defined.ts'
import { JsonText } from '../../base/json-text.ts'
import type { Shape } from '../../events/shapes.ts'
import type { PlacedRow } from '../../store/messages.ts'
import type { TopicIds } from '../../store/recent-placements.ts'
import { ALERT_WORD } from '../model/content-flags.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { lowerBound } from '../model/runs.ts'
import { topicName } from '../model/topic-names.ts'
import { isMuted, UNREAD_MAX } from './unread.ts'
import { type UnreadSource, unreadSet } from './unread-sources.ts'

/** `can`: capabilities of the client. Call outside transactions. */
export function unreadToJson(realm: Realm, user: User, can: Shape['can'], max = UNREAD_MAX): JsonText {
  const { state, store } = realm
  const set = unreadSet(realm, user, max)
  const isShown = (recipient: number): boolean =>
    can.archived_channels || state.channelByRecipient.get(recipient)?.isArchived !== true
  const sources = set.sources.filter(({ sent }) => isShown(sent.birth))
  const others = set.others.filter(({ recipient }) => isShown(recipient))
  const [pms, huddles, streams]: [string[], string[], string[]] = [[], [], []]
  const add = (list: string[], head: string, { text }: Group): void => {
    list.push(`${list.length === 0 ? '' : ','}{${head},"unread_message_ids":[${text}]}`)
  }
  let count = 0
  for (const group of groupsOf(sources, others)) {
    const conversation = state.conversation.get(group.recipient)
    if (conversation === undefined) {
      const channel = defined(state.channelByRecipient.get(group.recipient))
      const topic = store.topics.get(group.topic)?.name ?? ''
      if (!isMuted(realm, user, channel, topic)) count += group.count
      const name = narrowJson(topicName(topic, can.empty_topic_name))
      add(streams, `"stream_id":${channel.id},"topic":${name}`, group)
      continue
    }
    count += group.count
    const { userIds } = conversation
    const other = userIds.find((id) => id !== user.id) ?? user.id
    if (userIds.length > 2) add(huddles, `"user_ids_string":"${userIds.join(',')}"`, group)
    else add(pms, `"other_user_id":${other},"sender_id":${other}`, group)
  }
  const mentions = mentionsIn(realm, user, sources, others)
  return new JsonText([
    `{"count":${count},"pms":[`,
    ...pms,
    '],"streams":[',
    ...streams,
    '],"huddles":[',
    ...huddles,
    `],"mentions":[${mentions.join(',')}],"old_unreads_missing":${set.isCut}}`,
  ])
}

/** JSON of at most one byte a character: one wider name would double the size of the whole text in memory, and the time to write it. */
const narrowJson = (name: string): string =>
  JSON.stringify(name).replace(WIDE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

const WIDE = /[^\0-\xff]/g

/** Unread messages of one topic or conversation. */
interface Group {
  /** 0 in a conversation. */
  readonly topic: number
  readonly recipient: number
  /** Id of the oldest message. */
  first: number
  count: number
  /** Ids, separated by commas; ascending unless `isMixed`. */
  text: string
  isMixed: boolean
}

function groupsOf(sources: readonly UnreadSource[], others: readonly PlacedRow[]): Group[] {
  const groups = new Map<number, Group>()
  const add = (topic: number, recipient: number, first: number, count: number, text: string): Group => {
    const key = topic > 0 ? topic : -recipient
    const known = groups.get(key)
    if (known === undefined) {
      const group = { topic, recipient, first, count, text, isMixed: false }
      groups.set(key, group)
      return group
    }
    known.first = Math.min(known.first, first)
    known.count += count
    known.text += `,${text}`
    return known
  }
  for (const { sent, parts } of sources)
    for (const [from, to] of parts) {
      if (to - from < ROWS_PER_TOPIC * sent.byTopic().size)
        for (let at = from; at < to; at++) {
          const id = defined(sent.ids[at])
          add(defined(sent.topics[at]), sent.birth, id, 1, String(id))
        }
      else
        for (const [topic, known] of sent.byTopic()) {
          const low = lowerBound(known.ids, defined(sent.ids[from]))
          const high = lowerBound(known.ids, defined(sent.ids[to - 1]) + 1)
          if (low < high) add(topic, sent.birth, defined(known.ids[low]), high - low, textBetween(known, low, high))
        }
    }
  for (const { id, topic, recipient } of others) add(topic, recipient, id, 1, String(id)).isMixed = true
  for (const group of groups.values()) if (group.isMixed) group.text = ascending(group.text)
  return [...groups.values()].sort((a, b) => a.first - b.first)
}

/** For fewer messages of each topic, those of the topic are looked up one by one. */
const ROWS_PER_TOPIC = 4

const ascending = (ids: string): string => (JSON.parse(`[${ids}]`) as number[]).sort((a, b) => a - b).join(',')

function textBetween(topic: TopicIds, low: number, high: number): string {
  const text = topic.text()
  if (low === 0 && high === topic.ids.length) return text
  return text.slice(charactersOf(topic.ids, low), charactersOf(topic.ids, high) - 1)
}

/** Characters that the first `count` ids take, each with a comma. */
function charactersOf(ids: readonly number[], count: number): number {
  let characters = 0
  for (let at = 0; at < count; ) {
    const digits = String(ids[at]).length
    const next = Math.min(count, lowerBound(ids, 10 ** digits))
    characters += (next - at) * (digits + 1)
    at = next
  }
  return characters
}

function mentionsIn(
  realm: Realm,
  user: User,
  sources: readonly UnreadSource[],
  others: readonly PlacedRow[],
): number[] {
  const first = Math.min(
    ...sources.flatMap(({ sent, parts }) => parts.map(([from]) => defined(sent.ids[from]))),
    ...others.slice(0, 1).map(({ id }) => id),
  )
  if (first === Number.POSITIVE_INFINITY) return []
  const mentions = realm.store.flags.mentionsSince(user.id, first)
  if (mentions.size === 0) return []
  const isMention = (id: number): boolean => ((mentions.get(id) ?? 0) & ~ALERT_WORD) !== 0
  const ids = others.map(({ id }) => id).filter(isMention)
  for (const { sent, parts } of sources)
    for (const [from, to] of parts)
      for (let at = from; at < to; at++) {
        const id = defined(sent.ids[at])
        if (isMention(id)) ids.push(id)
      }
  return ids.sort((a, b) => a - b)
}
