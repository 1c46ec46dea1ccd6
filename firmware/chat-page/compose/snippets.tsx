/** Saved snippets: inserts one into the compose box, saves the text of the box as one, deletes one. */

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Action, Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { attempt } from '../problems.ts'
import { Icon } from '../views/icons.tsx'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'

const TITLE_MAX = 60

interface Snippet {
  id: number
  title: string
  content: string
}

export interface SnippetMenuProps {
  /** Text of the compose box. */
  text: string
  insert: (content: string) => void
}

const fetchSnippets = async (extras?: { signal: AbortSignal }) =>
  (await call<{ saved_snippets: Snippet[] }>('GET', '/saved_snippets', {}, extras)).saved_snippets

export function SnippetMenu({ text, insert }: SnippetMenuProps) {
  const { value, failure, load } = useLoaded((signal) => fetchSnippets({ signal }))
  const panel = useRef<HTMLDivElement>(null)
  const title = useSignal('')
  const run = useRun()
  const all = [...(value.value ?? [])].sort((a, b) => a.title.localeCompare(b.title))
  useEffect(() => {
    if (value.value !== null) panel.current?.querySelector<HTMLElement>('button, input')?.focus()
  }, [value.value === null])
  const save = async () => {
    const wanted = title.value.trim()
    if (wanted === '') return
    const replaceOrAdd = async () => {
      // The list that is shown: one that another device has saved since stays beside the new one, and is not lost.
      const known = (value.value ?? (await fetchSnippets())).find((one) => one.title === wanted)
      if (known === undefined) await call('POST', '/saved_snippets', { title: wanted, content: text })
      else await call('PATCH', `/saved_snippets/${known.id}`, { content: text })
    }
    if (!(await run.start(words.saving, replaceOrAdd))) return
    title.value = ''
    await load()
  }
  const remove = async (id: number) => {
    await attempt(call('DELETE', `/saved_snippets/${id}`))
    await load()
  }
  return (
    <div class="snippets" ref={panel}>
      <strong>{words.snippets}</strong>
      <Problem error={failure.value} />
      {value.value === null && !failure.value && <p class="hint">{words.loading}</p>}
      {value.value !== null && all.length === 0 && <p class="hint">{words.noSnippets}</p>}
      <ul class="rows">
        {all.map(({ id, title: name, content }) => (
          <li key={id} class="line">
            <button type="button" class="link" title={content} onClick={() => insert(content)}>
              {name}
            </button>
            <Action kind="icon" label={words.removeNamed(name)} onClick={() => void remove(id)}>
              <Icon name="close" />
            </Action>
          </li>
        ))}
      </ul>
      {text.trim() !== '' && (
        <form
          class="line"
          onSubmit={(event) => {
            event.preventDefault()
            void save()
          }}
        >
          <Field label={words.snippetTitle} bind={title} maxLength={TITLE_MAX} required />
          <Action submit kind="small" busy={run.busy.value}>
            {words.save}
          </Action>
          <Problem error={run.error.value} />
        </form>
      )}
    </div>
  )
}
