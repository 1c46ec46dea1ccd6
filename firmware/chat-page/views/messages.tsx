/**
 * The list of messages, with days, senders, the mark of unread messages, and outgoing ones. It is one tab stop; arrow keys move
 * between messages.
 */

import { useState } from 'preact/hooks'
import { keyOf } from '../model/conversation.ts'
import type { MessageList } from '../model/message-list.ts'
import type { RealmView } from '../model/realm.ts'
import type { ReceivedMessage } from '../model/types.ts'
import { type OutboxMessage, outbox } from '../outbox.ts'
import * as words from '../words/en.ts'
import { MessageItem } from './message.tsx'
import { MessageDialog, type MessageQuestion } from './message-actions.tsx'
import { PendingMessage } from './pending.tsx'

const TOGETHER_S = 300 // messages of one sender within five minutes share an avatar

interface MessagesProps {
  realm: RealmView
  list: MessageList
  near: number | null
  pending: readonly OutboxMessage[]
}

/** Must not read signals: a component that does is not rendered again when the same list object changes. */
export function Messages({ realm, list, near, pending }: MessagesProps) {
  const { messages, firstUnread } = list
  const [activeId, setActive] = useState<number | null>(null)
  const [editedId, setEdited] = useState<number | null>(null)
  const [asked, ask] = useState<{ question: MessageQuestion; messageId: number } | null>(null)
  if (messages.length === 0 && pending.length === 0) return <p class="empty">{words.noMessages}</p>
  const stopId = messages.some(({ id }) => id === activeId) ? activeId : messages.at(-1)?.id
  const rows = (
    <ol class="messages">
      {messages.map((message, at) => {
        const before = messages[at - 1]
        const day = dayOf(message)
        const isNewDay = before === undefined || dayOf(before) !== day
        const isNew = message.id === firstUnread
        const isTogether =
          !isNewDay &&
          !isNew &&
          before.sender_id === message.sender_id &&
          !message.is_me_message &&
          !before.is_me_message &&
          message.timestamp - before.timestamp < TOGETHER_S
        return (
          <li
            key={message.id}
            onPointerEnter={() => {
              if (document.querySelector(':popover-open') === null) setActive(message.id)
            }}
            onFocusIn={() => setActive(message.id)}
            onKeyDown={moveFocus}
          >
            {isNewDay && (
              <p class="divider">
                <span>{day}</span>
              </p>
            )}
            {isNew && (
              <p class="divider new">
                <span>{words.newMessages}</span>
              </p>
            )}
            <MessageItem
              realm={realm}
              message={message}
              isTogether={isTogether}
              isUnread={realm.unread.has(message.id)}
              isMarked={message.id === near}
              isActive={message.id === activeId}
              isStop={message.id === stopId}
              isEdited={message.id === editedId}
              setEdited={setEdited}
              ask={ask}
            />
          </li>
        )
      })}
      {pending.map((message) => (
        <li key={message.key}>
          <PendingMessage realm={realm} message={message} />
        </li>
      ))}
    </ol>
  )
  return (
    <>
      {rows}
      {asked !== null && <MessageDialog realm={realm} {...asked} close={() => ask(null)} />}
    </>
  )
}

function moveFocus(event: KeyboardEvent): void {
  const article = event.target
  if (!(article instanceof HTMLElement) || !article.matches('article')) return
  const all = [...(article.closest('ol')?.querySelectorAll<HTMLElement>('article[data-id]') ?? [])]
  const at = all.indexOf(article)
  const to = { ArrowUp: at - 1, k: at - 1, ArrowDown: at + 1, j: at + 1, Home: 0, End: all.length - 1 }[event.key]
  const next = to === undefined || event.ctrlKey || event.metaKey || event.altKey ? undefined : all[to]
  if (next === undefined) return
  event.preventDefault()
  next.focus({ preventScroll: true })
  next.scrollIntoView({ block: 'nearest' })
}

export function pendingOf({ conversation, messages, hasNewest }: MessageList): OutboxMessage[] {
  const here = keyOf(conversation)
  const all = outbox.value.filter((one) => keyOf(one.conversation) === here)
  if (!hasNewest) return []
  const arrived = new Set(messages.map(({ id }) => id))
  return all.filter(({ id }) => id === null || !arrived.has(id))
}

const dayOf = ({ timestamp }: ReceivedMessage): string => words.wholeDay(new Date(timestamp * 1000))
