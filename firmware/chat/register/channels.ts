/** Register sections of channels: stream, subscription, default_streams and related ones. Contract section 4.2. */

import type { Realm } from '../realm/model/realm.ts'
import type { Channel } from '../realm/model/records.ts'
import { ROLES } from '../realm/model/roles.ts'
import { folderViews } from '../realm/objects/channel-folders.ts'
import { channelActivity, channelView, subscribersView, subscriptionSettings } from '../realm/objects/channel-view.ts'
import { defaultChannelIds } from '../realm/objects/default-channels.ts'
import { defaultGroupViews } from '../realm/objects/default-groups.ts'
import { visibleChannels } from '../realm/permissions/channel-find.ts'
import type { RegisterSection } from './section.ts'
import { listText, mergedText, type SharedTexts, sharedTexts } from './shared-texts.ts'

export const streamBlock: RegisterSection = ({ realm, me, shape }) => {
  const texts = sharedTexts(realm)
  const channels = visibleChannels(realm, me, shape.can.archived_channels)
  return { streams: listText(channels.map((channel) => channelText(realm, texts, channel))) }
}

/** Puts each visible channel into one of three lists: subscribed, unsubscribed, never subscribed. */
export const subscriptionBlock: RegisterSection = ({ realm, me, shape, includeSubscribers }) => {
  const texts = sharedTexts(realm)
  const [subscriptions, unsubscribed, never]: [string[], string[], string[]] = [[], [], []]
  const own = realm.state.subscriptionsOf.get(me.id)
  const form = { nullable: shape.can.notification_settings_null }
  for (const channel of visibleChannels(realm, me, shape.can.archived_channels)) {
    const view = channelText(realm, texts, channel)
    const subscribers = texts.of(channel, `subscribers ${includeSubscribers}`, () =>
      subscribersView(realm, channel, includeSubscribers),
    )
    const subscription = own.get(channel.id)
    if (subscription === undefined) never.push(mergedText(view, subscribers))
    else {
      const settings = JSON.stringify(subscriptionSettings(me, subscription, form))
      const list = subscription.isActive ? subscriptions : unsubscribed
      list.push(mergedText(view, settings, subscribers))
    }
  }
  return {
    subscriptions: listText(subscriptions),
    unsubscribed: listText(unsubscribed),
    never_subscribed: listText(never),
  }
}

function channelText(realm: Realm, texts: SharedTexts, channel: Channel): string {
  const activity = channelActivity(realm, channel)
  const form = `channel ${activity.is_recently_active} ${activity.stream_weekly_traffic}`
  return texts.of(channel, form, () => channelView(realm, channel, activity))
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
