/** Unsent texts: waiting and refused messages, drafts, scheduled messages, reminders. */

import type { ComponentChildren } from 'preact'
import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { placeOfDraft } from '../drafts.ts'
import { type ConversationRef, directWith } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { fullName, linkTo } from '../names.ts'
import { type OutboxMessage, outbox } from '../outbox.ts'
import { attempt } from '../problems.ts'
import * as words from '../words/en.ts'
import { ViewTitle } from './frame.tsx'
import { useLoaded } from './loaded.ts'
import { Refusal } from './pending.tsx'
import { Problem } from './problem.tsx'

/** An element of GET /scheduled_messages. */
interface Scheduled {
  scheduled_message_id: number
  type: 'stream' | 'private'
  to: number | number[]
  topic?: string
  content: string
  scheduled_delivery_timestamp: number
  failed: boolean
}

/** An element of GET /reminders. */
interface Reminder {
  reminder_id: number
  content: string
  scheduled_delivery_timestamp: number
}

/** `waiting` and `drafts` are properties, since a view that reads signals is not rendered again with its parent. */
interface DraftsProps {
  realm: RealmView
  waiting: readonly OutboxMessage[]
}

export const waitingMessages = (): readonly OutboxMessage[] => outbox.value.filter(({ id }) => id === null)

export function DraftsView({ realm, waiting }: DraftsProps) {
  const drafts = [...realm.drafts.values()].sort((a, b) => b.timestamp - a.timestamp)
  return (
    <div class="view">
      <ViewTitle title={words.drafts} />
      {waiting.length > 0 && (
        <Section title={words.outbox}>
          {waiting.map((message) => (
            <Entry key={message.key} realm={realm} conversation={message.conversation} text={message.content}>
              {message.refusal === null ? (
                <p class="soft">{message.failures === 0 ? words.sending : words.sendingAgain}</p>
              ) : (
                <Refusal message={message} refusal={message.refusal} />
              )}
            </Entry>
          ))}
        </Section>
      )}
      <Section title={words.drafts}>
        {drafts.map((draft) => (
          <Entry
            key={draft.id}
            realm={realm}
            conversation={placeOfDraft(draft, realm.ownId)}
            text={draft.content}
            remove={() => void attempt(call('DELETE', `/drafts/${draft.id}`))}
          />
        ))}
      </Section>
      {drafts.length === 0 && waiting.length === 0 && <p class="empty">{words.noDrafts}</p>}
      <Later realm={realm} />
    </div>
  )
}

function Later({ realm }: { realm: RealmView }) {
  const scheduled = useLoaded((signal) =>
    call<{ scheduled_messages: Scheduled[] }>('GET', '/scheduled_messages', {}, { signal }),
  )
  const reminders = useLoaded((signal) => call<{ reminders: Reminder[] }>('GET', '/reminders', {}, { signal }))
  const removeThen = async (removal: Promise<unknown>, load: () => Promise<void>) => {
    await attempt(removal)
    await load()
  }
  return (
    <>
      <Problem error={scheduled.failure.value ?? reminders.failure.value} />
      <Section title={words.scheduled}>
        {scheduled.value.value?.scheduled_messages.map((one) => (
          <Entry
            key={one.scheduled_message_id}
            realm={realm}
            conversation={placeOfScheduled(one, realm.ownId)}
            text={one.content}
            remove={() =>
              void removeThen(call('DELETE', `/scheduled_messages/${one.scheduled_message_id}`), scheduled.load)
            }
          >
            <p class={one.failed ? 'error' : 'soft'}>
              {words.dateAndTime(new Date(one.scheduled_delivery_timestamp * 1000))}
              {one.failed && ` · ${words.notSent}`}
            </p>
          </Entry>
        ))}
      </Section>
      <Section title={words.reminders}>
        {reminders.value.value?.reminders.map((one) => (
          <Entry
            key={one.reminder_id}
            realm={realm}
            conversation={null}
            text={one.content}
            remove={() => void removeThen(call('DELETE', `/reminders/${one.reminder_id}`), reminders.load)}
          >
            <p class="soft">{words.dateAndTime(new Date(one.scheduled_delivery_timestamp * 1000))}</p>
          </Entry>
        ))}
      </Section>
    </>
  )
}

const placeOfScheduled = ({ type, to, topic = '' }: Scheduled, ownId: number): ConversationRef =>
  type === 'stream' && typeof to === 'number'
    ? { kind: 'topic', channelId: to, topic }
    : directWith(Array.isArray(to) ? to : [to], ownId)

function Section({ title, children }: { title: string; children: ComponentChildren }) {
  if (!Array.isArray(children) || children.length === 0) return null
  return (
    <section class="group">
      <h2>{title}</h2>
      <ul class="rows">{children}</ul>
    </section>
  )
}

function Entry(props: {
  realm: RealmView
  conversation: ConversationRef | null
  text: string
  remove?: () => void
  children?: ComponentChildren
}) {
  const { realm, conversation, text, remove, children } = props
  return (
    <li class="row-entry">
      <div>
        {conversation !== null && <a href={linkTo(realm, conversation)}>{fullName(realm, conversation)}</a>}
        <p class="excerpt" dir="auto">
          {text}
        </p>
        {children}
      </div>
      {remove && (
        <Action kind="small" onClick={remove}>
          {words.remove}
        </Action>
      )}
    </li>
  )
}
