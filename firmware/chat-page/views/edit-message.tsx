/**
 * Edits one's own message in place. The typed text stays until it is saved or discarded, and is saved only over the text that the edit
 * began with.
 */

import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Action } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { noteFailure } from '../connection.ts'
import { baseOf, beginEdit, draftOf, setDraft } from '../drafts.ts'
import type { RealmView } from '../model/realm.ts'
import type { ReceivedMessage } from '../model/types.ts'
import { fetchContent } from '../quote.ts'
import { noteTyping, stopTyping, typingInEdit } from '../typing.ts'
import { words } from '../words/words.ts'
import { useFitHeight } from './fit-height.ts'
import { Problem } from './problem.tsx'

export function EditMessage(props: { realm: RealmView; message: ReceivedMessage; close: () => void }) {
  const { realm, message, close } = props
  const { id, type } = message
  const key = `edit ${id}`
  const text = draftOf(key)
  /** The server's text when the edit began; null until it is loaded. */
  const before = useSignal<string | null>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const run = useRun()
  useEffect(() => {
    void run.start(words.loading, async () => {
      const now = await fetchContent(id)
      const base = baseOf(key)
      const isTyped = text.value !== '' && text.value !== base
      // A text without a base is of an earlier version of this page: no base lets it be saved over what it may not know.
      before.value = isTyped ? (base ?? '') : now
      if (!isTyped) await beginEdit(key, now)
    })
  }, [id])
  useEffect(() => stopTyping, [id])
  useFitHeight(field, [text.value, before.value])
  useLayoutEffect(() => field.current?.focus(), [before.value === null])
  const end = () => {
    void setDraft(key, '')
    close()
  }
  const save = async () => {
    const old = before.value
    if (old === null || text.value.trim() === '') return
    if (text.value === old) return end()
    const changes = { content: text.value, prev_content_sha256: await sha256(old) }
    if (await run.start(words.saving, () => call('PATCH', `/messages/${id}`, changes))) end()
    else noteFailure(run.error.value)
  }
  return (
    <form
      class="edit"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <textarea
        ref={field}
        dir="auto"
        aria-label={words.editText}
        value={text.value}
        disabled={before.value === null}
        onInput={({ currentTarget: { value } }) => {
          void setDraft(key, value)
          noteTyping(realm, typingInEdit(realm, id, type), value)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') end()
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          void save()
        }}
      />
      <Problem error={run.error.value} title={words.notSaved} />
      <div class="row">
        <Action submit kind="small primary" busy={run.busy.value}>
          {words.save}
        </Action>
        <Action kind="small" onClick={end}>
          {words.cancel}
        </Action>
      </div>
    </form>
  )
}

async function sha256(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
