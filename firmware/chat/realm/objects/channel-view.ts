import { systemName } from '../model/group-membership.ts'
import type { GroupValue } from '../model/group-value.ts'
import { userSetting } from '../model/read-settings.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { Channel, Subscription, User } from '../model/records.ts'
import { channelGroupValues } from '../permissions/group-rights.ts'
import { isRecentlyActive, weeklyTraffic } from './channel-traffic.ts'

/** Members of `BasicChannel` that change with messages and time. */
export const channelActivity = (realm: Realm, channel: Channel) => ({
  is_recently_active: isRecentlyActive(realm, channel, nowOf(realm)),
  stream_weekly_traffic: weeklyTraffic(realm, channel, nowOf(realm)),
})

/** `BasicChannel`, the set C of contract section 2.3. */
export function channelView(
  realm: Realm,
  channel: Channel,
  activity = channelActivity(realm, channel),
): Record<string, unknown> {
  const groups = channelGroupValues(realm, channel)
  const { can_remove_subscribers_group: removers } = groups
  const policy = postPolicy(realm, groups.can_send_message_group)
  return {
    stream_id: channel.id,
    name: channel.name,
    description: channel.description,
    rendered_description: channel.renderedDescription,
    date_created: channel.dateCreated,
    creator_id: channel.creatorId,
    invite_only: channel.isPrivate,
    is_web_public: channel.isWebPublic,
    history_public_to_subscribers: channel.historyPublicToSubscribers,
    is_archived: channel.isArchived,
    message_retention_days: channel.messageRetentionDays,
    topics_policy: channel.topicsPolicy,
    folder_id: channel.folderId,
    first_message_id: channel.firstMessageId,
    ...activity,
    subscriber_count: subscriberIds(realm, channel).length,
    ...groups,
    ...(typeof removers === 'number' && { can_remove_subscribers_group_id: removers }),
    stream_post_policy: policy,
    is_announcement_only: policy === POST_POLICY.administrators,
  }
}

/** Deprecated: predecessor of can_send_message_group. */
const POST_POLICY = { everyone: 1, administrators: 2, fullMembers: 3, moderators: 4 } as const

function postPolicy(realm: Realm, senders: GroupValue): number {
  switch (systemName(typeof senders === 'number' ? realm.state.group.get(senders) : undefined)) {
    case 'role:nobody':
    case 'role:owners':
    case 'role:administrators':
      return POST_POLICY.administrators
    case 'role:moderators':
      return POST_POLICY.moderators
    case 'role:fullmembers':
      return POST_POLICY.fullMembers
    default:
      return POST_POLICY.everyone
  }
}

/** Active subscribers, ascending. */
export function subscriberIds(realm: Realm, channel: Channel): number[] {
  const ids: number[] = []
  for (const id of realm.state.subscribersOf.get(channel.id).keys()) {
    if (realm.state.user.get(id)?.isActive === true) ids.push(id)
  }
  return ids.sort((a, b) => a - b)
}

/** Settings of the user that apply where a subscription has none of its own. */
export const INHERITED = {
  desktop_notifications: 'enable_stream_desktop_notifications',
  audible_notifications: 'enable_stream_audible_notifications',
  push_notifications: 'enable_stream_push_notifications',
  email_notifications: 'enable_stream_email_notifications',
  wildcard_mentions_notify: 'wildcard_mentions_notify',
} as const
type NotificationSetting = keyof typeof INHERITED
export const NOTIFICATION_SETTINGS = Object.keys(INHERITED) as NotificationSetting[]

interface SubscriptionForm {
  /** `notification_settings_null`: inherited settings are null, and clients look them up. */
  nullable: boolean
}

/** The set S of contract section 2.3, without the lists of subscribers. */
export function subscriptionSettings(user: User, subscription: Subscription, { nullable }: SubscriptionForm) {
  const notifications = NOTIFICATION_SETTINGS.map((name) => [
    name,
    subscription[CAMEL[name]] ?? (nullable ? null : userSetting(user, INHERITED[name])),
  ])
  return {
    color: subscription.color,
    pin_to_top: subscription.pinToTop,
    is_muted: subscription.isMuted,
    in_home_view: !subscription.isMuted,
    ...(Object.fromEntries(notifications) as Record<NotificationSetting, boolean | null>),
  }
}

/** Names in the stored record. */
export const CAMEL = {
  desktop_notifications: 'desktopNotifications',
  audible_notifications: 'audibleNotifications',
  push_notifications: 'pushNotifications',
  email_notifications: 'emailNotifications',
  wildcard_mentions_notify: 'wildcardMentionsNotify',
} as const satisfies Record<NotificationSetting, keyof Subscription>

/** Parameter include_subscribers. Level 412 added `partial`. */
export type IncludeSubscribers = 'true' | 'false' | 'partial'

const PARTIAL_BELOW = 250 // subscribers: smaller channels are listed completely

/** `subscribers`, or for a large channel `partial_subscribers` with its bots, which clients show first. */
export function subscribersView(realm: Realm, channel: Channel, include: IncludeSubscribers): Record<string, number[]> {
  if (include === 'false') return {}
  const ids = subscriberIds(realm, channel)
  if (include === 'true' || ids.length < PARTIAL_BELOW) return { subscribers: ids }
  return { partial_subscribers: ids.filter((id) => realm.state.user.get(id)?.bot !== null).slice(0, PARTIAL_BELOW) }
}

export const subscriptionView = (
  realm: Realm,
  user: User,
  channel: Channel,
  subscription: Subscription,
  form: SubscriptionForm,
  include: IncludeSubscribers,
): Record<string, unknown> => ({
  ...channelView(realm, channel),
  ...subscriptionSettings(user, subscription, form),
  ...subscribersView(realm, channel, include),
})
