/** Settings that owners and administrators change, except group settings. Contract section 2.6. */

import * as z from 'zod'
import { defined } from '../../../base/defined.ts'
import { choice, integer, name, onOff, type Setting, text, type Values, word } from './setting.ts'
import { language } from './user-settings.ts'

const NAME_CHARACTERS_MAX = 40
const DESCRIPTION_CHARACTERS_MAX = 1000
export const WELCOME_CHARACTERS_MAX = 8000
const LANGUAGE_CHARACTERS_MAX = 40
const URL_CHARACTERS_MAX = 200
const DAYS_MAX = 36_500 // a century
const PAGE_OFFLINE_DAYS_MAX = 90 // a lost device tells its owner nothing until then
const SECONDS_MAX = DAYS_MAX * 86_400
const ID_MAX = Number.MAX_SAFE_INTEGER

/** 0 unspecified, 10 business, 20 open source, 30 and 35 education, 40 research, 50 to 100 other kinds, 1000 other. */
const ORGANIZATION_TYPES = [0, 10, 20, 30, 35, 40, 50, 60, 70, 80, 90, 100, 1000] as const

/** 0 none, 1 Jitsi, 3 and 5 Zoom, 4 BigBlueButton, 6 Constructor Groups, 7 Nextcloud Talk, 8 Webex. */
const VIDEO_CHAT_PROVIDERS = [0, 1, 3, 4, 5, 6, 7, 8] as const

/** In the order of Zulip's numbers 1 to 3, which requests may use instead. The history stores them too: contract section 11.4. */
const EDIT_HISTORY_POLICIES = ['all', 'moves', 'none'] as const

export interface RealmSetting<Schema extends z.ZodType = z.ZodType> extends Setting<Schema> {
  /** The role that may change it; null: the operator of the appliance only. */
  who: 'administrators' | 'owners' | null
  /** Type of the event for a change: one event for this setting, or one for several changed settings (`update_dict`). */
  event: 'update' | 'update_dict'
}

const row = <Row extends Setting>(setting: Row, input: Partial<Pick<RealmSetting, 'who' | 'event'>> = {}) => ({
  ...setting,
  who: 'administrators' as RealmSetting['who'],
  event: 'update' as RealmSetting['event'],
  ...input,
})

const OWNERS = { who: 'owners' } as const
const DICT = { event: 'update_dict' } as const

/** A time limit: the request parameter is `unlimited` or seconds, the answer has null for unlimited. Zero is invalid. */
const limit = (value: number) => ({
  schema: z.union([z.int().min(1).max(SECONDS_MAX), z.literal('unlimited').transform(() => null), z.null()]),
  default: value,
  raw: false,
})

/** The channel for a kind of announcements; -1: none. */
const channel = integer(-1, ID_MAX, -1)

export const REALM_SETTINGS = {
  name: row({ ...name(NAME_CHARACTERS_MAX), schema: name(NAME_CHARACTERS_MAX).schema.refine((name) => name !== '') }),
  description: row(text(DESCRIPTION_CHARACTERS_MAX), DICT),
  org_type: row(choice(ORGANIZATION_TYPES, 0)),
  want_advertise_in_communities_directory: row(onOff(false)),
  default_code_block_language: row(name(LANGUAGE_CHARACTERS_MAX)),
  default_language: row(language),
  allow_message_editing: row(onOff(true), DICT),
  message_content_edit_limit_seconds: row(limit(600), DICT),
  message_content_delete_limit_seconds: row(limit(600)),
  move_messages_within_stream_limit_seconds: row(limit(604_800)),
  move_messages_between_streams_limit_seconds: row(limit(604_800)),
  message_edit_history_visibility_policy: row({
    schema: z.union([
      z.enum(EDIT_HISTORY_POLICIES),
      z.literal([1, 2, 3]).transform((n) => defined(EDIT_HISTORY_POLICIES[n - 1])),
    ]),
    default: 'all' as (typeof EDIT_HISTORY_POLICIES)[number],
    raw: false,
  }),
  topics_policy: row(word(['allow_empty_topic', 'disable_empty_topic'], 'allow_empty_topic'), DICT),
  enable_read_receipts: row(onOff(false)),
  enable_guest_user_indicator: row(onOff(true)),
  enable_guest_user_dm_warning: row(onOff(true)),
  enable_spectator_access: row(onOff(false)),
  inline_image_preview: row(onOff(true)),
  inline_url_embed_preview: row(onOff(false)),
  message_retention_days: row(
    {
      ...integer(-1, DAYS_MAX, -1),
      schema: z
        .int()
        .max(DAYS_MAX)
        .refine((n) => n === -1 || n > 0),
    },
    OWNERS,
  ),
  /** Ours: how long a browser keeps messages without an answer of the server. */
  page_offline_days: row(integer(0, PAGE_OFFLINE_DAYS_MAX, 14), OWNERS),
  send_channel_events_messages: row(onOff(false)),
  welcome_message_custom_text: row(text(WELCOME_CHARACTERS_MAX)),
  send_welcome_emails: row(onOff(true)),
  digest_emails_enabled: row(onOff(false)),
  digest_weekday: row(integer(0, 6, 1)),
  message_content_allowed_in_email_notifications: row(onOff(true)),
  require_e2ee_push_notifications: row(onOff(false)),
  name_changes_disabled: row(onOff(false)),
  email_changes_disabled: row(onOff(false)),
  avatar_changes_disabled: row(onOff(false)),
  require_unique_names: row(onOff(false)),
  invite_required: row(onOff(true), OWNERS),
  emails_restricted_to_domains: row(onOff(false), OWNERS),
  disallow_disposable_email_addresses: row(onOff(true), OWNERS),
  waiting_period_threshold: row(integer(0, DAYS_MAX, 0), OWNERS),
  default_avatar_source: row(word(['G', 'J'], 'J')),
  gif_rating_policy: row(choice([0, 1, 2, 3, 4], 1)),
  video_chat_provider: row(choice(VIDEO_CHAT_PROVIDERS, 1)),
  jitsi_server_url: row({
    schema: z.union([z.literal('default').transform(() => null), z.null(), z.httpUrl().max(URL_CHARACTERS_MAX)]),
    default: null,
    raw: false,
  }),
  new_stream_announcements_stream_id: row(channel),
  signup_announcements_stream_id: row(channel),
  zulip_update_announcements_stream_id: row(channel),
  moderation_request_channel_id: row(channel),
  owner_full_content_access: row(onOff(false), { who: null }),
} as const satisfies Record<string, RealmSetting>

export type RealmSettingName = keyof typeof REALM_SETTINGS
export type RealmSettings = Values<typeof REALM_SETTINGS>
