import type { ConversationRef } from './model/conversation.ts'
import { addressOf, channelAddress } from './model/conversation.ts'
import { availabilityOf, sinceActiveS } from './model/presence.ts'
import type { RealmView } from './model/realm.ts'
import { listOf } from './words/format.ts'
import { words } from './words/words.ts'

export const personName = ({ people }: RealmView, id: number): string =>
  people.get(id)?.full_name ?? words.unknownPerson

/** Null if that is not known, as that of bots is. */
export function lastActive({ presences }: RealmView, id: number): string | null {
  const now = Date.now()
  const availability = availabilityOf(presences, id, now)
  if (availability === 'active') return words.availabilities.active
  const sinceS = sinceActiveS(presences, id, now)
  return sinceS === null ? null : words.lastActive(sinceS)
}

export const channelName = ({ channels }: RealmView, id: number): string => channels.get(id)?.name ?? String(id)

export const topicName = ({ emptyTopicName }: RealmView, topic: string): string => topic || emptyTopicName

export function shortName(realm: RealmView, conversation: ConversationRef): string {
  if (conversation.kind === 'topic') return topicName(realm, conversation.topic)
  const { userIds } = conversation
  return userIds.length === 0 ? words.notes : listOf(userIds.map((id) => personName(realm, id)))
}

export const fullName = (realm: RealmView, conversation: ConversationRef): string =>
  conversation.kind === 'topic'
    ? `#${channelName(realm, conversation.channelId)} > ${shortName(realm, conversation)}`
    : shortName(realm, conversation)

export const linkTo = (realm: RealmView, conversation: ConversationRef): string =>
  addressOf(conversation, (id) => channelName(realm, id), realm.ownId)

export const linkToChannel = (realm: RealmView, id: number): string => channelAddress(id, channelName(realm, id))
