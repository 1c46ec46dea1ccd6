/** Topics that users mute, unmute or follow. Rows E56, E57; contract 2.5, V15, V60. */

import { defined } from '../../../base/defined.ts'
import { KINDS } from '../model/kinds.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { Channel, User, UserTopic } from '../model/records.ts'
import { topicKey } from '../model/state.ts'
import { topicName } from '../model/topic-names.ts'
import type { Transaction } from '../model/transaction.ts'
import { canSee, seesTest } from '../permissions/channel-rights.ts'

/** 0 none, 1 muted, 2 unmuted, 3 followed. */
export type TopicPolicy = 0 | 1 | 2 | 3

export const policyOf = (realm: Realm, userId: number, channel: Channel, topic: string): TopicPolicy =>
  find(realm, userId, channel, topic)?.policy ?? 0

/** No event if nothing changes. Throws `BAD_REQUEST` if the user has too many such topics. */
export function setUserTopic(
  realm: Realm,
  tx: Transaction,
  userId: number,
  channel: Channel,
  topic: string,
  policy: TopicPolicy,
): void {
  const before = find(realm, userId, channel, topic)
  if ((before?.policy ?? 0) === policy) return
  const lastUpdated = nowOf(realm)
  const topicName = before?.topicName ?? topic
  if (policy === 0) tx.remove('userTopic', KINDS.userTopic(defined(before)))
  else tx.put('userTopic', { userId, channelId: channel.id, topicName, lastUpdated, policy })
  publishUserTopic(tx, userId, channel, { topicName: topic, lastUpdated, policy })
  if (policy === 1 || before?.policy === 1) publishMutedTopics(realm, tx, userId)
}

function publishUserTopic(
  tx: Transaction,
  userId: number,
  channel: Channel,
  { topicName: topic, lastUpdated, policy }: Pick<UserTopic, 'topicName' | 'lastUpdated'> & { policy: TopicPolicy },
): void {
  tx.publish({
    type: 'user_topic',
    to: [userId],
    make: ({ can }) =>
      channel.isArchived && !can.archived_channels
        ? null
        : {
            stream_id: channel.id,
            topic_name: topicName(topic, can.empty_topic_name),
            last_updated: lastUpdated,
            visibility_policy: policy,
          },
  })
}

/** Sends the topic policies of a channel to users to whom the channel became visible again. */
export function publishTopicsOf(realm: Realm, tx: Transaction, channelId: number, userIds: readonly number[]): void {
  for (const userId of userIds)
    for (const topic of realm.state.userTopicsOf.get(userId).values())
      if (topic.channelId === channelId) publishUserTopic(tx, userId, realm.state.channel.require(channelId), topic)
}

/** Sends the complete list to clients that do not receive `user_topic`. */
function publishMutedTopics(realm: Realm, tx: Transaction, userId: number): void {
  const user = realm.state.user.get(userId)
  if (user === undefined) return
  tx.publish({
    type: 'muted_topics',
    to: [userId],
    unless: 'user_topic',
    make: ({ can }) => ({ muted_topics: mutedTopics(realm, user, can.empty_topic_name) }),
  })
}

/** Topics in channels that the user may see, oldest first. */
export const userTopics = (realm: Realm, user: User): { channel: Channel; topic: UserTopic }[] =>
  [...realm.state.userTopicsOf.get(user.id).values()]
    .map((topic) => ({ channel: realm.state.channel.get(topic.channelId), topic }))
    .filter((one): one is { channel: Channel; topic: UserTopic } => one.channel !== undefined)
    .filter(({ channel }) => canSee(realm, user, channel))
    .sort((a, b) => a.topic.lastUpdated - b.topic.lastUpdated)

/** Returns `[channel name, topic, time of the last update]` for each. */
export const mutedTopics = (realm: Realm, user: User, emptyTopic: boolean): [string, string, number][] =>
  userTopics(realm, user)
    .filter(({ topic }) => topic.policy === 1)
    .map(({ channel, topic }) => [channel.name, topicName(topic.topicName, emptyTopic), topic.lastUpdated])

function find({ state }: Realm, userId: number, channel: Channel, topic: string): UserTopic | undefined {
  const topics = state.userTopicsOf.get(userId)
  return topics.size === 0 ? undefined : topics.get(topicKey(channel.id, topic)) // folding a name costs more than the rest
}

/** Called when a complete topic was moved. If both topics have a policy, the higher number is retained: it notifies more. */
export function moveUserTopics(realm: Realm, tx: Transaction, from: Place, to: Place): void {
  const moved = realm.state.userTopicsIn.get(topicKey(from.channel.id, from.topic))
  const sees = seesTest(realm, to.channel)
  for (const { userId, policy } of [...moved.values()]) {
    setUserTopic(realm, tx, userId, from.channel, from.topic, 0)
    if (sees(realm.state.user.require(userId)) && policy > policyOf(realm, userId, to.channel, to.topic))
      setUserTopic(realm, tx, userId, to.channel, to.topic, policy)
  }
}

interface Place {
  channel: Channel
  topic: string
}
