/** The box in which people write. Its text stays until the outbox has the message. */

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Action } from '../../web/controls.tsx'
import { draftOf, setDraft } from '../drafts.ts'
import type { ConversationRef } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { send } from '../outbox.ts'
import * as words from '../words/en.ts'

export function ComposeBox(props: {
  realm: RealmView
  conversation: ConversationRef
  draftKey: string
  label: string
  before?: ComponentChildren
  sent?: () => void
}) {
  const { realm, conversation, draftKey, label, before, sent } = props
  const text = draftOf(draftKey, conversation)
  const field = useRef<HTMLTextAreaElement>(null)
  const id = useId()
  const isLong = [...text.value].length > realm.maxMessageLength
  const set = (value: string) => void setDraft(draftKey, value, conversation)
  useEffect(() => {
    const box = field.current
    if (box === null) return
    // As tall as its text; the style sheet says how tall at most.
    box.style.height = 'auto'
    box.style.height = `${box.scrollHeight + 2}px`
  }, [text.value])

  const submit = () => {
    const content = text.value
    if (content.trim() === '' || isLong) return
    void send(conversation, content)
    set('')
    field.current?.focus()
    sent?.()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.isComposing || event.shiftKey || event.altKey) return
    const isTouch = matchMedia('(pointer: coarse)').matches
    const sends = event.ctrlKey || event.metaKey || (realm.settings.enter_sends && !isTouch)
    if (!sends) return
    event.preventDefault()
    submit()
  }
  return (
    <form
      class="compose"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {before}
      <label class="hidden" for={id}>
        {label}
      </label>
      <div class="compose-row">
        <textarea
          ref={field}
          id={id}
          rows={1}
          dir="auto"
          value={text.value}
          placeholder={label}
          aria-describedby={`${id}-about`}
          aria-invalid={isLong ? 'true' : undefined}
          onInput={(event) => set(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <Action submit kind="primary">
          {words.send}
        </Action>
      </div>
      <span id={`${id}-about`} class={isLong ? 'error' : 'hint'}>
        {isLong
          ? words.tooLong(realm.maxMessageLength)
          : realm.settings.enter_sends
            ? words.sendsByEnter
            : words.sendsByButton}
      </span>
    </form>
  )
}
