import type { MessageRow } from '../../store/messages.ts'
import type { TopicRow } from '../../store/topics.ts'
import { fold } from '../model/names.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, DirectConversation, User } from '../model/records.ts'
import { meantTopic } from '../model/topic-names.ts'
import type { Transaction } from '../model/transaction.ts'
import { trackAccessibleUsers } from '../objects/accessible-users.ts'

export type MessageLocation =
  | { readonly kind: 'channel'; readonly channel: Channel; readonly topic: string }
  | { readonly kind: 'conversation'; readonly conversation: DirectConversation }

export type ChannelLocation = MessageLocation & { readonly kind: 'channel' }

/** Prefix of resolved topics: contract section 7.3. */
const RESOLVED_PREFIX = '✔ '

export const isResolved = (topic: string): boolean => topic.startsWith(RESOLVED_PREFIX)

/** True if the names differ in the resolved prefix only. */
export const isResolving = (from: string, to: string): boolean =>
  isResolved(from) !== isResolved(to) && meantTopic(withoutMark(from)) === meantTopic(withoutMark(to))

const withoutMark = (topic: string): string => topic.replace(/^(?:✔ )+/, '')

export function locationOf(
  { state, store }: Realm,
  { recipient, topic }: Pick<MessageRow, 'recipient' | 'topic'>,
): MessageLocation {
  const channel = state.channelByRecipient.get(recipient)
  if (channel !== undefined) return { kind: 'channel', channel, topic: store.topics.get(topic)?.name ?? '' }
  return { kind: 'conversation', conversation: state.conversation.require(recipient) }
}

export const findTopic = ({ store }: Realm, channel: Channel, topic: string): TopicRow | undefined =>
  store.topics.find(channel.recipientId, fold(topic))

/** Returns the topic's id. Creates the topic for its first message. Within a transaction. */
export const ensureTopic = (realm: Realm, channel: Channel, topic: string): number =>
  findTopic(realm, channel, topic)?.id ?? realm.store.topics.add(channel.recipientId, topic, fold(topic))

export const findConversation = ({ state }: Realm, userIds: readonly number[]): DirectConversation | undefined =>
  state.conversationByUsers.get(keyOf(userIds))

/** `userIds`: all participants, in any order. */
export function ensureConversation(
  realm: Realm,
  tx: Transaction,
  creator: User,
  userIds: readonly number[],
): DirectConversation {
  const known = findConversation(realm, userIds)
  if (known !== undefined) return known
  const conversation = { recipientId: tx.nextId('recipient'), userIds: ascending(userIds), creatorId: creator.id }
  const publishAcquaintance = trackAccessibleUsers(realm, conversation)
  tx.put('conversation', conversation)
  publishAcquaintance(tx)
  return conversation
}

/** Active users who are subscribed to the channel or take part in the conversation. */
export function recipientsOf({ state }: Realm, location: MessageLocation): Set<number> {
  const ids =
    location.kind === 'channel' ? state.subscribersOf.get(location.channel.id).keys() : location.conversation.userIds
  return new Set([...ids].filter((id) => state.user.get(id)?.isActive))
}

const ascending = (ids: readonly number[]): number[] => [...new Set(ids)].sort((a, b) => a - b)
const keyOf = (ids: readonly number[]): string => ascending(ids).join(',')
