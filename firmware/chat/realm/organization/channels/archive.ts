/** Archives and unarchives channels. An archived channel can be read but not written to. Rows E44, E45. */

import { defined } from '../../../../base/defined.ts'
import { badRequest, ChatError } from '../../../base/error.ts'
import { publishFlag } from '../../messages/flags.ts'
import { linkToChannel } from '../../messages/links.ts'
import { unreadWithin } from '../../messages/unread.ts'
import type { Realm } from '../../model/realm.ts'
import type { Channel, User } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'
import { channelView, subscriberIds, subscriptionView } from '../../objects/channel-view.ts'
import { publishDefaultChannels } from '../../objects/default-channels.ts'
import { leaveDefaultGroups } from '../../objects/default-groups.ts'
import { publishTopicsOf } from '../../objects/user-topics.ts'
import { findChannel, viewersOf } from '../../permissions/channel-find.ts'
import { canAdminister, isSubscribed } from '../../permissions/channel-rights.ts'
import { visibilityOf } from '../../permissions/visibility.ts'
import { noticeChannelEvent, silently } from './notices.ts'

export function archiveChannel(realm: Realm, me: User, id: number): void {
  realm.transaction((tx) => archive(realm, tx, findAdministered(realm, me, id)))
}

/** Throws `CANNOT_ADMINISTER_CHANNEL`, or `BAD_REQUEST` if `me` may not see the channel. */
export function findAdministered(realm: Realm, me: User, id: number): Channel {
  const channel = findChannel(realm, me, id)
  if (!canAdminister(realm, me, channel))
    throw new ChatError('CANNOT_ADMINISTER_CHANNEL', 'You do not have permission to administer this channel')
  return channel
}

export function archive(realm: Realm, tx: Transaction, { id }: Channel): void {
  const channel = realm.state.channel.require(id)
  if (channel.isArchived) throw badRequest('Channel is already archived')
  noticeChannelEvent(realm, tx, channel, `Channel ${linkToChannel(channel)} has been archived.`)
  tx.put('channel', { ...realm.state.channel.require(id), isArchived: true, isDefault: false })
  tx.publish({
    type: 'stream',
    to: viewersOf(realm, channel),
    make: ({ can }) =>
      can.archived_channels
        ? archivedBody(channel, true)
        : { op: 'delete', stream_ids: [id], streams: [{ stream_id: id }] },
  })
  if (channel.isDefault) publishDefaultChannels(realm, tx)
  leaveDefaultGroups(realm, tx, id)
}

export function unarchive(realm: Realm, tx: Transaction, me: User, { id }: Channel): void {
  const before = realm.state.channel.require(id)
  if (!before.isArchived) throw badRequest('Channel is not currently archived')
  const channel = { ...before, isArchived: false }
  tx.put('channel', channel)
  const viewers = viewersOf(realm, channel)
  tx.publish({
    type: 'stream',
    to: viewers,
    make: ({ can }) =>
      can.archived_channels ? archivedBody(channel, false) : { op: 'create', streams: [channelView(realm, channel)] },
  })
  const [subscribers, others] = [subscriberIds(realm, channel), [] as number[]]
  for (const userId of viewers) {
    const user = realm.state.user.require(userId)
    if (isSubscribed(realm, user, channel)) publishReturn(realm, tx, user, channel)
    else others.push(userId)
  }
  if (subscribers.length > 0)
    tx.publish({
      type: 'subscription',
      to: others,
      make: ({ can }) => (can.archived_channels ? null : { op: 'peer_add', stream_ids: [id], user_ids: subscribers }),
    })
  publishTopicsOf(realm, tx, id, viewers)
  noticeChannelEvent(realm, tx, channel, `${silently(me)} has unarchived this channel.`)
}

const archivedBody = ({ id, name }: Channel, value: boolean) => ({
  op: 'update',
  stream_id: id,
  name,
  property: 'is_archived',
  value,
})

/** For clients without `archived_channels`: sends the subscription and the unread messages of the channel. */
function publishReturn(realm: Realm, tx: Transaction, user: User, channel: Channel): void {
  const clients = [...realm.events.queuesOf(user.id)]
  if (clients.every(({ shape }) => shape.can.archived_channels)) return
  const subscription = defined(realm.state.subscriptionsOf.get(user.id).get(channel.id))
  tx.publish({
    type: 'subscription',
    to: [user.id],
    make: ({ can }) => {
      if (can.archived_channels) return null
      const form = { nullable: can.notification_settings_null }
      return { op: 'add', subscriptions: [subscriptionView(realm, user, channel, subscription, form, 'true')] }
    },
  })
  const unread = unreadWithin(realm, user, [channel.recipientId]).filter(visibilityOf(realm, user).canRead)
  const ids = unread.map(({ id }) => id).reverse()
  if (ids.length > 0)
    publishFlag(realm, tx, user, 'read', 'remove', ids, { isFor: ({ can }) => !can.archived_channels })
}
