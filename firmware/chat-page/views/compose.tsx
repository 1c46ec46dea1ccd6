/** The box in which people write. Its text stays until the server has taken the message. */

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Action } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { CallRefused, call } from '../api.ts'
import { noteFailure, queueId } from '../connection.ts'
import { draftOf, keepDraft } from '../drafts.ts'
import type { ConversationRef } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import * as words from '../words/en.ts'
import { Problem } from './problem.tsx'

export function ComposeBox(props: {
  realm: RealmView
  conversation: ConversationRef
  draftKey: string
  label: string
  before?: ComponentChildren
  sent?: () => void
}) {
  const { realm, conversation, draftKey, label, before, sent } = props
  const text = useSignal(draftOf(draftKey))
  const run = useRun()
  const field = useRef<HTMLTextAreaElement>(null)
  const id = useId()
  const isLong = [...text.value].length > realm.maxMessageLength
  const set = (value: string) => {
    text.value = value
    keepDraft(draftKey, value)
  }
  useEffect(() => {
    const box = field.current
    if (box === null) return
    // As tall as its text; the style sheet says how tall at most.
    box.style.height = 'auto'
    box.style.height = `${box.scrollHeight + 2}px`
  }, [text.value])

  const submit = async () => {
    const content = text.value
    if (content.trim() === '' || isLong) return
    const isSent = await run.start(words.sending, () => send(conversation, realm.ownId, content))
    if (!isSent) return noteFailure(run.error.value)
    // What was typed meanwhile is another message.
    if (text.value === content) set('')
    else set(text.value.startsWith(content) ? text.value.slice(content.length) : text.value)
    field.current?.focus()
    sent?.()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.isComposing || event.shiftKey || event.altKey) return
    const isTouch = matchMedia('(pointer: coarse)').matches
    const sends = event.ctrlKey || event.metaKey || (realm.settings.enter_sends && !isTouch)
    if (!sends) return
    event.preventDefault()
    void submit()
  }
  const isUncertain = run.error.value !== null && !(run.error.value instanceof CallRefused)
  return (
    <form
      class="compose"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      {before}
      <Problem
        error={run.error.value}
        title={isUncertain ? words.problemOffline : words.notSent}
        also={isUncertain && <p>{words.maybeSent}</p>}
      />
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
        <Action submit kind="primary" busy={run.busy.value}>
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

function send(conversation: ConversationRef, ownId: number, content: string): Promise<unknown> {
  const to =
    conversation.kind === 'topic'
      ? { type: 'stream', to: conversation.channelId, topic: conversation.topic }
      : { type: 'direct', to: conversation.userIds.length === 0 ? [ownId] : conversation.userIds }
  return call('POST', '/messages', { ...to, content, queue_id: queueId() ?? undefined })
}
