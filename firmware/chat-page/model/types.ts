/** Objects of the API as far as the page reads them. `chat/CONTRACT.md`, sections 2 and 4. */

export interface Participant {
  user_id: number
  full_name: string
  avatar_url: string | null
  is_bot: boolean
}

export interface SubscribedChannel {
  stream_id: number
  name: string
  color: string
  is_muted: boolean
  pin_to_top: boolean
  description: string
}

/** Contract section 2.5. */
export interface DraftOfServer {
  id: number
  type: '' | 'stream' | 'private'
  to: readonly number[]
  topic: string
  content: string
  /** Seconds. */
  timestamp: number
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
  display_recipient: string | { id: number }[]
  content: string
  is_me_message: boolean
  reactions: ReactionOfMessage[]
  last_edit_timestamp?: number
  flags: string[]
}

interface UnreadInChannel {
  stream_id: number
  topic: string
  unread_message_ids: number[]
}

export interface Registered {
  /** Null for a caller who has not signed in. */
  queue_id: string | null
  last_event_id: number
  user_id: number
  realm_name: string
  max_message_length: number
  realm_empty_topic_display_name: string
  realm_users: Participant[]
  cross_realm_bots: Participant[]
  realm_non_active_users: Participant[]
  subscriptions: SubscribedChannel[]
  recent_private_conversations: { max_message_id: number; user_ids: number[] }[]
  user_settings: {
    enter_sends: boolean
    web_mark_read_on_scroll_policy: number
    enable_drafts_synchronization: boolean
  }
  drafts: DraftOfServer[]
  user_topics: { stream_id: number; topic_name: string; visibility_policy: number }[]
  unread_msgs: {
    pms: { other_user_id: number; unread_message_ids: number[] }[]
    streams: UnreadInChannel[]
    huddles: { user_ids_string: string; unread_message_ids: number[] }[]
    mentions: number[]
  }
}

/** One event of a queue; which members it has follows from `type` and `op`. */
export interface QueueEvent {
  id: number
  type: string
  op?: string
  // biome-ignore lint/suspicious/noExplicitAny: each type has members of its own
  [member: string]: any
}
