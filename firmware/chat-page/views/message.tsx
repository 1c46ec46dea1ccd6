/** One message: sender, time, content, reactions, and actions while it is pointed at or focused. */

import type { ComponentProps } from 'preact'
import { Action } from '../../web/controls.tsx'
import { Content } from '../message/content.tsx'
import { collapse } from '../message-acts.ts'
import type { RealmView } from '../model/realm.ts'
import type { ReceivedMessage } from '../model/types.ts'
import { dateAndTime, timeInColumn, timeOfDay } from '../words/format.ts'
import { words } from '../words/words.ts'
import { loadMore } from './area.tsx'
import type { EditMessage } from './edit-message.tsx'
import { HiddenNotice } from './hidden-notice.tsx'
import { useLoaded } from './loaded.ts'
import { memo } from './memo.ts'
import { MessageActions, type MessageQuestion } from './message-actions.tsx'
import { Face } from './parts.tsx'
import { Problem } from './problem.tsx'
import { Reactions } from './reactions.tsx'
import { widgetOf } from './widget.tsx'

interface ItemProps {
  realm: RealmView
  /** Generation of the realm, which changes in place. */
  generation: number
  message: ReceivedMessage
  isTogether: boolean
  /** Read by the formats of times: a message is rendered again when it changes. */
  is24Hours: boolean | null
  isUnread: boolean
  isMarked: boolean
  isActive: boolean
  /** True for the tab stop of the list. */
  isStop: boolean
  /** True for a message of a muted user that is not revealed. */
  isHidden: boolean
  /** True for a message with very many elements that is not revealed. */
  isFolded: boolean
  reveal: (id: number) => void
  isEdited: boolean
  /** True while the sender edits it elsewhere. */
  isInEdit: boolean
  setEdited: (id: number | null) => void
  ask: (asked: { question: MessageQuestion; messageId: number }) => void
}

/** Renders again only if a property has changed, so most of a list is reused. */
export const MessageItem = memo((props: ItemProps) => {
  const {
    realm,
    message,
    isTogether,
    isUnread,
    isMarked,
    isActive,
    isStop,
    isHidden,
    isFolded,
    reveal,
    isEdited,
    isInEdit,
    setEdited,
    ask,
  } = props
  const { id, timestamp, reactions, flags } = message
  const sender = isHidden ? words.mutedPerson : message.sender_full_name
  const isMe = message.is_me_message && !isHidden
  const time = new Date(timestamp * 1000)
  const notes = <Notes message={message} isInEdit={isInEdit} />
  const classes = ['message', isTogether && 'together', isUnread && 'unread', isMarked && 'marked']
  return (
    <article
      data-id={id}
      class={classes.filter(Boolean).join(' ')}
      aria-label={`${sender}, ${timeOfDay(time)}`}
      tabIndex={isStop ? 0 : -1}
    >
      {isTogether ? (
        <time class="aside" dateTime={time.toISOString()} title={dateAndTime(time)}>
          {timeInColumn(time)}
        </time>
      ) : (
        <Face person={isHidden ? undefined : { full_name: sender, avatar_url: message.avatar_url }} />
      )}
      <div class="body">
        {!isTogether && (
          <p class="by">
            <strong>{sender}</strong>
            {!isMe && (
              <time dateTime={time.toISOString()} title={dateAndTime(time)}>
                {timeOfDay(time)}
              </time>
            )}
            {!isMe && notes}
          </p>
        )}
        {isHidden ? (
          <HiddenNotice text={words.mutedMessage} reveal={() => reveal(id)} />
        ) : isEdited ? (
          <LoadedEdit realm={realm} message={message} close={() => setEdited(null)} />
        ) : (
          <div class={isMe ? 'content me' : 'content'} dir="auto">
            {isFolded ? (
              <HiddenNotice text={words.longMessage} reveal={() => reveal(id)} />
            ) : flags.includes('collapsed') ? (
              <HiddenNotice text={words.collapsed} reveal={() => void collapse(message)} />
            ) : (
              (widgetOf(realm, message) ?? <Content html={message.content} isMe={isMe} />)
            )}
            {(isTogether || isMe) && notes}
          </div>
        )}
        {!isHidden && reactions.length > 0 && <Reactions realm={realm} message={message} />}
      </div>
      {isActive && !isEdited && !isHidden && (
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

/** Loads the script of edits first. */
function LoadedEdit(props: ComponentProps<typeof EditMessage>) {
  const { value, failure } = useLoaded(loadMore)
  if (value.value !== null) return <value.value.EditMessage {...props} />
  return <Problem error={failure.value} also={<Action onClick={props.close}>{words.cancel}</Action>} />
}

function Notes({ message, isInEdit }: { message: ReceivedMessage; isInEdit: boolean }) {
  const { flags, last_edit_timestamp: editedS } = message
  return (
    <>
      {flags.includes('starred') && (
        <span class="starred" role="img" aria-label={words.starred} title={words.starred}>
          ★
        </span>
      )}
      {(isInEdit || editedS !== undefined) && (
        <span class="soft edited">({isInEdit ? words.editing : words.edited})</span>
      )}
    </>
  )
}
