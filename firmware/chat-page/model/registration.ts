/** Parameters of the page's POST /register. `chat/CONTRACT.md`, section 4.2. */

const FETCHED = [
  ...['message', 'update_message_flags', 'realm', 'realm_user', 'subscription'],
  ...['user_settings', 'user_topic', 'recent_private_conversations', 'drafts'],
  ...['realm_emoji', 'realm_user_groups', 'user_status', 'muted_users'],
  ...['default_streams', 'default_stream_groups', 'realm_playgrounds', 'presence', 'channel_folders'],
]
const EVENTS = [
  ...['message', 'update_message', 'delete_message', 'update_message_flags', 'reaction'],
  ...['realm', 'realm_user', 'subscription', 'stream', 'user_topic', 'user_settings', 'drafts'],
  ...['submessage', 'realm_emoji', 'user_group', 'user_status', 'muted_users'],
  ...['default_streams', 'default_stream_groups', 'realm_playgrounds', 'presence', 'typing', 'typing_edit_message'],
  'channel_folder',
]
const CAPABILITIES = {
  notification_settings_null: true,
  bulk_message_deletion: true,
  user_avatar_url_field_optional: false,
  stream_typing_notifications: true,
  user_settings_object: true,
  linkifier_url_template: true,
  user_list_incomplete: true,
  include_deactivated_groups: true,
  archived_channels: true,
  empty_topic_name: true,
  simplified_presence_events: true,
}

export const REGISTRATION = {
  ...{ event_types: EVENTS, fetch_event_types: FETCHED, client_capabilities: CAPABILITIES },
  ...{ apply_markdown: true, client_gravatar: false, include_subscribers: false },
}
