/**
 * The list of messages, with days, senders, the mark of unread messages, and outgoing ones. It is one tab stop; keys move between
 * messages and act on them.
 */

import { useCallback, useState } from 'preact/hooks'
import { conversationOf, keyOf } from '../model/conversation.ts'
import { isHeavy } from '../model/element-count.ts'
import type { MessageList } from '../model/message-list.ts'
import type { RealmView } from '../model/realm.ts'
import type { ReceivedMessage } from '../model/types.ts'
import { placeOfEdit } from '../model/typists.ts'
import { fullName } from '../names.ts'
import { type OutboxMessage, outbox } from '../outbox.ts'
import { linkToMessage } from '../quote.ts'
import { wholeDay } from '../words/format.ts'
import { words } from '../words/words.ts'
import { ChannelMark } from './frame.tsx'
import { MessageItem } from './message.tsx'
import { MessageDialog, type MessageQuestion } from './message-actions.tsx'
import { onMessageKey } from './message-keys.ts'
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
  const [revealed, setRevealed] = useState<ReadonlySet<number>>(new Set())
  const [editedId, setEdited] = useState<number | null>(null)
  // The same functions each time: a message is drawn again only if a property has changed.
  const reveal = useCallback((id: number) => setRevealed((known) => new Set([...known, id])), [])
  const [asked, ask] = useState<{ question: MessageQuestion; messageId: number } | null>(null)
  if (messages.length === 0 && pending.length === 0) return <p class="empty">{words.noMessages}</p>
  const stopId = messages.some(({ id }) => id === activeId) ? activeId : messages.at(-1)?.id
  const rows = (
    <ol class="messages">
      {messages.map((message, at) => {
        const before = messages[at - 1]
        const isNewDay = before === undefined || !isSameDay(before, message)
        const isNew = message.id === firstUnread
        const place = list.source.conversation === null ? conversationOf(message, realm.ownId) : null
        const isElsewhere =
          place !== null && (before === undefined || keyOf(conversationOf(before, realm.ownId)) !== keyOf(place))
        const isTogether =
          !isNewDay &&
          !isElsewhere &&
          before !== undefined &&
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
            onKeyDown={(event) =>
              onMessageKey(event, {
                ...{ realm, message, activate: () => setActive(message.id), edit: () => setEdited(message.id) },
                ask: (question) => ask({ question, messageId: message.id }),
              })
            }
          >
            {isNewDay && (
              <p class="divider">
                <span>{wholeDay(timeOf(message))}</span>
              </p>
            )}
            {isNew && (
              <p class="divider new">
                <span>{words.newMessages}</span>
              </p>
            )}
            {place !== null && (isElsewhere || isNewDay || isNew) && (
              <p class="place">
                {place.kind === 'topic' && <ChannelMark color={realm.channels.get(place.channelId)?.color ?? ''} />}
                <a class="place-link" href={linkToMessage(realm, message)}>
                  {fullName(realm, place)}
                </a>
              </p>
            )}
            <MessageItem
              realm={realm}
              generation={realm.generation}
              message={message}
              isTogether={isTogether}
              is24Hours={realm.settings.twenty_four_hour_time}
              isUnread={realm.unread.has(message.id)}
              isMarked={message.id === near}
              isActive={message.id === activeId}
              isStop={message.id === stopId}
              isHidden={realm.mutedUsers.has(message.sender_id) && !revealed.has(message.id)}
              isFolded={isHeavy(message) && !revealed.has(message.id)}
              reveal={reveal}
              isEdited={message.id === editedId}
              isInEdit={message.sender_id !== realm.ownId && realm.typists.endMs(placeOfEdit(message.id)) !== null}
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

export function pendingOf({ source: { key: here }, messages, hasNewest }: MessageList): OutboxMessage[] {
  const all = outbox.value.filter((one) => keyOf(one.conversation) === here)
  if (!hasNewest) return []
  const arrived = new Set(messages.map(({ id }) => id))
  return all.filter(({ id }) => id === null || !arrived.has(id))
}

const timeOf = ({ timestamp }: ReceivedMessage): Date => new Date(timestamp * 1000)

/** In the time zone of the browser. Comparing dates as texts of a language would take longer than drawing the list. */
function isSameDay(one: ReceivedMessage, other: ReceivedMessage): boolean {
  const [a, b] = [timeOf(one), timeOf(other)]
  return a.getDate() === b.getDate() && a.getMonth() === b.getMonth() && a.getFullYear() === b.getFullYear()
}
