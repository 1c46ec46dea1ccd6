import { useEffect } from 'preact/hooks'
import { ComposeBox } from '../compose/box.tsx'
import { follow } from '../message-acts.ts'
import { addressOfArea, type ConversationRef, keyOf } from '../model/conversation.ts'
import { sourceOf } from '../model/message-list.ts'
import type { RealmView } from '../model/realm.ts'
import { channelName, fullName, lastActive, linkToChannel, shortName } from '../names.ts'
import { words } from '../words/words.ts'
import { ChannelMark, ViewTitle } from './frame.tsx'
import { ListArea, useList } from './list-area.tsx'
import { pendingOf } from './messages.tsx'
import { PresenceMark } from './parts.tsx'
import { TopicMenu } from './topic-menu.tsx'
import { TypingNotice } from './typing-notice.tsx'

export function ConversationView(props: { realm: RealmView; conversation: ConversationRef; near: number | null }) {
  const { realm, conversation, near } = props
  const open = useList(realm, sourceOf(conversation, realm.ownId), near)
  const { list } = open
  useEffect(() => {
    if (list?.movedTo) follow(realm, conversation, list.movedTo)
  })
  return (
    <div class="view filled">
      <Title realm={realm} conversation={conversation} newestId={list?.messages.at(-1)?.id} />
      <ListArea
        realm={realm}
        open={open}
        near={near}
        pending={list === null ? [] : pendingOf(list)}
        newer={realm.unread.countOf(conversation)}
      />
      <TypingNotice realm={realm} conversation={conversation} />
      <ComposeBox
        realm={realm}
        conversation={conversation}
        draftKey={keyOf(conversation)}
        label={words.messageTo(fullName(realm, conversation))}
        sent={open.toNewest}
      />
    </div>
  )
}

function Title(props: { realm: RealmView; conversation: ConversationRef; newestId: number | undefined }) {
  const { realm, conversation, newestId } = props
  const other =
    conversation.kind === 'direct' && conversation.userIds.length === 1 ? conversation.userIds[0] : undefined
  const channel = conversation.kind === 'topic' ? realm.channels.get(conversation.channelId) : undefined
  return (
    <ViewTitle
      title={shortName(realm, conversation)}
      before={
        conversation.kind === 'direct' ? (
          other !== undefined && <PresenceMark realm={realm} id={other} />
        ) : (
          <>
            <ChannelMark color={channel?.color ?? ''} />
            <a class="of-channel" href={linkToChannel(realm, conversation.channelId)}>
              #{channelName(realm, conversation.channelId)}
            </a>
            <span class="soft" aria-hidden="true">
              ›
            </span>
          </>
        )
      }
    >
      {other !== undefined && (
        <a class="of-person" href={addressOfArea('user', other)}>
          {lastActive(realm, other) ?? words.profile}
        </a>
      )}
      {conversation.kind === 'topic' && <TopicMenu realm={realm} topic={conversation} newestId={newestId} />}
    </ViewTitle>
  )
}
