/** Folders of channels, channels that new accounts are subscribed to, and groups of channels that they are offered. Each channel has settings of its own. */

import { call } from '../api.ts'
import { addressOfArea } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { listOf } from '../words/format.ts'
import { words } from '../words/words.ts'
import type { OrganizationProps } from './organization.tsx'
import { linesOf, RecordList, type RecordValues, ToTop } from './record-list.tsx'

interface Folder {
  id: number
  name: string
  description: string
  is_archived: boolean
}

interface DefaultChannel {
  stream_id: number
  name: string
  is_default?: boolean
}

interface DefaultChannelGroup {
  id: number
  name: string
  description: string
  streams: readonly number[]
}

export function FoldersSection({ realm }: OrganizationProps) {
  const folders = useLoaded((signal) =>
    call<{ channel_folders: Folder[] }>('GET', '/channel_folders', { include_archived: true }, { signal }),
  )
  const channels = useLoaded((signal) =>
    call<{ streams: DefaultChannel[] }>('GET', '/streams', { include_all: true, include_default: true }, { signal }),
  )
  const change = async (act: Promise<unknown>, load: () => Promise<void>) => {
    await act
    await load()
  }
  const all = channels.value.value?.streams ?? []
  const allFolders = folders.value.value?.channel_folders ?? []
  const folderIds = allFolders.map(({ id }) => id)
  const order = (ids: readonly number[]) => change(call('PATCH', '/channel_folders', { order: ids }), folders.load)
  const others = all.filter(({ is_default: isDefault }) => isDefault !== true)
  return (
    <>
      <p class="soft lead">
        {words.channelsLead} <a href={addressOfArea('channels')}>{words.browseChannels}</a>
      </p>
      <Problem error={folders.failure.value ?? channels.failure.value} />
      <h2 class="soft">{words.defaultChannels}</h2>
      <RecordList
        newLabel={others.length === 0 ? undefined : words.newDefaultChannel}
        empty={words.noDefaultChannels}
        records={all
          .filter(({ is_default: isDefault }) => isDefault === true)
          .map(({ stream_id: id, name }) => ({ id, title: `#${name}` }))}
        fields={[
          {
            name: 'stream_id',
            label: words.channel,
            input: others.map(({ stream_id: id, name }) => [String(id), `#${name}`] as const),
          },
        ]}
        add={(values) => change(call('POST', '/default_streams', values), channels.load)}
        remove={(id) => change(call('DELETE', '/default_streams', { stream_id: id }), channels.load)}
        removeText={words.removeDefaultText}
      />
      <ChannelGroups realm={realm} channels={others} />
      <h2 class="soft">{words.folders}</h2>
      <RecordList
        newLabel={words.newFolder}
        empty={words.noFolders}
        records={allFolders
          .filter(({ is_archived: isArchived }) => !isArchived)
          .map(({ id, name, description }, at) => ({
            ...{ id, title: name, values: { name, description } },
            about: (
              <>
                {description}
                {at > 0 && <ToTop ids={folderIds} at={folderIds.indexOf(id)} name={name} order={order} />}
              </>
            ),
          }))}
        fields={[
          { name: 'name', label: words.name, required: true },
          { name: 'description', label: words.description },
        ]}
        add={(values) => change(call('POST', '/channel_folders/create', values), folders.load)}
        change={(id, values) => change(call('PATCH', `/channel_folders/${id}`, values), folders.load)}
        remove={(id) => change(call('PATCH', `/channel_folders/${id}`, { is_archived: true }), folders.load)}
      />
    </>
  )
}

function ChannelGroups({ realm, channels }: { realm: RealmView; channels: readonly DefaultChannel[] }) {
  const groups = (realm.organization.default_stream_groups ?? []) as readonly DefaultChannelGroup[]
  const namesOf = (ids: readonly number[]) =>
    channels.filter(({ stream_id: id }) => ids.includes(id)).map(({ name }) => name)
  const change = async (id: number, { name, description, streams }: RecordValues) => {
    const before = groups.find((one) => one.id === id)
    if (before === undefined) return
    const values = {
      ...(name !== before.name && { new_group_name: name }),
      ...(description !== before.description && { new_description: description }),
    }
    if (Object.keys(values).length > 0) await call('PATCH', `/default_stream_groups/${id}`, values)
    const [had, has] = [namesOf(before.streams), linesOf(String(streams))]
    const lists = { add: has.filter((one) => !had.includes(one)), remove: had.filter((one) => !has.includes(one)) }
    for (const [op, stream_names] of Object.entries(lists))
      if (stream_names.length > 0) await call('PATCH', `/default_stream_groups/${id}/streams`, { op, stream_names })
  }
  return (
    <>
      <h2 class="soft">{words.channelGroups}</h2>
      <RecordList
        newLabel={channels.length === 0 ? undefined : words.newChannelGroup}
        empty={words.noChannelGroups}
        records={groups.map(({ id, name, description, streams }) => ({
          ...{ id, title: name, values: { name, description, streams: namesOf(streams).join('\n') } },
          about: (
            <>
              {description} · {listOf(namesOf(streams).map((one) => `#${one}`))}
            </>
          ),
        }))}
        fields={[
          { name: 'name', label: words.name, required: true },
          { name: 'description', label: words.description, required: true },
          {
            ...{ name: 'streams', label: words.channels, required: true },
            input: { several: channels.map(({ name }) => [name, `#${name}`] as const) },
          },
        ]}
        add={({ name, description, streams }) =>
          call('POST', '/default_stream_groups/create', {
            ...{ group_name: name, description, stream_names: linesOf(String(streams)) },
          })
        }
        change={(id, values) => change(Number(id), values)}
        remove={(id) => call('DELETE', `/default_stream_groups/${id}`)}
        removeText={words.removeDefaultText}
      />
    </>
  )
}
