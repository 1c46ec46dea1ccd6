/** One message: sender, time, content, reactions, and actions while it is pointed at or focused. */

import { Content } from '../message/content.tsx'
import type { RealmView } from '../model/realm.ts'
import type { ReceivedMessage } from '../model/types.ts'
import * as words from '../words/en.ts'
import { EditMessage } from './edit-message.tsx'
import { memo } from './memo.ts'
import { MessageActions, type MessageQuestion } from './message-actions.tsx'
import { Face } from './parts.tsx'
import { Reactions } from './reactions.tsx'
import { widgetOf } from './widget.tsx'

interface ItemProps {
  realm: RealmView
  message: ReceivedMessage
  isTogether: boolean
  isUnread: boolean
  isMarked: boolean
  isActive: boolean
  /** True for the tab stop of the list. */
  isStop: boolean
  isEdited: boolean
  setEdited: (id: number | null) => void
  ask: (asked: { question: MessageQuestion; messageId: number }) => void
}

/** Renders again only if a property has changed, so most of a list is reused. */
export const MessageItem = memo((props: ItemProps) => {
  const { realm, message, isTogether, isUnread, isMarked, isActive, isStop, isEdited, setEdited, ask } = props
  const { id, timestamp, sender_full_name: sender, is_me_message: isMe, reactions } = message
  const time = new Date(timestamp * 1000)
  const notes = <Notes message={message} />
  const classes = ['message', isTogether && 'together', isUnread && 'unread', isMarked && 'marked']
  return (
    <article
      data-id={id}
      class={classes.filter(Boolean).join(' ')}
      aria-label={`${sender}, ${words.timeOfDay(time)}`}
      tabIndex={isStop ? 0 : -1}
    >
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
            {!isMe && notes}
          </p>
        )}
        {isEdited ? (
          <EditMessage id={id} close={() => setEdited(null)} />
        ) : (
          <div class={isMe ? 'content me' : 'content'} dir="auto">
            {widgetOf(realm, message) ?? <Content html={message.content} isMe={isMe} />}
            {(isTogether || isMe) && notes}
          </div>
        )}
        {reactions.length > 0 && <Reactions realm={realm} message={message} />}
      </div>
      {isActive && !isEdited && (
        <MessageActions
          realm={realm}
          message={message}
          edit={() => setEdited(id)}
          ask={(question) => ask({ question, messageId: id })}
        />
      )}
    </article>
  )
})

function Notes({ message: { flags, last_edit_timestamp: editedS } }: { message: ReceivedMessage }) {
  return (
    <>
      {flags.includes('starred') && (
        <span class="starred" role="img" aria-label={words.starred} title={words.starred}>
          ★
        </span>
      )}
      {editedS !== undefined && <span class="soft edited">({words.edited})</span>}
    </>
  )
}
