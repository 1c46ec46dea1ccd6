/** Register sections of channels: stream, subscription, default_streams and related ones. Contract section 4.2. */

import { ROLES } from '../realm/model/roles.ts'
import { folderViews } from '../realm/objects/channel-folders.ts'
import { channelView, subscribersView, subscriptionView } from '../realm/objects/channel-view.ts'
import { defaultChannelIds } from '../realm/objects/default-channels.ts'
import { defaultGroupViews } from '../realm/objects/default-groups.ts'
import { visibleChannels } from '../realm/permissions/channel-find.ts'
import type { RegisterSection } from './section.ts'

export const streamBlock: RegisterSection = ({ realm, me, shape }) => ({
  streams: visibleChannels(realm, me, shape.can.archived_channels).map((channel) => channelView(realm, channel)),
})

/** Puts each visible channel into one of three lists: subscribed, unsubscribed, never subscribed. */
export const subscriptionBlock: RegisterSection = ({ realm, me, shape, includeSubscribers }) => {
  const subscriptions: unknown[] = []
  const unsubscribed: unknown[] = []
  const never_subscribed: unknown[] = []
  const own = realm.state.subscriptionsOf.get(me.id)
  const form = { nullable: shape.can.notification_settings_null }
  for (const channel of visibleChannels(realm, me, shape.can.archived_channels)) {
    const subscription = own.get(channel.id)
    if (subscription === undefined)
      never_subscribed.push({ ...channelView(realm, channel), ...subscribersView(realm, channel, includeSubscribers) })
    else {
      const view = subscriptionView(realm, me, channel, subscription, form, includeSubscribers)
      if (subscription.isActive) subscriptions.push(view)
      else unsubscribed.push(view)
    }
  }
  return { subscriptions, unsubscribed, never_subscribed }
}

export const defaultStreamsBlock: RegisterSection = ({ realm, me }) => ({
  realm_default_streams: me.role === ROLES.guest ? [] : defaultChannelIds(realm),
})

export const defaultStreamGroupsBlock: RegisterSection = ({ realm, me }) => ({
  realm_default_stream_groups: me.role === ROLES.guest ? [] : defaultGroupViews(realm),
})

export const channelFoldersBlock: RegisterSection = ({ realm, me }) => ({
  channel_folders: folderViews(realm, me, true),
})
