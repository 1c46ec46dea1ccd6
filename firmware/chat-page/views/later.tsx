/** Scheduled messages and reminders, of the view of unsent texts. */

import { useSignal } from '@preact/signals'
import { call } from '../api.ts'
import { type ConversationRef, directWith } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { attempt } from '../problems.ts'
import { dateAndTime } from '../words/format.ts'
import { words } from '../words/words.ts'
import { useLoaded } from './loaded.ts'
import { Problem } from './problem.tsx'
import { ScheduledDialog } from './scheduled-dialog.tsx'
import { Entry, Section } from './unsent.tsx'

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

export function Later({ realm }: { realm: RealmView }) {
  const scheduled = useLoaded((signal) =>
    call<{ scheduled_messages: Scheduled[] }>('GET', '/scheduled_messages', {}, { signal }),
  )
  const reminders = useLoaded((signal) => call<{ reminders: Reminder[] }>('GET', '/reminders', {}, { signal }))
  const edited = useSignal<Scheduled | null>(null)
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
            edit={() => {
              edited.value = one
            }}
            remove={() =>
              void removeThen(call('DELETE', `/scheduled_messages/${one.scheduled_message_id}`), scheduled.load)
            }
          >
            <p class={one.failed ? 'error' : 'soft'}>
              {dateAndTime(new Date(one.scheduled_delivery_timestamp * 1000))}
              {one.failed && ` · ${words.notSent}`}
            </p>
          </Entry>
        ))}
      </Section>
      {edited.value !== null && (
        <ScheduledDialog
          content={edited.value.content}
          timeS={edited.value.scheduled_delivery_timestamp}
          save={(values) =>
            call('PATCH', `/scheduled_messages/${edited.value?.scheduled_message_id}`, values).then(scheduled.load)
          }
          close={() => {
            edited.value = null
          }}
        />
      )}
      <Section title={words.reminders}>
        {reminders.value.value?.reminders.map((one) => (
          <Entry
            key={one.reminder_id}
            realm={realm}
            conversation={null}
            text={one.content}
            remove={() => void removeThen(call('DELETE', `/reminders/${one.reminder_id}`), reminders.load)}
          >
            <p class="soft">{dateAndTime(new Date(one.scheduled_delivery_timestamp * 1000))}</p>
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
