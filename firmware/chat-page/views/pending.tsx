import { Action } from '../../web/controls.tsx'
import { draftOf, setDraft } from '../drafts.ts'
import { keyOf } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { discard, type OutboxMessage, sendAgain } from '../outbox.ts'
import { words } from '../words/words.ts'
import { Face } from './parts.tsx'

export function PendingMessage({ realm, message }: { realm: RealmView; message: OutboxMessage }) {
  const { content, refusal, failures } = message
  const me = realm.people.get(realm.ownId)
  return (
    <article class={refusal === null ? 'message pending' : 'message refused'} aria-label={words.onItsWay}>
      <Face person={me} />
      <div class="body">
        <p class="by">
          <strong>{me?.full_name}</strong>
          {refusal === null && (
            <span class="soft" role="status">
              {failures === 0 ? words.sending : words.sendingAgain}
            </span>
          )}
        </p>
        <p class="content typed" dir="auto">
          {content}
        </p>
        {refusal !== null && <Refusal message={message} refusal={refusal} />}
      </div>
    </article>
  )
}

export function Refusal({ message, refusal }: { message: OutboxMessage; refusal: string }) {
  const { key, conversation, content } = message
  const toBox = () => {
    const box = keyOf(conversation)
    const typed = draftOf(box, conversation).value
    void setDraft(box, typed === '' ? content : `${content}\n\n${typed}`, conversation)
    discard(key)
  }
  return (
    <div class="notice bad" role="alert">
      <strong>{words.notSent}</strong>
      <p>{refusal}</p>
      <div class="row">
        <Action kind="small" onClick={toBox}>
          {words.edit}
        </Action>
        <Action kind="small" onClick={() => sendAgain(key)}>
          {words.again}
        </Action>
        <Action kind="small danger" onClick={() => discard(key)}>
          {words.discard}
        </Action>
      </div>
    </div>
  )
}
