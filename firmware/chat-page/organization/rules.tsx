/** Rules for messages, accounts and notices of the organization. `chat/CONTRACT.md`, section 2.6. */

import { call } from '../api.ts'
import type { RealmView } from '../model/realm.ts'
import { isOwner } from '../model/rights.ts'
import { type Choice, Setting, SettingGroup, type SettingRow } from '../settings/setting.tsx'
import { LANGUAGES, words } from '../words/words.ts'
import type { OrganizationProps } from './organization.tsx'
import { saveRealm } from './save.ts'

const row = (name: keyof typeof words.realmSettings, input: SettingRow['input'] = 'bool'): SettingRow => ({
  ...{ name, input, label: words.realmSettings[name] },
})

const messageRows = (): readonly SettingRow[] => [
  row('allow_message_editing'),
  row('message_content_edit_limit_seconds', words.timeLimits),
  row('message_content_delete_limit_seconds', words.timeLimits),
  row('move_messages_within_stream_limit_seconds', words.timeLimits),
  row('move_messages_between_streams_limit_seconds', words.timeLimits),
  row('message_edit_history_visibility_policy', words.historyPolicies),
  row('topics_policy', words.realmTopicsPolicies),
  row('enable_read_receipts'),
  row('inline_image_preview'),
  row('inline_url_embed_preview'),
  row('send_channel_events_messages'),
  row('default_code_block_language', 'text'),
]

const accountRows = (): readonly SettingRow[] => [
  row('name_changes_disabled'),
  row('email_changes_disabled'),
  row('avatar_changes_disabled'),
  row('require_unique_names'),
  row('enable_guest_user_indicator'),
  row('enable_guest_user_dm_warning'),
  row('enable_spectator_access'),
  row('default_language', LANGUAGES),
]

const ownerRows = (): readonly SettingRow[] => [
  row('emails_restricted_to_domains'),
  row('disallow_disposable_email_addresses'),
  row('waiting_period_threshold', 'number'),
  row('message_retention_days', 'number'),
  row('page_offline_days', 'number'),
]

const NOTICES = [
  'new_stream_announcements_stream_id',
  'signup_announcements_stream_id',
  'moderation_request_channel_id',
] as const

const NONE = -1

function channelRows({ channels }: RealmView): SettingRow[] {
  const all: Choice[] = [...channels.values()].map(({ stream_id: id, name }) => [id, `#${name}`])
  return NOTICES.map((name) => row(name, [[NONE, words.none], ...all]))
}

export function RulesSection({ realm }: OrganizationProps) {
  const values = realm.organization
  return (
    <>
      <SettingGroup title={words.messages} rows={messageRows()} values={values} save={saveRealm} />
      <SettingGroup title={words.accounts} rows={accountRows()} values={values} save={saveRealm} />
      {isOwner(realm) && <SettingGroup title={words.forOwners} rows={ownerRows()} values={values} save={saveRealm} />}
      <SettingGroup title={words.notices} rows={channelRows(realm)} values={values} save={saveRealm} />
      <section class="form">
        <h2>{words.welcome}</h2>
        <Setting
          row={{ name: 'welcome', label: words.welcomeText, hint: words.welcomeHint, input: 'long' }}
          value={values.welcome_message_custom_text}
          save={async (text) => {
            await saveRealm('welcome_message_custom_text', text)
            if (text !== '')
              await call('POST', '/realm/test_welcome_bot_custom_message', { welcome_message_custom_text: text })
          }}
        />
      </section>
    </>
  )
}
