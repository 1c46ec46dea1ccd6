/** Events for channels that become visible or invisible to users, for any reason. Contract V41, V42, V47. */

import type { Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { seesTest } from '../permissions/channel-rights.ts'
import { publishFolderOf } from './channel-folders.ts'
import { channelView, subscriberIds } from './channel-view.ts'
import { publishTopicsOf } from './user-topics.ts'

/** Cause of the event. Some feature levels send events only for certain causes: contract 8.1, levels 134, 192 and 377. */
type Cause = 'made_public' | 'subscribed' | 'deactivation'

/**
 * Call before roles, groups, subscriptions or channels change; call the returned function after the change. It publishes to each of the
 * users the channels that became visible or invisible. `earlier`: the realm at an earlier time, if the change is the passing of time.
 */
export function trackVisibility(
  realm: Realm,
  userIds: Iterable<number>,
  channels: Iterable<Channel> = realm.state.channel.all(),
  earlier: Realm = realm,
): (tx: Transaction, options?: { withPeers?: boolean; cause?: Cause }) => void {
  const ids = [...new Set(userIds)].filter(realm.events.hasQueue)
  const before = [...channels].map(({ id }) => ({ id, viewers: viewersAmong(earlier, ids, id) }))
  return (tx, { withPeers = true, cause } = {}) => {
    for (const { id, viewers } of before) {
      const after = viewersAmong(realm, ids, id)
      const gained = [...after.difference(viewers)]
      const channel = realm.state.channel.get(id)
      if (gained.length > 0 && channel !== undefined) {
        publishFolderOf(realm, tx, channel, gained)
        publishCreation(realm, tx, channel, gained, cause)
        if (withPeers) publishPeers(tx, 'peer_add', channel, subscriberIds(realm, channel), gained, cause)
        publishTopicsOf(realm, tx, id, gained)
      }
      publishDeletion(tx, id, [...viewers.difference(after)])
    }
  }
}

function viewersAmong(realm: Realm, ids: readonly number[], channelId: number): Set<number> {
  const channel = realm.state.channel.get(channelId)
  if (channel === undefined) return new Set()
  const sees = seesTest(realm, channel)
  const isViewer = (user: User | undefined): boolean => user?.isActive === true && sees(user)
  return new Set(ids.filter((id) => isViewer(realm.state.user.get(id))))
}

export function publishCreation(
  realm: Realm,
  tx: Transaction,
  channel: Channel,
  to: readonly number[],
  cause?: Cause,
): void {
  tx.publish({
    type: 'stream',
    to,
    ...(cause && { cause }),
    make: ({ can }) =>
      channel.isArchived && !can.archived_channels ? null : { op: 'create', streams: [channelView(realm, channel)] },
  })
}

export function publishDeletion(tx: Transaction, channelId: number, to: readonly number[]): void {
  tx.publish({
    type: 'stream',
    to,
    make: () => ({ op: 'delete', stream_ids: [channelId], streams: [{ stream_id: channelId }] }),
  })
}

/** Publishes other users who enter or leave a channel. Omits the recipient, whom another event covers. */
export function publishPeers(
  tx: Transaction,
  op: 'peer_add' | 'peer_remove',
  channel: Channel,
  userIds: readonly number[],
  to: readonly number[],
  cause?: Cause,
): void {
  const altered = new Set(userIds)
  const publish = (user_ids: readonly number[], to: readonly number[]): void => {
    if (user_ids.length === 0 || to.length === 0) return
    tx.publish({
      type: 'subscription',
      to,
      ...(cause && { cause }),
      make: ({ can }) =>
        channel.isArchived && !can.archived_channels ? null : { op, stream_ids: [channel.id], user_ids },
    })
  }
  publish(
    userIds,
    to.filter((id) => !altered.has(id)),
  )
  for (const id of to) {
    if (!altered.has(id)) continue
    publish(
      userIds.filter((other) => other !== id),
      [id],
    )
  }
}
