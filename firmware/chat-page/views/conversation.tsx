import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Action } from '../../web/controls.tsx'
import { ComposeBox } from '../compose/box.tsx'
import { changed, noteFailure } from '../connection.ts'
import { type ConversationRef, keyOf } from '../model/conversation.ts'
import { createMessageList, type MessageList } from '../model/message-list.ts'
import type { RealmView } from '../model/realm.ts'
import { channelName, fullName, linkToChannel, shortName } from '../names.ts'
import * as words from '../words/en.ts'
import { type Anchored, useAnchored } from './anchored.ts'
import { ChannelMark, ViewTitle } from './frame.tsx'
import { useMarkRead } from './mark-read.ts'
import { Messages, pendingOf } from './messages.tsx'
import { Problem } from './problem.tsx'
import { TopicMenu } from './topic-menu.tsx'

export function ConversationView(props: { realm: RealmView; conversation: ConversationRef; near: number | null }) {
  const { realm, conversation, near } = props
  const opened = useSignal<MessageList | null>(null)
  const failure = useSignal<unknown>(null)
  const scroller = useRef<HTMLElement>(null)
  const list = opened.value
  const anchored: Anchored = useAnchored(scroller, list)
  useMarkRead(scroller, realm, list)
  const controller = useRef(new AbortController())

  const open = (at: number | null) => {
    controller.current.abort()
    controller.current = new AbortController()
    const { signal } = controller.current
    const next = createMessageList(conversation, realm.ownId, changed)
    failure.value = null
    next.open(at, signal).then(
      () => {
        for (const other of realm.lists) if (other === opened.value) realm.lists.delete(other)
        realm.lists.add(next)
        anchored.place(at ?? next.firstUnread)
        opened.value = next
      },
      (error: unknown) => {
        if (!signal.aborted) fail(error)
      },
    )
  }
  const fail = (error: unknown) => {
    noteFailure(error)
    failure.value = error
  }
  useEffect(() => {
    open(near)
    return () => {
      controller.current.abort()
      if (opened.value !== null) realm.lists.delete(opened.value)
    }
  }, [realm, keyOf(conversation), near])
  useLayoutEffect(anchored.keep)

  const onScroll = () => {
    anchored.note()
    const box = scroller.current
    if (box === null || list === null) return
    const { signal } = controller.current
    const ignore = (error: unknown) => {
      if (!signal.aborted) fail(error)
    }
    if (box.scrollTop < box.clientHeight) list.fetchOlder(signal).catch(ignore)
    if (box.scrollHeight - box.scrollTop - box.clientHeight < box.clientHeight) list.fetchNewer(signal).catch(ignore)
  }
  const toNewest = () => {
    if (list?.hasNewest) anchored.toEnd()
    else open(NEWEST)
  }
  return (
    <div class="view filled">
      <Title realm={realm} conversation={conversation} newestId={list?.messages.at(-1)?.id} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      <section class="scroll-area" ref={scroller} onScroll={onScroll} tabIndex={0} aria-label={words.messages}>
        <Problem error={failure.value} also={<Action onClick={() => open(near)}>{words.again}</Action>} />
        {list === null && !failure.value && <p class="hint">{words.loading}</p>}
        {list !== null && <Messages realm={realm} list={list} near={near} pending={pendingOf(list)} />}
      </section>
      {list !== null && !anchored.isAtEnd.value && (
        <div class="to-newest">
          <Action kind="small" onClick={toNewest}>
            {words.toNewest(realm.unread.countOf(conversation))}
          </Action>
        </div>
      )}
      <ComposeBox
        realm={realm}
        conversation={conversation}
        draftKey={keyOf(conversation)}
        label={words.messageTo(fullName(realm, conversation))}
        sent={toNewest}
      />
    </div>
  )
}

/** GET /messages treats an integer at or above it as the newest message. */
const NEWEST = 10_000_000_000_000_000

function Title(props: { realm: RealmView; conversation: ConversationRef; newestId: number | undefined }) {
  const { realm, conversation, newestId } = props
  const channel = conversation.kind === 'topic' ? realm.channels.get(conversation.channelId) : undefined
  return (
    <ViewTitle
      title={shortName(realm, conversation)}
      before={
        conversation.kind === 'topic' && (
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
      {conversation.kind === 'topic' && <TopicMenu realm={realm} topic={conversation} newestId={newestId} />}
    </ViewTitle>
  )
}
