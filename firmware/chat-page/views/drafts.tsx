/** Unsent texts: waiting and refused messages, drafts, scheduled messages, reminders. */

import { call } from '../api.ts'
import { placeOfDraft } from '../drafts.ts'
import type { RealmView } from '../model/realm.ts'
import { type OutboxMessage, outbox } from '../outbox.ts'
import { attempt } from '../problems.ts'
import { words } from '../words/words.ts'
import { loadMore } from './area.tsx'
import { ViewTitle } from './frame.tsx'
import { useLoaded } from './loaded.ts'
import { Refusal } from './pending.tsx'
import { Problem } from './problem.tsx'
import { Entry, Section } from './unsent.tsx'

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
      <LoadedLater realm={realm} />
    </div>
  )
}

function LoadedLater({ realm }: { realm: RealmView }) {
  const { value, failure } = useLoaded(loadMore)
  return value.value === null ? <Problem error={failure.value} /> : <value.value.Later realm={realm} />
}
