/** Register sections by the name under which clients fetch them. */

import { giphy, realmBilling, realmFilters, stopWords, tenor, videoCalls } from './absent-features.ts'
import { realmBot, realmEmbeddedBots, realmIncomingWebhookBots } from './bots.ts'
import {
  channelFoldersBlock,
  defaultStreamGroupsBlock,
  defaultStreamsBlock,
  streamBlock,
  subscriptionBlock,
} from './channels.ts'
import { realmEmoji } from './emoji.ts'
import { realmUserGroups } from './groups.ts'
import { conversationsBlock, flagsBlock, messageBlock, starredBlock } from './messages.ts'
import { customProfileFields, realmDomains, realmLinkifiers, realmPlaygrounds } from './organization.ts'
import {
  alertWords,
  device,
  drafts,
  mutedUsers,
  navigationViews,
  onboardingSteps,
  pushDevice,
  reminders,
  savedSnippets,
  scheduledMessages,
} from './personal.ts'
import { presence, userStatus } from './presence.ts'
import { realm } from './realm.ts'
import { realmUser } from './realm-user.ts'
import type { RegisterSection } from './section.ts'
import { displaySettings, notificationSettings, realmDefaults, userSettingsBlock } from './settings.ts'
import { mutedTopicsBlock, userTopicBlock } from './user-topics.ts'

export const BLOCKS: Readonly<Record<string, RegisterSection>> = {
  alert_words: alertWords,
  channel_folders: channelFoldersBlock,
  custom_profile_fields: customProfileFields,
  default_stream_groups: defaultStreamGroupsBlock,
  default_streams: defaultStreamsBlock,
  device,
  drafts,
  giphy,
  message: messageBlock,
  muted_topics: mutedTopicsBlock,
  muted_users: mutedUsers,
  navigation_views: navigationViews,
  onboarding_steps: onboardingSteps,
  presence,
  push_device: pushDevice,
  realm,
  realm_billing: realmBilling,
  realm_bot: realmBot,
  realm_domains: realmDomains,
  realm_embedded_bots: realmEmbeddedBots,
  realm_emoji: realmEmoji,
  realm_filters: realmFilters,
  realm_incoming_webhook_bots: realmIncomingWebhookBots,
  realm_linkifiers: realmLinkifiers,
  realm_playgrounds: realmPlaygrounds,
  realm_user: realmUser,
  realm_user_groups: realmUserGroups,
  realm_user_settings_defaults: realmDefaults,
  recent_private_conversations: conversationsBlock,
  reminders,
  saved_snippets: savedSnippets,
  scheduled_messages: scheduledMessages,
  starred_messages: starredBlock,
  stop_words: stopWords,
  stream: streamBlock,
  subscription: subscriptionBlock,
  tenor,
  update_display_settings: displaySettings,
  update_global_notifications: notificationSettings,
  update_message_flags: flagsBlock,
  user_settings: userSettingsBlock,
  user_status: userStatus,
  user_topic: userTopicBlock,
  video_calls: videoCalls,
}
