import type { ConversationRef } from './model/conversation.ts'
import { addressOf, channelAddress } from './model/conversation.ts'
import type { RealmView } from './model/realm.ts'
import * as words from './words/en.ts'

export const personName = ({ people }: RealmView, id: number): string =>
  people.get(id)?.full_name ?? words.unknownPerson

export const channelName = ({ channels }: RealmView, id: number): string => channels.get(id)?.name ?? String(id)

export const topicName = ({ emptyTopicName }: RealmView, topic: string): string => topic || emptyTopicName

export function shortName(realm: RealmView, conversation: ConversationRef): string {
  if (conversation.kind === 'topic') return topicName(realm, conversation.topic)
  const { userIds } = conversation
  return userIds.length === 0 ? words.notes : words.names(userIds.map((id) => personName(realm, id)))
}

export const fullName = (realm: RealmView, conversation: ConversationRef): string =>
  conversation.kind === 'topic'
    ? `#${channelName(realm, conversation.channelId)} > ${shortName(realm, conversation)}`
    : shortName(realm, conversation)

export const linkTo = (realm: RealmView, conversation: ConversationRef): string =>
  addressOf(conversation, (id) => channelName(realm, id), realm.ownId)

export const linkToChannel = (realm: RealmView, id: number): string => channelAddress(id, channelName(realm, id))
