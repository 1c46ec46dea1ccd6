/** Settings of a subscriber for one channel. Row E55, V46; contract 2.3, set S. */

import { badRequest } from '../../../base/error.ts'
import type { Realm } from '../../model/realm.ts'
import type { Channel, Subscription, User } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'
import { CAMEL, NOTIFICATION_SETTINGS } from '../../objects/channel-view.ts'
import { findChannel } from '../../permissions/channel-find.ts'
import { checkedColor } from './subscriptions.ts'

export const SUBSCRIPTION_PROPERTIES = [
  'color',
  'is_muted',
  'in_home_view',
  'pin_to_top',
  ...NOTIFICATION_SETTINGS,
] as const
type SubscriptionProperty = (typeof SUBSCRIPTION_PROPERTIES)[number]

export interface PropertyChange {
  stream_id: number
  property: SubscriptionProperty
  value: boolean | string | null
}

/** All changes or none. Throws `BAD_REQUEST` for channels without a subscription of `me` and for values of the wrong type. */
export function changeProperties(realm: Realm, me: User, changes: readonly PropertyChange[]): void {
  realm.transaction((tx) => {
    for (const change of changes) changeProperty(realm, tx, me, change)
  })
}

function changeProperty(realm: Realm, tx: Transaction, me: User, { stream_id, property, value }: PropertyChange): void {
  const channel = findChannel(realm, me, stream_id)
  const before = realm.state.subscriptionsOf.get(me.id).get(channel.id)
  if (before?.isActive !== true) throw badRequest(`Not subscribed to channel ID ${stream_id}`)
  const after = { ...before, ...changed(property, value) }
  tx.put('subscription', after)
  for (const [property, value] of told(before, after)) publish(tx, me, channel, property, value)
}

function changed(property: SubscriptionProperty, value: PropertyChange['value']): Partial<Subscription> {
  switch (property) {
    case 'color':
      if (typeof value !== 'string') throw badRequest('color is not a string')
      return { color: checkedColor(value) }
    case 'is_muted':
      return { isMuted: bool(property, value) }
    case 'in_home_view':
      return { isMuted: !bool(property, value) }
    case 'pin_to_top':
      return { pinToTop: bool(property, value) }
    default: // null: inherits the setting for all channels
      return { [CAMEL[property]]: value === null ? null : bool(property, value) }
  }
}

function bool(property: string, value: PropertyChange['value']): boolean {
  if (typeof value !== 'boolean') throw badRequest(`${property} is not a boolean`)
  return value
}

/** Publishes muting under both names: clients below level 139 know only in_home_view. */
function told(before: Subscription, after: Subscription): [string, boolean | string | null][] {
  const changes: [string, boolean | string | null][] = []
  if (after.color !== before.color) changes.push(['color', after.color])
  if (after.isMuted !== before.isMuted) changes.push(['is_muted', after.isMuted], ['in_home_view', !after.isMuted])
  if (after.pinToTop !== before.pinToTop) changes.push(['pin_to_top', after.pinToTop])
  for (const name of NOTIFICATION_SETTINGS)
    if (after[CAMEL[name]] !== before[CAMEL[name]]) changes.push([name, after[CAMEL[name]]])
  return changes
}

function publish(
  tx: Transaction,
  { id }: User,
  channel: Channel,
  property: string,
  value: boolean | string | null,
): void {
  tx.publish({
    type: 'subscription',
    to: [id],
    make: ({ can }) =>
      channel.isArchived && !can.archived_channels ? null : { op: 'update', stream_id: channel.id, property, value },
  })
}
