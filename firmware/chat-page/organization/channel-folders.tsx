/** Folders of channels, and channels that new accounts are subscribed to. Each channel has settings of its own. */

import { call } from '../api.ts'
import { addressOfArea } from '../model/conversation.ts'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import * as words from '../words/en.ts'
import type { OrganizationProps } from './organization.tsx'
import { RecordList } from './record-list.tsx'

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

export function FoldersSection(_: OrganizationProps) {
  const folders = useLoaded((signal) => call<{ channel_folders: Folder[] }>('GET', '/channel_folders', {}, { signal }))
  const channels = useLoaded((signal) =>
    call<{ streams: DefaultChannel[] }>('GET', '/streams', { include_all: true, include_default: true }, { signal }),
  )
  const change = async (act: Promise<unknown>, load: () => Promise<void>) => {
    await act
    await load()
  }
  const all = channels.value.value?.streams ?? []
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
      <h2 class="soft">{words.folders}</h2>
      <RecordList
        newLabel={words.newFolder}
        empty={words.noFolders}
        records={(folders.value.value?.channel_folders ?? []).map(({ id, name, description }) => ({
          ...{ id, title: name, about: description, values: { name, description } },
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
