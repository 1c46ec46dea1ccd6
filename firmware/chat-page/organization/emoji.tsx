/** Emoji of the organization. */

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { Action, Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { noteFailure } from '../connection.ts'
import { EmojiFace } from '../views/emoji-picker.tsx'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'
import type { OrganizationProps } from './organization.tsx'
import { RecordList } from './record-list.tsx'

export function EmojiSection({ realm }: OrganizationProps) {
  const all = [...realm.emoji.values()].filter(({ deactivated }) => !deactivated)
  return (
    <>
      <NewEmoji />
      <RecordList
        empty={words.noOwnEmoji}
        records={all
          .sort((a, b) => a.name.localeCompare(b.name))
          .map(({ id, name }) => ({
            ...{ id: name, title: `:${name}:` },
            picture: <EmojiFace realm={realm} type="realm_emoji" code={id} />,
          }))}
        fields={[]}
        remove={(name) => call('DELETE', `/realm/emoji/${encodeURIComponent(name)}`)}
        removeText={words.removeEmojiText}
      />
    </>
  )
}

function NewEmoji() {
  const name = useSignal('')
  const input = useRef<HTMLInputElement>(null)
  const run = useRun()
  const add = async () => {
    const file = input.current?.files?.[0]
    const wanted = name.value.trim().toLowerCase()
    if (file === undefined || wanted === '') return
    const added = () => call('POST', `/realm/emoji/${encodeURIComponent(wanted)}`, {}, { file })
    if (!(await run.start(words.saving, added))) return noteFailure(run.error.value)
    name.value = ''
    if (input.current) input.current.value = ''
  }
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void add()
      }}
    >
      <Field label={words.emojiName} bind={name} required pattern="[0-9a-z._\-]*[0-9a-z]" />
      <label class="field">
        {words.picture}
        <input ref={input} type="file" accept="image/*" required />
      </label>
      <Problem error={run.error.value} />
      <div>
        <Action submit busy={run.busy.value}>
          {words.add}
        </Action>
      </div>
    </form>
  )
}
