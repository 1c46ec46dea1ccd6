/** Words that mark a message as a mention. */

import { useSignal } from '@preact/signals'
import { Action, Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { attempt } from '../problems.ts'
import { Icon } from '../views/icons.tsx'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'

const WORD_MAX = 100

export function AlertWordsSection() {
  const { value, failure, load } = useLoaded((signal) =>
    call<{ alert_words: string[] }>('GET', '/users/me/alert_words', {}, { signal }),
  )
  const text = useSignal('')
  const run = useRun()
  const add = async () => {
    const word = text.value.trim()
    if (word === '') return
    if (!(await run.start(words.saving, () => call('POST', '/users/me/alert_words', { alert_words: [word] })))) return
    text.value = ''
    await load()
  }
  const remove = async (word: string) => {
    await attempt(call('DELETE', '/users/me/alert_words', { alert_words: [word] }))
    await load()
  }
  return (
    <section class="form">
      <p class="soft">{words.alertWordsLead}</p>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault()
          void add()
        }}
      >
        <Field label={words.alertWord} bind={text} maxLength={WORD_MAX} />
        <Action submit busy={run.busy.value}>
          {words.add}
        </Action>
      </form>
      <Problem error={failure.value ?? run.error.value} />
      <ul class="rows">
        {value.value?.alert_words.map((word) => (
          <li key={word} class="row-entry">
            <span dir="auto">{word}</span>
            <Action kind="icon" label={words.removeNamed(word)} onClick={() => void remove(word)}>
              <Icon name="close" />
            </Action>
          </li>
        ))}
      </ul>
    </section>
  )
}
