/** Channels that the account sees: join, leave, make one, open its settings. */

import { useSignal } from '@preact/signals'
import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { matches } from '../model/completion.ts'
import { addressOfArea, channelAddress } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { mayInRealm } from '../model/rights.ts'
import { attempt } from '../problems.ts'
import type { AreaProps } from '../views/area.tsx'
import { FilterField } from '../views/filter-field.tsx'
import { ChannelMark, ViewTitle } from '../views/frame.tsx'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'
import { ChannelSettingsView } from './channel-settings.tsx'
import { NewChannelView } from './new-channel.tsx'
import type { ChannelDetails } from './types.ts'

export function ChannelsView(props: AreaProps) {
  const [first] = props.path
  if (first === 'new') return <NewChannelView {...props} />
  if (first !== undefined && /^\d+$/.test(first)) return <ChannelSettingsView {...props} channelId={Number(first)} />
  return <ChannelList {...props} />
}

export const mayCreate = (realm: RealmView): boolean =>
  mayInRealm(realm, 'can_create_public_channel_group') || mayInRealm(realm, 'can_create_private_channel_group')

function ChannelList({ realm }: AreaProps) {
  const { value, failure, load } = useLoaded((signal) =>
    call<{ streams: ChannelDetails[] }>('GET', '/streams', { include_all: true }, { signal }),
  )
  const text = useSignal('')
  const found = (value.value?.streams ?? [])
    .filter(({ name }) => matches(name, text.value.trim()))
    .sort((a, b) => a.name.localeCompare(b.name))
  return (
    <div class="view">
      <ViewTitle title={words.channels}>
        {mayCreate(realm) && (
          <a class="button" href={addressOfArea('channels', 'new')}>
            {words.newChannel}
          </a>
        )}
      </ViewTitle>
      <FilterField label={words.findChannel} bind={text} />
      <Problem error={failure.value} also={<Action onClick={() => void load()}>{words.again}</Action>} />
      {value.value === null && !failure.value && <p class="hint">{words.loading}</p>}
      {value.value !== null && found.length === 0 && <p class="empty">{words.noChannels}</p>}
      <ul class="rows spaced">
        {found.map((channel) => (
          <li key={channel.stream_id} class="row-entry">
            <ChannelAbout realm={realm} channel={channel} />
            <div class="row">
              <Membership realm={realm} channel={channel} />
              <a
                class="button small"
                href={addressOfArea('channels', channel.stream_id)}
                aria-label={words.settingsOf(channel.name)}
              >
                {words.settings}
              </a>
            </div>
          </li>
        ))}
      </ul>
    </div>
  )
}

function ChannelAbout({ realm, channel }: { realm: RealmView; channel: ChannelDetails }) {
  const { stream_id: id, name, description, invite_only: isPrivate, subscriber_count: count } = channel
  return (
    <div class="what">
      <p class="row">
        <ChannelMark color={realm.channels.get(id)?.color ?? ''} />
        <a href={channelAddress(id, name)}>{name}</a>
        {isPrivate && <span class="tag">{words.privateChannel}</span>}
      </p>
      <p class="soft">
        {words.subscriberCount(count)}
        {description && ` · ${description}`}
      </p>
    </div>
  )
}

/** Joins or leaves the channel. */
function Membership({ realm, channel: { stream_id: id, name } }: { realm: RealmView; channel: ChannelDetails }) {
  const isIn = realm.channels.has(id)
  const act = () =>
    isIn
      ? call('DELETE', '/users/me/subscriptions', { subscriptions: [name] })
      : call('POST', '/users/me/subscriptions', { subscriptions: [{ name }] })
  return (
    <Action
      kind="small"
      label={isIn ? words.leaveNamed(name) : words.joinNamed(name)}
      onClick={() => void attempt(act())}
    >
      {isIn ? words.leave : words.joinChannel}
    </Action>
  )
}
