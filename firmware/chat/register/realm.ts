/** The register section `realm`: settings and limits of the organization and of the server. Contract sections 2.6 and 4.2.2. */

import { MIB } from '../../base/memory.ts'
import { NOTE_CHARACTERS_MAX } from '../realm/messages/reminders.ts'
import { UPLOAD_BYTES_MAX } from '../realm/messages/upload-receive.ts'
import { uploadQuotaMib } from '../realm/model/disk-room.ts'
import {
  REALM_GROUP_SETTINGS,
  type RealmGroupSetting,
  SUPPORTED_PERMISSION_SETTINGS,
} from '../realm/model/group-settings.ts'
import { groupsOf } from '../realm/model/groups-of-realm.ts'
import { urlOf } from '../realm/model/organization-url.ts'
import { realmSetting } from '../realm/model/read-settings.ts'
import type { Realm } from '../realm/model/realm.ts'
import { REALM_SETTINGS, type RealmSettingName } from '../realm/model/realm-settings.ts'
import type { Organization, User } from '../realm/model/records.ts'
import { organizationOf } from '../realm/model/state.ts'
import { FOLDER_NAME_CHARACTERS_MAX } from '../realm/objects/channel-folders.ts'
import { DESCRIPTION_CHARACTERS_MAX } from '../realm/objects/descriptions.ts'
import { OFFLINE_SECONDS, PING_SECONDS } from '../realm/objects/presence.ts'
import { NEW_SUBSCRIPTION_MESSAGES_MAX } from '../realm/organization/channels/notices.ts'
import { pictureFields, REALM_PICTURES } from '../realm/organization/settings/pictures.ts'
import { REPORT_TYPES } from '../realm/organization/settings/report.ts'
import { DEFAULT_ACCOUNTS } from '../realm/organization/users/external-accounts.ts'
import { CREATE_POLICY, type Policy, policyOf, WILDCARD_MENTION_POLICY } from '../realm/permissions/group-policies.ts'
import { realmGroupValue, realmGroupValues } from '../realm/permissions/group-rights.ts'
import { addressHost } from '../realm/permissions/user-addresses.ts'
import type { OpenRegisterSection } from './section.ts'

export const realm: OpenRegisterSection = ({ realm, host, generation }) => {
  const organization = organizationOf(realm.state)
  return {
    ...prefixed(settings(organization)),
    ...prefixed(realmGroupValues(realm)),
    ...prefixed(readOnly(organization, urlOf(organization, host))),
    realm_upload_quota_mib: uploadQuotaMib(realm),
    realm_uuid: organization.uuid,
    ...policies(realm),
    ...SERVER,
    server_generation: generation,
    server_web_public_streams_enabled: realmSetting(organization, 'enable_spectator_access'),
    server_supported_permission_settings: SUPPORTED_PERMISSION_SETTINGS,
  }
}

const prefixed = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`realm_${name}`, value]))

function settings(organization: Organization): Record<string, unknown> {
  const names = Object.keys(REALM_SETTINGS) as RealmSettingName[]
  return {
    ...Object.fromEntries(names.map((name) => [name, realmSetting(organization, name)])),
    name: organization.name,
    owner_full_content_access: organization.operator.ownerFullContentAccess,
  }
}

/** Derived values, and values that cannot be changed. */
const readOnly = (organization: Organization, url: string) => ({
  allow_edit_history: realmSetting(organization, 'message_edit_history_visibility_policy') !== 'none',
  mandatory_topics: realmSetting(organization, 'topics_policy') === 'disable_empty_topic',
  authentication_methods: { Email: { enabled: true, available: true } },
  available_video_chat_providers: {
    disabled: { name: 'None', id: 0 },
    jitsi_meet: { name: 'Jitsi Meet', id: 1 },
  },
  bot_domain: addressHost(organization),
  date_created: organization.dateCreated,
  default_external_accounts: DEFAULT_ACCOUNTS,
  email_auth_enabled: true,
  password_auth_enabled: true,
  empty_topic_display_name: 'general chat',
  ...Object.assign({}, ...REALM_PICTURES.map((picture) => pictureFields(organization, picture))),
  plan_type: 1,
  presence_disabled: false,
  push_notifications_enabled: false,
  push_notifications_enabled_end_timestamp: null,
  url,
  uri: url,
})

function policies(realm: Realm): Record<string, number> {
  const groups = groupsOf(realm)
  const people = [...realm.state.user.all()].filter((user: User) => user.isActive && !user.isSystemBot)
  const of = (policy: Policy, name: RealmGroupSetting): number =>
    policyOf(policy, groups, REALM_GROUP_SETTINGS[name], realmGroupValue(realm, name), people)
  return {
    realm_wildcard_mention_policy: of(WILDCARD_MENTION_POLICY, 'can_mention_many_users_group'),
    realm_create_public_stream_policy: of(CREATE_POLICY, 'can_create_public_channel_group'),
    realm_create_private_stream_policy: of(CREATE_POLICY, 'can_create_private_channel_group'),
    realm_create_web_public_stream_policy: of(CREATE_POLICY, 'can_create_web_public_channel_group'),
  }
}

const SERVER = {
  max_stream_name_length: 60,
  max_stream_description_length: 1024,
  max_topic_length: 60,
  max_message_length: 10_000,
  max_channel_folder_name_length: FOLDER_NAME_CHARACTERS_MAX,
  max_channel_folder_description_length: DESCRIPTION_CHARACTERS_MAX,
  max_reminder_note_length: NOTE_CHARACTERS_MAX,
  max_bulk_new_subscription_messages: NEW_SUBSCRIPTION_MESSAGES_MAX,
  server_presence_ping_interval_seconds: PING_SECONDS,
  server_presence_offline_threshold_seconds: OFFLINE_SECONDS,
  server_typing_started_expiry_period_milliseconds: 45_000,
  server_typing_stopped_wait_period_milliseconds: 12_000,
  server_typing_started_wait_period_milliseconds: 30_000,
  server_emoji_data_url: '/static/emoji.json',
  event_queue_longpoll_timeout_seconds: 90,
  server_needs_upgrade: false,
  development_environment: false,
  server_inline_image_preview: true,
  server_inline_url_embed_preview: false,
  server_avatar_changes_disabled: false,
  server_name_changes_disabled: false,
  settings_send_digest_emails: false,
  zulip_plan_is_not_limited: true,
  server_can_summarize_topics: false,
  server_thumbnail_formats: [],
  server_jitsi_server_url: null,
  jitsi_server_url: null,
  server_min_deactivated_realm_deletion_days: 14,
  server_max_deactivated_realm_deletion_days: null,
  server_report_message_types: Object.entries(REPORT_TYPES).map(([key, name]) => ({ key, name })),
  gif_rating_policy_options: {
    disabled: { name: 'GIFs disabled', id: 0 },
    g: { name: 'G', id: 1 },
    pg: { name: 'PG', id: 2 },
    'pg-13': { name: 'PG-13', id: 3 },
    r: { name: 'R', id: 4 },
  },
  password_min_length: 10,
  password_max_length: 100,
  password_min_guesses: 0,
  max_file_upload_size_mib: UPLOAD_BYTES_MAX / MIB,
  max_avatar_file_size_mib: 5,
  max_icon_file_size_mib: 5,
  max_logo_file_size_mib: 5,
  upgrade_text_for_wide_organization_logo: '',
}
