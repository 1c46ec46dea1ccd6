/** Settings of users, for which the organization can set defaults. Contract section 2.7. */

import * as z from 'zod'
import { choice, defaultsOf, integer, name, onOff, type Setting, type Values, word } from './setting.ts'

const BATCHING_SECONDS_MAX = 604_800 // a week
const LANGUAGE_CHARACTERS_MAX = 50
const TIMEZONE_CHARACTERS_MAX = 40
const FONT_SIZE_PX = [8, 24] as const // readable and still fits a screen
const LINE_HEIGHT_PERCENT = [100, 200] as const

const NOTIFICATION_SOUNDS = ['ding', 'zulip'] as const
const EMOJI_SETS = [
  { key: 'google', text: 'Google' },
  { key: 'google-blob', text: 'Google blobs' },
  { key: 'twitter', text: 'Twitter' },
  { key: 'text', text: 'Plain text' },
] as const

export const language = {
  ...name(LANGUAGE_CHARACTERS_MAX, 'en'),
  schema: z
    .string()
    .max(LANGUAGE_CHARACTERS_MAX)
    .regex(/^[A-Za-z]{2,3}([_-][A-Za-z0-9]{2,8}){0,3}$/),
}

const timezone = {
  ...name(TIMEZONE_CHARACTERS_MAX),
  schema: z
    .string()
    .max(TIMEZONE_CHARACTERS_MAX)
    .refine((name) => name === '' || isTimezone(name)),
}

/** 1 everyone, 2 members, 3 administrators, 4 nobody, 5 moderators. Contract section 2.2. */
const EMAIL_VISIBILITIES = [1, 2, 3, 4, 5] as const

export const USER_SETTINGS = {
  twenty_four_hour_time: { schema: z.boolean().nullable(), default: null, raw: false },
  web_mark_read_on_scroll_policy: choice([1, 2, 3], 1),
  web_channel_default_view: choice([1, 2, 3, 4], 1),
  web_home_view: word(['inbox', 'recent', 'all_messages'], 'inbox'),
  web_escape_navigates_to_home_view: onOff(true),
  starred_message_counts: onOff(true),
  receives_typing_notifications: onOff(true),
  web_suggest_update_timezone: onOff(true),
  display_emoji_reaction_users: onOff(true),
  web_navigate_to_sent_message: onOff(true),
  web_left_sidebar_show_channel_folders: onOff(true),
  web_inbox_show_channel_folders: onOff(true),
  fluid_layout_width: onOff(false),
  high_contrast_mode: onOff(false),
  translate_emoticons: onOff(false),
  left_side_userlist: onOff(false),
  enter_sends: onOff(false),
  hide_ai_features: onOff(false),
  web_left_sidebar_unreads_count_summary: onOff(true),
  web_font_size_px: integer(...FONT_SIZE_PX, 16),
  web_line_height_percent: integer(...LINE_HEIGHT_PERCENT, 140),
  color_scheme: choice([1, 2, 3], 1),
  emojiset: word(
    EMOJI_SETS.map(({ key }) => key),
    'google',
  ),
  demote_inactive_streams: choice([1, 2, 3], 1),
  user_list_style: choice([1, 2, 3], 3),
  web_animate_image_previews: word(['always', 'on_hover', 'never'], 'on_hover'),
  web_stream_unreads_count_display_policy: choice([1, 2, 3], 2),
  default_language: language,
  timezone,
  enable_drafts_synchronization: onOff(true),
  enable_stream_desktop_notifications: onOff(false),
  enable_stream_email_notifications: onOff(false),
  enable_stream_push_notifications: onOff(false),
  enable_stream_audible_notifications: onOff(false),
  enable_followed_topic_desktop_notifications: onOff(true),
  enable_followed_topic_email_notifications: onOff(true),
  enable_followed_topic_push_notifications: onOff(true),
  enable_followed_topic_audible_notifications: onOff(true),
  enable_followed_topic_wildcard_mentions_notify: onOff(true),
  enable_desktop_notifications: onOff(true),
  enable_sounds: onOff(true),
  enable_offline_email_notifications: onOff(true),
  enable_offline_push_notifications: onOff(true),
  enable_online_push_notifications: onOff(true),
  enable_digest_emails: onOff(true),
  enable_marketing_emails: onOff(true),
  enable_login_emails: onOff(true),
  message_content_in_email_notifications: onOff(true),
  pm_content_in_desktop_notifications: onOff(true),
  wildcard_mentions_notify: onOff(true),
  notification_sound: word([...NOTIFICATION_SOUNDS, 'none'], 'zulip'),
  email_notifications_batching_period_seconds: integer(0, BATCHING_SECONDS_MAX, 120),
  desktop_icon_count_display: choice([1, 2, 3, 4], 1),
  realm_name_in_email_notifications_policy: choice([1, 2, 3], 1),
  automatically_follow_topics_policy: choice([1, 2, 3, 4], 3),
  automatically_unmute_topics_in_muted_streams_policy: choice([1, 2, 3, 4], 2),
  automatically_follow_topics_where_mentioned: onOff(true),
  resolved_topic_notice_auto_read_policy: word(['always', 'except_followed', 'never'], 'except_followed'),
  presence_enabled: onOff(true),
  send_private_typing_notifications: onOff(true),
  send_stream_typing_notifications: onOff(true),
  send_read_receipts: onOff(true),
  allow_private_data_export: onOff(false),
  email_address_visibility: choice(EMAIL_VISIBILITIES, 1),
} as const satisfies Record<string, Setting>

export type UserSetting = keyof typeof USER_SETTINGS
export type UserSettings = Values<typeof USER_SETTINGS>

export const userSettingDefaults = (): UserSettings => defaultsOf(USER_SETTINGS)

export const READ_ONLY = { available_notification_sounds: NOTIFICATION_SOUNDS, emojiset_choices: EMOJI_SETS }

export const NOT_IN_REALM_DEFAULTS = [
  'default_language',
  'timezone',
  'enable_marketing_emails',
  'enable_login_emails',
  'allow_private_data_export',
] as const satisfies readonly UserSetting[]

/** An administrator cannot change these for other users. Contract section 3.4.2. */
export const NOT_IN_BULK = [
  'timezone',
  'allow_private_data_export',
  'email_address_visibility',
  'enable_digest_emails',
  'enable_login_emails',
  'enable_marketing_emails',
  'presence_enabled',
  'send_private_typing_notifications',
  'send_read_receipts',
  'send_stream_typing_notifications',
] as const satisfies readonly UserSetting[]

/** Copies at the top of the register answer for clients without `user_settings_object`. Contract section 4.2. */
export const LEGACY_DISPLAY_SETTINGS = [
  'color_scheme',
  'default_language',
  'demote_inactive_streams',
  'emojiset',
  'enable_drafts_synchronization',
  'enter_sends',
  'fluid_layout_width',
  'high_contrast_mode',
  'left_side_userlist',
  'receives_typing_notifications',
  'starred_message_counts',
  'timezone',
  'translate_emoticons',
  'twenty_four_hour_time',
  'web_home_view',
] as const satisfies readonly UserSetting[]

export const LEGACY_NOTIFICATION_SETTINGS = [
  'desktop_icon_count_display',
  'email_notifications_batching_period_seconds',
  'enable_desktop_notifications',
  'enable_digest_emails',
  'enable_login_emails',
  'enable_marketing_emails',
  'enable_offline_email_notifications',
  'enable_offline_push_notifications',
  'enable_online_push_notifications',
  'enable_sounds',
  'enable_stream_audible_notifications',
  'enable_stream_desktop_notifications',
  'enable_stream_email_notifications',
  'enable_stream_push_notifications',
  'message_content_in_email_notifications',
  'notification_sound',
  'pm_content_in_desktop_notifications',
  'presence_enabled',
  'realm_name_in_email_notifications_policy',
  'wildcard_mentions_notify',
] as const satisfies readonly UserSetting[]

export const picked = <K extends UserSetting>(settings: UserSettings, names: readonly K[]): Pick<UserSettings, K> =>
  Object.fromEntries(names.map((name) => [name, settings[name]])) as Pick<UserSettings, K>

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return !/^[+-]/.test(name) // an offset is not a time zone name
  } catch {
    return false
  }
}
