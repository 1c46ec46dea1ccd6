/** Messages of the Notification Bot about channels: to users whom another user subscribed, and about new and changed channels. Row E52. */

import { asText, linkToChannel } from '../../messages/links.ts'
import { noticePerson, notificationBot } from '../../messages/notices.ts'
import { deliverNotice } from '../../messages/send.ts'
import { realmSetting } from '../../model/read-settings.ts'
import type { Realm } from '../../model/realm.ts'
import type { Channel, User } from '../../model/records.ts'
import { organizationOf } from '../../model/state.ts'
import type { Transaction } from '../../model/transaction.ts'
import type { SubscriptionPair } from './subscribe.ts'

/** Above this number of new subscriptions no messages are sent; max_bulk_new_subscription_messages. */
export const NEW_SUBSCRIPTION_MESSAGES_MAX = 100

const CHANNEL_EVENTS_TOPIC = 'channel events'
const NEW_CHANNELS_TOPIC = 'new channels'

/** Sends one message to each person whom `me` subscribed. Returns false if there are too many subscriptions. */
export function tellNewSubscribers(
  realm: Realm,
  tx: Transaction,
  me: User,
  added: readonly SubscriptionPair[],
): boolean {
  if (added.length > NEW_SUBSCRIPTION_MESSAGES_MAX) return false
  const others = added.filter(({ user }) => user.id !== me.id && user.bot === null)
  for (const [user, pairs] of Map.groupBy(others, ({ user }) => user)) {
    const [first, ...rest] = pairs.map(({ channel }) => nameOf(channel))
    const text =
      rest.length === 0
        ? `${silently(me)} subscribed you to the channel ${first}.`
        : `${silently(me)} subscribed you to the following channels:\n\n${[first, ...rest].map((name) => `* ${name}`).join('\n')}`
    noticePerson(realm, tx, user, text)
  }
  return true
}

export function announceChannels(realm: Realm, tx: Transaction, me: User, created: readonly Channel[]): void {
  const id = realmSetting(organizationOf(realm.state), 'new_stream_announcements_stream_id')
  const channel = realm.state.channel.get(id)
  const names = created.filter(({ isPrivate }) => !isPrivate).map(nameOf)
  if (channel === undefined || channel.isArchived || names.length === 0) return
  const what = names.length === 1 ? 'a new channel' : 'the following new channels:'
  const place = { kind: 'channel', channel, topic: NEW_CHANNELS_TOPIC } as const
  deliverNotice(realm, tx, notificationBot(realm), place, `${silently(me)} created ${what} ${names.join(', ')}.`)
}

/** Sends a notice to the channel itself if the organization's settings allow it and the channel is not archived. */
export function noticeChannelEvent(realm: Realm, tx: Transaction, channel: Channel, text: string): void {
  if (channel.isArchived || !realmSetting(organizationOf(realm.state), 'send_channel_events_messages')) return
  const topic = channel.topicsPolicy === 'empty_topic_only' ? '' : CHANNEL_EVENTS_TOPIC
  const place = { kind: 'channel', channel, topic } as const
  deliverNotice(realm, tx, notificationBot(realm), place, text)
}

export const silently = ({ fullName, id }: User): string => `@_**${fullName}|${id}**`

/** Private channels are named without a link: the bot cannot see them. */
const nameOf = (channel: Channel): string =>
  channel.isPrivate ? `**${asText(channel.name)}**` : linkToChannel(channel)
