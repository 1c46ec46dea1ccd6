/** Notification settings that channels inherit from the user. Contract section 4.1, `notification_settings_null`. */

import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import type { UserSetting } from '../model/user-settings.ts'
import { CAMEL, INHERITED, NOTIFICATION_SETTINGS } from './channel-view.ts'

/**
 * Called after a user's setting for all channels changed. Clients without `notification_settings_null` get an event for each channel that
 * inherits it.
 */
export function publishInherited(
  realm: Realm,
  tx: Transaction,
  user: User,
  setting: UserSetting,
  value: unknown,
): void {
  const property = NOTIFICATION_SETTINGS.find((name) => INHERITED[name] === setting)
  if (property === undefined) return
  for (const [channelId, subscription] of realm.state.subscriptionsOf.get(user.id)) {
    if (!subscription.isActive || subscription[CAMEL[property]] !== null) continue
    const isArchived = realm.state.channel.get(channelId)?.isArchived === true
    tx.publish({
      type: 'subscription',
      to: [user.id],
      make: ({ can }) =>
        can.notification_settings_null || (isArchived && !can.archived_channels)
          ? null
          : { op: 'update', stream_id: channelId, property, value },
    })
  }
}
