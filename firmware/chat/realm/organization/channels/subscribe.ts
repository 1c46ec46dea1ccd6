/** Subscribes and unsubscribes users and publishes the events. Callers check the rights. Contract E52, E54, V44, V45. */

import { defined } from '../../../../base/defined.ts'
import { badRequest } from '../../../base/error.ts'
import { changeFlag } from '../../messages/flags.ts'
import { unreadWithin } from '../../messages/unread.ts'
import type { Realm } from '../../model/realm.ts'
import type { Channel, Subscription, User } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'
import { trackAccessibleUsers } from '../../objects/accessible-users.ts'
import { subscriptionView } from '../../objects/channel-view.ts'
import { publishPeers, trackVisibility } from '../../objects/visibility-events.ts'
import { viewersOf } from '../../permissions/channel-find.ts'
import { isSubscribed } from '../../permissions/channel-rights.ts'
import { freeColor } from './colors.ts'

export interface SubscriptionPair {
  readonly user: User
  readonly channel: Channel
}

/** Bound on subscriber ids in the events of one change: each new subscriber with an event queue gets all subscribers of the channel. */
const PEERS_TOLD_MAX = 1_000_000

function expectTellable(realm: Realm, added: readonly SubscriptionPair[]): void {
  let told = 0
  for (const { user, channel } of added)
    if (realm.events.hasQueue(user.id)) told += realm.state.subscribersOf.get(channel.id).size
  if (told > PEERS_TOLD_MAX) throw badRequest('Too many subscriptions at once')
}

/**
 * Returns the new subscriptions. Throws `BAD_REQUEST` if the events would be too large. `colorOf`: colors that the request sets; `by`: the
 * caller.
 */
export function subscribe(
  realm: Realm,
  tx: Transaction,
  pairs: readonly SubscriptionPair[],
  colorOf: (channel: Channel) => string | undefined = () => undefined,
  by?: User,
): SubscriptionPair[] {
  const added = pairs.filter(({ user, channel }) => !isSubscribed(realm, user, channel))
  expectTellable(realm, added)
  const byChannel = groupByChannel(added)
  const publishSight = trackVisibility(
    realm,
    added.map(({ user }) => user.id),
    byChannel.keys(),
  )
  const publishAcquaintance = trackAccessibleUsers(realm, accessChange(added))
  for (const { user, channel } of added) tx.put('subscription', opened(realm, user, channel, colorOf(channel), by))
  publishAcquaintance(tx) // before the events below, which name the users
  publishSight(tx, { withPeers: false, cause: 'subscribed' }) // the subscription event has the subscribers
  for (const [user, channels] of groupByUser(added)) publishAdded(realm, tx, user, channels)
  for (const [channel, users] of byChannel) {
    publishPeers(tx, 'peer_add', channel, idsOf(users), othersOf(viewersOf(realm, channel), users))
  }
  return added
}

export function unsubscribe(realm: Realm, tx: Transaction, pairs: readonly SubscriptionPair[]): SubscriptionPair[] {
  const removed = pairs.filter(({ user, channel }) => isSubscribed(realm, user, channel))
  const byChannel = groupByChannel(removed)
  const publishSight = trackVisibility(
    realm,
    removed.map(({ user }) => user.id),
    byChannel.keys(),
  )
  for (const [user, channels] of groupByUser(removed)) markRead(realm, tx, user, channels)
  const publishAcquaintance = trackAccessibleUsers(realm, accessChange(removed))
  for (const { user, channel } of removed) tx.put('subscription', closed(realm, user, channel))
  for (const [user, channels] of groupByUser(removed)) {
    const subscriptions = channels.map(({ id, name }) => ({ stream_id: id, name }))
    tx.publish({ type: 'subscription', to: [user.id], make: () => ({ op: 'remove', subscriptions }) })
  }
  for (const [channel, users] of byChannel) {
    publishPeers(tx, 'peer_remove', channel, idsOf(users), viewersOf(realm, channel))
  }
  publishSight(tx)
  publishAcquaintance(tx)
  return removed
}

const accessChange = (pairs: readonly SubscriptionPair[]) => ({
  userIds: pairs.map(({ user }) => user.id),
  channelIds: [...new Set(pairs.map(({ channel }) => channel.id))],
})

function markRead(realm: Realm, tx: Transaction, user: User, channels: readonly Channel[]): void {
  const rows = unreadWithin(
    realm,
    user,
    channels.map(({ recipientId }) => recipientId),
  )
  changeFlag(realm, tx, user, 'read', 'add', rows)
}

function publishAdded(realm: Realm, tx: Transaction, user: User, channels: readonly Channel[]): void {
  tx.publish({
    type: 'subscription',
    to: [user.id],
    make: ({ can }) => {
      const shown = channels.filter(({ isArchived }) => !isArchived || can.archived_channels)
      const form = { nullable: can.notification_settings_null }
      const subscriptions = shown.map((channel) => {
        const subscription = defined(realm.state.subscriptionsOf.get(user.id).get(channel.id))
        return subscriptionView(realm, user, channel, subscription, form, 'true')
      })
      return shown.length === 0 ? null : { op: 'add', subscriptions }
    },
  })
}

/** Retains the settings of an earlier subscription. The user receives messages from now on. */
function opened(
  realm: Realm,
  user: User,
  channel: Channel,
  color: string | undefined,
  by: User | undefined,
): Subscription {
  const before = realm.state.subscriptionsOf.get(user.id).get(channel.id)
  return {
    isMuted: false,
    pinToTop: false,
    desktopNotifications: null,
    audibleNotifications: null,
    pushNotifications: null,
    emailNotifications: null,
    wildcardMentionsNotify: null,
    ...(by !== undefined && by.id !== user.id && { by: by.id }),
    ...before,
    userId: user.id,
    channelId: channel.id,
    isActive: true,
    color: color ?? before?.color ?? freeColor(realm, user),
    intervals: begun(realm, channel, before?.intervals ?? []),
  }
}

function closed(realm: Realm, user: User, channel: Channel): Subscription {
  const subscription = defined(realm.state.subscriptionsOf.get(user.id).get(channel.id))
  return { ...subscription, isActive: false, intervals: ended(realm, channel, subscription.intervals) }
}

type Intervals = Subscription['intervals']

/** Opens an interval after the newest message. Accounts that earlier versions deactivated still have an open one. */
export function begun({ store }: Realm, { recipientId }: Channel, intervals: Intervals): Intervals {
  const isOpen = intervals.at(-1)?.[1] === null
  return isOpen ? intervals : [...intervals, [store.messages.maxOrdinal(recipientId) + 1, null]]
}

export function ended({ store }: Realm, { recipientId }: Channel, intervals: Intervals): Intervals {
  const last = store.messages.maxOrdinal(recipientId)
  const closed = intervals.map(([from, to]) => [from, to ?? last] as const)
  return closed.filter(([from, to]) => from <= to) // an interval without messages is dropped
}

const idsOf = (users: readonly User[]): number[] => users.map(({ id }) => id)

function othersOf(ids: readonly number[], users: readonly User[]): number[] {
  const own = new Set(idsOf(users))
  return ids.filter((id) => !own.has(id))
}

const groupByChannel = (pairs: readonly SubscriptionPair[]): Map<Channel, User[]> =>
  new Map(
    [...Map.groupBy(pairs, ({ channel }) => channel)].map(([channel, of]) => [channel, of.map(({ user }) => user)]),
  )

const groupByUser = (pairs: readonly SubscriptionPair[]): Map<User, Channel[]> =>
  new Map([...Map.groupBy(pairs, ({ user }) => user)].map(([user, of]) => [user, of.map(({ channel }) => channel)]))
