/** The inbox: conversations with unread messages, direct ones first, then by channel. */

import { type AreaName, addressOfArea, type ConversationRef, FEED, keyOf } from '../model/conversation.ts'
import { isMuted, type RealmView } from '../model/realm.ts'
import type { UnreadGroup } from '../model/unread.ts'
import { channelName, linkTo, linkToChannel, shortName } from '../names.ts'
import { words } from '../words/words.ts'
import { ChannelLists, ChannelMark, ViewTitle } from './frame.tsx'
import { Count, Face, PresenceMark } from './parts.tsx'

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
      {groups.map(({ conversation, ids, mentions }) => (
        <li key={keyOf(conversation)}>
          <a class="row-link" href={linkTo(realm, conversation)}>
            <span>
              <Faces realm={realm} conversation={conversation} />
              {shortName(realm, conversation)}
            </span>
            {mentions > 0 && (
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
  return (
    <>
      <Face person={realm.people.get(first)} size="small" />
      <PresenceMark realm={realm} id={conversation.userIds.length === 1 ? first : undefined} />
    </>
  )
}

const asRead = (conversation: ConversationRef): UnreadGroup => ({ conversation, ids: [], mentions: 0 })

const links = (): readonly (readonly [AreaName, string])[] => [
  ['recent', words.recent],
  ['search', words.search],
  ['new-direct', words.newDirect],
  ['people', words.people],
  ['channels', words.browseChannels],
]

/** Narrow screens have no sidebar, so this list leads to conversations without unread messages. */
function AllChannels({ realm }: { realm: RealmView }) {
  const directs = realm.directs.filter((conversation) => !isMuted(realm, conversation))
  return (
    <div class="narrow-only">
      <ul class="rows spaced">
        <li>
          <a class="row-link" href={FEED}>
            {words.feed}
          </a>
        </li>
        {links().map(([area, text]) => (
          <li key={area}>
            <a class="row-link" href={addressOfArea(area)}>
              {text}
            </a>
          </li>
        ))}
      </ul>
      {directs.length > 0 && (
        <section class="group">
          <h2>{words.direct}</h2>
          <Rows realm={realm} groups={directs.map(asRead)} />
        </section>
      )}
      {realm.channels.size > 0 && (
        <section class="group">
          <h2>{words.channels}</h2>
          <ChannelLists
            realm={realm}
            isByFolder={realm.settings.web_inbox_show_channel_folders !== false}
            listClass="rows"
            show={({ stream_id: id, name, color }) => (
              <li key={id}>
                <a class="row-link" href={linkToChannel(realm, id)}>
                  <span>
                    <ChannelMark color={color} />
                    {name}
                  </span>
                </a>
              </li>
            )}
          />
        </section>
      )}
    </div>
  )
}
