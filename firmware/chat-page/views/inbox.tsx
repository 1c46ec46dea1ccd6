/** The inbox: conversations with unread messages, direct ones first, then by channel. */

import { type AreaName, addressOfArea, type ConversationRef, keyOf } from '../model/conversation.ts'
import { isMuted, type RealmView } from '../model/realm.ts'
import type { UnreadGroup } from '../model/unread.ts'
import { channelName, linkTo, linkToChannel, shortName } from '../names.ts'
import * as words from '../words/en.ts'
import { ChannelMark, ViewTitle } from './frame.tsx'
import { Count, Face } from './parts.tsx'

export function InboxView({ realm }: { realm: RealmView }) {
  const groups = realm.unread.groups().filter(({ conversation }) => !isMuted(realm, conversation))
  const directs = groups.filter(({ conversation }) => conversation.kind === 'direct')
  const byChannel = new Map<number, UnreadGroup[]>()
  for (const group of groups)
    if (group.conversation.kind === 'topic') {
      const { channelId } = group.conversation
      byChannel.set(channelId, [...(byChannel.get(channelId) ?? []), group])
    }
  return (
    <div class="view">
      <ViewTitle title={words.inbox} />
      {groups.length === 0 && (
        <div class="empty">
          <p>{words.inboxEmpty}</p>
          {realm.channels.size === 0 && <p class="soft">{words.inboxNoChannels}</p>}
        </div>
      )}
      {directs.length > 0 && (
        <section class="group">
          <h2>{words.direct}</h2>
          <Rows realm={realm} groups={directs} />
        </section>
      )}
      {[...byChannel].map(([id, topics]) => (
        <section class="group" key={id}>
          <h2>
            <ChannelMark color={realm.channels.get(id)?.color ?? ''} />
            <a href={linkToChannel(realm, id)}>{channelName(realm, id)}</a>
          </h2>
          <Rows realm={realm} groups={topics} />
        </section>
      ))}
      <AllChannels realm={realm} />
    </div>
  )
}

function Rows({ realm, groups }: { realm: RealmView; groups: readonly UnreadGroup[] }) {
  return (
    <ul class="rows">
      {groups.map(({ conversation, ids, isMentioned }) => (
        <li key={keyOf(conversation)}>
          <a class="row-link" href={linkTo(realm, conversation)}>
            <span>
              <Faces realm={realm} conversation={conversation} />
              {shortName(realm, conversation)}
            </span>
            {isMentioned && (
              <span class="mention" role="img" aria-label={words.mentioned} title={words.mentioned}>
                @
              </span>
            )}
            <Count value={ids.length} />
          </a>
        </li>
      ))}
    </ul>
  )
}

function Faces({ realm, conversation }: { realm: RealmView; conversation: ConversationRef }) {
  if (conversation.kind !== 'direct') return null
  const [first = realm.ownId] = conversation.userIds
  return <Face person={realm.people.get(first)} size="small" />
}

const asRead = (conversation: ConversationRef): UnreadGroup => ({ conversation, ids: [], isMentioned: false })

const LINKS: readonly (readonly [AreaName, string])[] = [
  ['search', words.search],
  ['new-direct', words.newDirect],
  ['people', words.people],
  ['channels', words.browseChannels],
]

/** Narrow screens have no sidebar, so this list leads to conversations without unread messages. */
function AllChannels({ realm }: { realm: RealmView }) {
  const channels = [...realm.channels.values()]
    .filter(({ is_archived: isArchived }) => !isArchived)
    .sort((a, b) => a.name.localeCompare(b.name))
  return (
    <div class="narrow-only">
      <ul class="rows spaced">
        {LINKS.map(([area, text]) => (
          <li key={area}>
            <a class="row-link" href={addressOfArea(area)}>
              {text}
            </a>
          </li>
        ))}
      </ul>
      {realm.directs.length > 0 && (
        <section class="group">
          <h2>{words.direct}</h2>
          <Rows realm={realm} groups={realm.directs.map(asRead)} />
        </section>
      )}
      {channels.length > 0 && (
        <section class="group">
          <h2>{words.channels}</h2>
          <ul class="rows">
            {channels.map(({ stream_id: id, name, color }) => (
              <li key={id}>
                <a class="row-link" href={linkToChannel(realm, id)}>
                  <span>
                    <ChannelMark color={color} />
                    {name}
                  </span>
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}
