/** Settings of contract section 2.7, which the page saves and shows by tables. */

import { Action, Select } from '../../web/controls.tsx'
import { theme } from '../../web/theme.ts'
import { call } from '../api.ts'
import { desktopApp } from '../desktop.ts'
import { askPermission, permission } from '../notify.ts'
import { LANGUAGES, words } from '../words/words.ts'
import { PushSettings } from './push.tsx'
import { type Choice, SettingGroup, type SettingRow } from './setting.tsx'
import type { SectionProps } from './settings.tsx'

const save = (name: string, value: unknown): Promise<unknown> => call('PATCH', '/settings', { [name]: value })

const row = (name: keyof typeof words.userSettings, input: SettingRow['input'] = 'bool'): SettingRow => ({
  ...{ name, input, label: words.userSettings[name] },
})

const choices = (texts: Readonly<Record<number, string>>): Choice[] =>
  Object.entries(texts).map(([value, text]) => [Number(value), text])

const named = (texts: Readonly<Record<string, string>>): Choice[] => Object.entries(texts)

export const notificationRows = (): readonly (readonly [title: string, rows: readonly SettingRow[]])[] => [
  [
    words.notifyDirect,
    [row('enable_desktop_notifications'), row('enable_sounds'), row('pm_content_in_desktop_notifications')],
  ],
  [
    words.notifyChannels,
    [
      row('enable_stream_desktop_notifications'),
      row('enable_stream_audible_notifications'),
      row('enable_stream_push_notifications'),
      row('wildcard_mentions_notify'),
    ],
  ],
  [
    words.notifyFollowed,
    [
      row('enable_followed_topic_desktop_notifications'),
      row('enable_followed_topic_audible_notifications'),
      row('enable_followed_topic_push_notifications'),
      row('enable_followed_topic_wildcard_mentions_notify'),
    ],
  ],
  [words.notifyAway, [row('enable_offline_push_notifications'), row('enable_online_push_notifications')]],
  [
    words.topics,
    [
      row('automatically_follow_topics_policy', choices(words.topicPolicies)),
      row('automatically_unmute_topics_in_muted_streams_policy', choices(words.topicPolicies)),
      row('automatically_follow_topics_where_mentioned'),
    ],
  ],
]

export const privacyRows = (): readonly SettingRow[] => [
  row('email_address_visibility', choices(words.emailVisibilities)),
  row('presence_enabled'),
  row('send_private_typing_notifications'),
  row('send_stream_typing_notifications'),
  row('send_read_receipts'),
  row('allow_private_data_export'),
]

export const displayRows = (): readonly SettingRow[] => [
  row('default_language', LANGUAGES),
  row('timezone', [
    ['', words.timezoneOfDevice],
    ...Intl.supportedValuesOf('timeZone').map((zone): Choice => [zone, zone]),
  ]),
  row('twenty_four_hour_time', [
    [null, words.clockOfLanguage],
    [true, words.clock24],
    [false, words.clock12],
  ]),
  row('enter_sends'),
  row('receives_typing_notifications'),
  row('enable_drafts_synchronization'),
  row('web_mark_read_on_scroll_policy', choices(words.markReadPolicies)),
  row('web_home_view', named(words.homeViews)),
  row('web_left_sidebar_show_channel_folders'),
  row('web_inbox_show_channel_folders'),
  row('desktop_icon_count_display', choices(words.iconCounts)),
]

const group = (title: string, rows: readonly SettingRow[], values: Readonly<Record<string, unknown>>) => (
  <SettingGroup key={title} title={title} rows={rows} values={values} save={save} />
)

function PermissionNote() {
  if (desktopApp() !== undefined || permission.value === 'granted') return null
  return (
    <section class="form">
      <h2>{words.inThisBrowser}</h2>
      <p class="soft">{permission.value === 'denied' ? words.notificationsDenied : words.notificationsUndecided}</p>
      {permission.value === 'default' && (
        <Action kind="small" onClick={() => void askPermission()}>
          {words.allowNotifications}
        </Action>
      )}
    </section>
  )
}

export const NotificationsSection = ({ realm }: SectionProps) => (
  <>
    <PermissionNote />
    <PushSettings />
    {notificationRows().map(([title, rows]) => group(title, rows, realm.settings))}
  </>
)

export const PrivacySection = ({ realm }: SectionProps) =>
  group(words.settingsSections.privacy, privacyRows(), realm.settings)

export const DisplaySection = ({ realm }: SectionProps) => (
  <>
    <section class="form">
      <h2>{words.inThisBrowser}</h2>
      <Select label={words.theme} bind={theme} options={Object.entries(words.themes)} />
    </section>
    {group(words.everywhere, displayRows(), realm.settings)}
  </>
)
