/** The list of messages: days, senders, what is new, and each message with its reactions. */

import { Content } from '../message/content.tsx'
import { keyOf } from '../model/conversation.ts'
import type { MessageList } from '../model/message-list.ts'
import type { RealmView } from '../model/realm.ts'
import type { ReactionOfMessage, ReceivedMessage } from '../model/types.ts'
import { type OutboxMessage, outbox } from '../outbox.ts'
import * as words from '../words/en.ts'
import { memo } from './memo.ts'
import { Face } from './parts.tsx'
import { PendingMessage } from './pending.tsx'

const TOGETHER_S = 300 // messages of one sender within five minutes share a face

interface MessagesProps {
  realm: RealmView
  list: MessageList
  near: number | null
  pending: readonly OutboxMessage[]
}

/** Reads no signal: one that does is not drawn again when the same list has other messages. */
export function Messages({ realm, list, near, pending }: MessagesProps) {
  const { messages, firstUnread } = list
  if (messages.length === 0 && pending.length === 0) return <p class="empty">{words.noMessages}</p>
  return (
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
          <li key={message.id}>
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
              message={message}
              isTogether={isTogether}
              isUnread={realm.unread.has(message.id)}
              isMarked={message.id === near}
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
}

/** Those on their way that the list has not got yet. */
export function pendingOf({ conversation, messages, hasNewest }: MessageList): OutboxMessage[] {
  if (!hasNewest) return []
  const arrived = new Set(messages.map(({ id }) => id))
  const here = keyOf(conversation)
  return outbox.value.filter((one) => keyOf(one.conversation) === here && !(one.id !== null && arrived.has(one.id)))
}

const dayOf = ({ timestamp }: ReceivedMessage): string => words.wholeDay(new Date(timestamp * 1000))

interface ItemProps {
  message: ReceivedMessage
  isTogether: boolean
  isUnread: boolean
  isMarked: boolean
}

/** Drawn again only when something of it is another: most of a list stays as it is. */
const MessageItem = memo(({ message, isTogether, isUnread, isMarked }: ItemProps) => {
  const { id, timestamp, sender_full_name: sender, content, is_me_message: isMe, reactions } = message
  const time = new Date(timestamp * 1000)
  const edited = message.last_edit_timestamp !== undefined && <span class="soft edited">({words.edited})</span>
  const classes = ['message', isTogether && 'together', isUnread && 'unread', isMarked && 'marked']
  return (
    <article data-id={id} class={classes.filter(Boolean).join(' ')} aria-label={`${sender}, ${words.timeOfDay(time)}`}>
      {isTogether ? (
        <time class="aside" dateTime={time.toISOString()}>
          {words.timeOfDay(time)}
        </time>
      ) : (
        <Face person={{ full_name: sender, avatar_url: message.avatar_url }} />
      )}
      <div class="body">
        {!isTogether && (
          <p class="by">
            <strong>{sender}</strong>
            {!isMe && (
              <time dateTime={time.toISOString()} title={words.dateAndTime(time)}>
                {words.timeOfDay(time)}
              </time>
            )}
            {!isMe && edited}
          </p>
        )}
        <div class={isMe ? 'content me' : 'content'} dir="auto">
          <Content html={content} isMe={isMe} />
          {(isTogether || isMe) && edited}
        </div>
        {reactions.length > 0 && <Reactions all={reactions} />}
      </div>
    </article>
  )
})

function Reactions({ all }: { all: readonly ReactionOfMessage[] }) {
  const counts = new Map<string, { name: string; text: string; count: number }>()
  for (const { emoji_code: code, emoji_name: name, reaction_type: type } of all) {
    const known = counts.get(code) ?? {
      name,
      text: type === 'unicode_emoji' ? characters(code) : `:${name}:`,
      count: 0,
    }
    known.count++
    counts.set(code, known)
  }
  return (
    <ul class="reactions">
      {[...counts].map(([code, { name, text, count }]) => (
        <li key={code} title={`:${name}:`}>
          <span role="img" aria-label={words.reactionBy(name, count)}>
            {text} {count}
          </span>
        </li>
      ))}
    </ul>
  )
}

const characters = (code: string): string =>
  /^[0-9a-f]{2,6}(?:-[0-9a-f]{2,6})*$/.test(code)
    ? String.fromCodePoint(...code.split('-').map((one) => Math.min(Number.parseInt(one, 16), 0x10ffff)))
    : '?'
