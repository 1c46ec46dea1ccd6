/** Which messages the account is notified of, as its settings say: `chat/CONTRACT.md`, section 2.7. Uses no DOM. */

import { conversationOf, keyOf } from './conversation.ts'
import { FOLLOWED, isMuted, type RealmView } from './realm.ts'
import type { ReceivedMessage } from './types.ts'

export interface Notice {
  readonly isShown: boolean
  readonly isHeard: boolean
}

const NONE: Notice = { isShown: false, isHeard: false }

/** A mention of the account by name counts also in muted conversations, as in Zulip's web client; one of everybody does not. */
export function noticeOf(realm: RealmView, message: ReceivedMessage): Notice {
  const { settings, ownId, channels, topicPolicies } = realm
  const { flags } = message
  if (message.sender_id === ownId || flags.includes('read') || realm.mutedUsers.has(message.sender_id)) return NONE
  const personal: Notice = {
    isShown: settings.enable_desktop_notifications === true,
    isHeard: settings.enable_sounds === true,
  }
  if (message.type === 'private' || flags.includes('mentioned')) return personal
  const conversation = conversationOf(message, ownId)
  const isFollowed = topicPolicies.get(keyOf(conversation))?.policy === FOLLOWED
  if (isMuted(realm, conversation)) return NONE
  const channel = channels.get(message.stream_id ?? -1)
  const isForAll = flags.some((flag) => /^(stream|topic)_wildcard_mentioned$/.test(flag))
  const hearsAll = channel?.wildcard_mentions_notify ?? settings.wildcard_mentions_notify
  const hearsAllFollowed = isFollowed && settings.enable_followed_topic_wildcard_mentions_notify === true
  if (isForAll && (hearsAll === true || hearsAllFollowed)) return personal
  const isShownFollowed = isFollowed && settings.enable_followed_topic_desktop_notifications === true
  const isHeardFollowed = isFollowed && settings.enable_followed_topic_audible_notifications === true
  const isShown = channel?.desktop_notifications ?? settings.enable_stream_desktop_notifications
  const isHeard = channel?.audible_notifications ?? settings.enable_stream_audible_notifications
  return { isShown: isShownFollowed || isShown === true, isHeard: isHeardFollowed || isHeard === true }
}

const ALL = 1
const NOT_CHANNELS = 2
const MENTIONS = 3

/** Number beside the title and the icon: `desktop_icon_count_display`. */
export function unreadCount(realm: RealmView): number {
  const display = realm.settings.desktop_icon_count_display ?? ALL
  const groups = realm.unread.groups().filter(({ conversation }) => !isMuted(realm, conversation))
  const total = (all: typeof groups) => all.reduce((sum, { ids }) => sum + ids.length, 0)
  if (display === ALL) return total(groups)
  if (display !== NOT_CHANNELS && display !== MENTIONS) return 0
  const isFollowed = (key: string) => realm.topicPolicies.get(key)?.policy === FOLLOWED
  const [complete, others] = [true, false].map((wanted) =>
    groups.filter(
      ({ conversation }) =>
        wanted === (conversation.kind === 'direct' || (display === NOT_CHANNELS && isFollowed(keyOf(conversation)))),
    ),
  ) as [typeof groups, typeof groups]
  return total(complete) + others.reduce((sum, { mentions }) => sum + mentions, 0)
}

export const hasUnreadDirects = (realm: RealmView): boolean =>
  realm.unread.groups().some(({ conversation }) => conversation.kind === 'direct')
