/** Settings of one channel: the account's own, its subscribers, and those that its administrators change. */

import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { addressOfArea, channelAddress } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { isAdministrator, isInGroup, isOwner } from '../model/rights.ts'
import type { RightHolders } from '../model/types.ts'
import { GroupSettings } from '../settings/group-setting.tsx'
import { type Choice, Setting, SettingGroup, type SettingRow } from '../settings/setting.tsx'
import type { AreaProps } from '../views/area.tsx'
import { DangerAction } from '../views/form-dialog.tsx'
import { ViewTitle } from '../views/frame.tsx'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'
import { Subscribers } from './subscribers.tsx'
import type { ChannelDetails } from './types.ts'

export function ChannelSettingsView({ realm, channelId, revision }: AreaProps & { channelId: number }) {
  const { value, failure, load } = useLoaded((signal) =>
    call<{ stream: ChannelDetails }>('GET', `/streams/${channelId}`, {}, { signal }).then(({ stream }) => stream),
  )
  const channel = value.value
  if (channel === null)
    return (
      <div class="view">
        <ViewTitle title={words.settings} />
        {failure.value ? <Problem error={failure.value} /> : <p class="hint">{words.loading}</p>}
      </div>
    )
  const mayChange = isAdministrator(realm) || isInGroup(realm, channel.can_administer_channel_group)
  return (
    <div class="view">
      <ViewTitle title={words.settingsOf(`#${channel.name}`)} />
      <p class="soft lead">
        <a href={channelAddress(channelId, channel.name)}>{words.openChannel}</a>
        {channel.description && ` · ${channel.description}`}
      </p>
      {realm.channels.has(channelId) && <ForYou realm={realm} channelId={channelId} />}
      <Subscribers realm={realm} channel={channel} revision={revision} />
      {mayChange && <Administration realm={realm} channel={channel} changed={load} />}
    </div>
  )
}

const inherited = (): readonly Choice[] => [
  [null, words.asEverywhere],
  [true, words.yes],
  [false, words.no],
]

const ownRows = (): readonly SettingRow[] => [
  { name: 'color', label: words.color, input: 'color' },
  { name: 'pin_to_top', label: words.pinned, input: 'bool' },
  { name: 'is_muted', label: words.mutedChannel, input: 'bool' },
  ...Object.entries(words.channelNotifications).map(([name, label]) => ({ name, label, input: inherited() })),
]

function ForYou({ realm, channelId }: { realm: RealmView; channelId: number }) {
  const save = (property: string, value: unknown) =>
    call('POST', '/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id: channelId, property, value }],
    })
  const values = { ...realm.channels.get(channelId) }
  return <SettingGroup title={words.forYou} rows={ownRows()} values={values} save={save} />
}

const kindOf = ({ invite_only: isPrivate, history_public_to_subscribers: isShared }: ChannelDetails): string =>
  isPrivate ? (isShared ? 'private' : 'hidden') : 'public'

interface AdministrationProps {
  realm: RealmView
  channel: ChannelDetails
  changed: () => Promise<void>
}

function Administration({ realm, channel, changed }: AdministrationProps) {
  const { stream_id: id, name } = channel
  const change = async (values: Record<string, unknown>) => {
    await call('PATCH', `/streams/${id}`, values)
    await changed()
  }
  const isDefault = (realm.organization.default_streams as number[] | undefined)?.includes(id)
  return (
    <>
      <section class="form">
        <h2>{words.administration}</h2>
        <Setting
          row={{ name: 'new_name', label: words.name, input: 'text' }}
          value={name}
          save={(value) => change({ new_name: value })}
        />
        <Setting
          row={{ name: 'description', label: words.description, input: 'long' }}
          value={channel.description}
          save={(description) => change({ description })}
        />
        <Setting
          row={{ name: 'kind', label: words.whoReads, input: Object.entries(words.channelKinds) }}
          value={kindOf(channel)}
          save={(kind) => change({ is_private: kind !== 'public', history_public_to_subscribers: kind !== 'hidden' })}
        />
        {realm.folders.size > 0 && (
          <Setting
            row={{ name: 'folder_id', label: words.folder, input: folderChoices(realm) }}
            value={channel.folder_id}
            save={(folder) => change({ folder_id: folder })}
          />
        )}
        <Setting
          row={{ name: 'topics_policy', label: words.topicsPolicy, input: Object.entries(words.topicsPolicies) }}
          value={channel.topics_policy}
          save={(policy) => change({ topics_policy: policy })}
        />
        {isOwner(realm) && (
          <Setting
            row={{ name: 'retention', label: words.retentionDays, hint: words.channelRetentionHint, input: 'text' }}
            value={channel.message_retention_days === -1 ? words.forever : (channel.message_retention_days ?? '')}
            save={(days) => change({ message_retention_days: retentionOf(String(days)) })}
          />
        )}
        {isAdministrator(realm) && (
          <Setting
            row={{ name: 'is_default_stream', label: words.defaultChannel, input: 'bool' }}
            value={isDefault}
            save={(value) => change({ is_default_stream: value })}
          />
        )}
      </section>
      <section class="form">
        <h2>{words.permissions}</h2>
        <GroupSettings
          realm={realm}
          labels={words.channelPermissions}
          bounds={realm.permissionBounds.stream}
          holdersOf={(right) => channel[right] as RightHolders}
          save={change}
        />
      </section>
      <section class="form">
        <h2>{channel.is_archived ? words.archived : words.archive}</h2>
        <p class="soft">{words.archiveText}</p>
        <div>
          {channel.is_archived ? (
            <Action onClick={() => void change({ is_archived: false })}>{words.unarchive}</Action>
          ) : (
            <DangerAction
              title={words.archiveNamed(name)}
              action={words.archive}
              act={async () => {
                await call('DELETE', `/streams/${id}`)
                location.hash = addressOfArea('channels')
              }}
            >
              <p>{words.archiveText}</p>
            </DangerAction>
          )}
        </div>
      </section>
    </>
  )
}

const folderChoices = ({ folders }: RealmView): Choice[] => [
  [null, words.none],
  ...[...folders.values()]
    .filter(({ is_archived: isArchived }) => !isArchived)
    .sort((a, b) => a.order - b.order)
    .map(({ id, name }): Choice => [id, name]),
]

/** Days as text; empty follows the organization, `forever` keeps all messages. */
function retentionOf(text: string): number | string {
  const days = text.trim().toLowerCase()
  return days === '' ? 'realm_default' : days === words.forever ? 'unlimited' : Number(days)
}
