/** Decides which messages a user gets a push notification of, as the page decides for its own notifications. Contract section 3.9.1. */

import { CHANNEL_WILDCARD, MENTIONED, TOPIC_WILDCARD } from '../model/content-flags.ts'
import { userSetting } from '../model/read-settings.ts'
import { type DeliveredMessage, nowOf, type Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { OFFLINE_SECONDS } from '../objects/presence.ts'
import { policyOf } from '../objects/user-topics.ts'
import { locationOf, type MessageLocation } from './location.ts'

const MUTED = 1
const FOLLOWED = 3

/** Returns a test for recipients of the message, whose location is that of the call. */
export function pushRuleFor(realm: Realm, message: DeliveredMessage): (user: User) => boolean {
  const { senderId, readers, mentions } = message
  const location = locationOf(realm, message)
  return (user) => {
    if (user.id === senderId || readers.has(user.id)) return false
    if (!userSetting(user, 'enable_online_push_notifications') && isActiveNow(realm, user)) return false
    const flags = mentions.get(user.id) ?? 0
    if (location.kind === 'conversation' || (flags & MENTIONED) !== 0)
      return userSetting(user, 'enable_offline_push_notifications')
    return isChannelMessagePushed(realm, user, location, (flags & (CHANNEL_WILDCARD | TOPIC_WILDCARD)) !== 0)
  }
}

const isActiveNow = (realm: Realm, { id }: User): boolean =>
  nowOf(realm) - (realm.state.presence.get(id)?.active ?? 0) <= OFFLINE_SECONDS

function isChannelMessagePushed(
  realm: Realm,
  user: User,
  { channel, topic }: MessageLocation & { kind: 'channel' },
  isForAll: boolean,
): boolean {
  const subscription = realm.state.subscriptionsOf.get(user.id).get(channel.id)
  const policy = policyOf(realm, user.id, channel, topic)
  if (policy === MUTED || (policy === 0 && subscription?.isMuted === true)) return false
  const isFollowed = policy === FOLLOWED
  if (isForAll && userSetting(user, 'enable_offline_push_notifications')) {
    if (subscription?.wildcardMentionsNotify ?? userSetting(user, 'wildcard_mentions_notify')) return true
    if (isFollowed && userSetting(user, 'enable_followed_topic_wildcard_mentions_notify')) return true
  }
  if (isFollowed && userSetting(user, 'enable_followed_topic_push_notifications')) return true
  return subscription?.pushNotifications ?? userSetting(user, 'enable_stream_push_notifications')
}
