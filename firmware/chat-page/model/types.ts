/** Members of API objects that the page reads. `chat/CONTRACT.md`, sections 2 and 4. */

export interface Participant {
  user_id: number
  full_name: string
  avatar_url: string | null
  is_bot: boolean
  is_active?: boolean
  role?: number
  email?: string
  /** Null if this account may not see it. */
  delivery_email?: string | null
  timezone?: string
  date_joined?: string
  bot_type?: number | null
  bot_owner_id?: number | null
}

/** Contract section 2.5. Unix times in seconds. */
export interface PresenceTimes {
  active_timestamp?: number
  idle_timestamp?: number
}

/** Contract section 2.5. Absent members are empty. */
export interface StatusOfUser {
  status_text?: string
  emoji_name?: string
  emoji_code?: string
  reaction_type?: string
}

export interface SubscribedChannel {
  stream_id: number
  name: string
  color: string
  is_muted: boolean
  pin_to_top: boolean
  description: string
  invite_only: boolean
  is_archived: boolean
  folder_id: number | null
  /** Null: as the settings of the account say. */
  desktop_notifications?: boolean | null
  audible_notifications?: boolean | null
  wildcard_mentions_notify?: boolean | null
}

/** Contract section 2.5. */
export interface FolderOfServer {
  id: number
  name: string
  order: number
  is_archived: boolean
}

/** Contract section 2.5. */
export interface DraftOfServer {
  id: number
  type: '' | 'stream' | 'private'
  to: readonly number[]
  topic: string
  content: string
  /** Unix time in seconds. */
  timestamp: number
}

/** One change of a widget. `content` is JSON. */
export interface ReceivedSubmessage {
  id: number
  sender_id: number
  msg_type: string
  content: string
}

export interface UserGroup {
  id: number
  name: string
  description: string
  members: readonly number[]
  direct_subgroup_ids: readonly number[]
  is_system_group: boolean
  deactivated: boolean
  /** Holders of its rights, by name. */
  [right: `can_${string}`]: RightHolders | undefined
}

/** Holders of a right: a group, or users and groups. */
export type RightHolders =
  | number
  | { readonly direct_members: readonly number[]; readonly direct_subgroups: readonly number[] }

export interface CustomEmoji {
  id: string
  name: string
  source_url: string
  deactivated: boolean
}

/** Contract section 2.7; the page itself uses the named ones. */
export interface OwnSettings extends Record<string, unknown> {
  enter_sends: boolean
  /** Null: the clock of the language. */
  twenty_four_hour_time: boolean | null
  web_mark_read_on_scroll_policy: number
  enable_drafts_synchronization: boolean
  presence_enabled: boolean
  send_private_typing_notifications: boolean
  send_stream_typing_notifications: boolean
}

/** Which groups a setting accepts. Contract section 7.2. */
export interface PermissionBound {
  require_system_group: boolean
  allow_nobody_group: boolean
  allow_everyone_group: boolean
  allowed_system_groups: readonly string[]
}

export type PermissionBounds = Readonly<Record<'realm' | 'stream' | 'group', Readonly<Record<string, PermissionBound>>>>

/** Settings of the organization, without the prefix `realm_` of their names. */
export interface Policies {
  allow_message_editing: boolean
  message_content_edit_limit_seconds: number | null
  message_content_delete_limit_seconds: number | null
  can_delete_any_message_group: RightHolders
  can_delete_own_message_group: RightHolders
}

export interface ReactionOfMessage {
  emoji_name: string
  emoji_code: string
  reaction_type: string
  user_id: number
}

export interface ReceivedMessage {
  id: number
  timestamp: number
  type: 'stream' | 'private'
  sender_id: number
  sender_full_name: string
  avatar_url: string | null
  stream_id?: number
  subject: string
  /** Id of the channel or direct conversation as a recipient. */
  recipient_id: number
  display_recipient: string | { id: number }[]
  content: string
  is_me_message: boolean
  reactions: ReactionOfMessage[]
  submessages: ReceivedSubmessage[]
  last_edit_timestamp?: number
  flags: string[]
}

interface UnreadInChannel {
  stream_id: number
  topic: string
  unread_message_ids: number[]
}

type PrefixedPolicies = { [Name in keyof Policies as `realm_${Name}`]: Policies[Name] }

export interface Registered extends PrefixedPolicies {
  /** Null without a session. */
  queue_id: string | null
  last_event_id: number
  user_id: number
  realm_name: string
  zulip_version: string
  zulip_feature_level: number
  max_message_length: number
  realm_empty_topic_display_name: string
  realm_users: Participant[]
  cross_realm_bots: Participant[]
  realm_non_active_users: Participant[]
  subscriptions: SubscribedChannel[]
  channel_folders: FolderOfServer[]
  recent_private_conversations: { max_message_id: number; user_ids: number[] }[]
  user_settings: OwnSettings
  user_status: Record<string, StatusOfUser>
  presences: Record<string, PresenceTimes>
  presence_last_update_id: number
  server_timestamp: number
  server_presence_ping_interval_seconds: number
  server_presence_offline_threshold_seconds: number
  server_typing_started_expiry_period_milliseconds: number
  server_typing_stopped_wait_period_milliseconds: number
  server_typing_started_wait_period_milliseconds: number
  server_supported_permission_settings: PermissionBounds
  drafts: DraftOfServer[]
  realm_emoji: Record<string, CustomEmoji>
  realm_user_groups: UserGroup[]
  muted_users: { id: number }[]
  user_topics: { stream_id: number; topic_name: string; visibility_policy: number }[]
  unread_msgs: {
    pms: { other_user_id: number; unread_message_ids: number[] }[]
    streams: UnreadInChannel[]
    huddles: { user_ids_string: string; unread_message_ids: number[] }[]
    mentions: number[]
  }
}

/** One event of a queue. `type` and `op` determine its members. */
export interface QueueEvent {
  id: number
  type: string
  op?: string
  // biome-ignore lint/suspicious/noExplicitAny: each type has members of its own
  [member: string]: any
}
