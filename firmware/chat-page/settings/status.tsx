/** The account's status: a text and an emoji. */

import { useSignal } from '@preact/signals'
import { Action, Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { noteFailure } from '../connection.ts'
import type { RealmView } from '../model/realm.ts'
import { EmojiFace, EmojiPicker } from '../views/emoji-picker.tsx'
import { Icon } from '../views/icons.tsx'
import { Popover } from '../views/popover.tsx'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'

const TEXT_MAX = 60

interface StatusEmoji {
  emoji_name: string
  emoji_code: string
  reaction_type: string
}

const NO_EMOJI: StatusEmoji = { emoji_name: '', emoji_code: '', reaction_type: '' }

export function StatusForm({ realm }: { realm: RealmView }) {
  const {
    status_text = '',
    emoji_name = '',
    emoji_code = '',
    reaction_type = '',
  } = realm.statuses.get(realm.ownId) ?? {}
  const text = useSignal(status_text)
  const emoji = useSignal<StatusEmoji>({ emoji_name, emoji_code, reaction_type })
  const run = useRun()
  const isSaved = useSignal(false)
  const save = async (values: StatusEmoji & { status_text: string }) => {
    isSaved.value = await run.start(words.saving, () => call('POST', '/users/me/status', { ...values }))
    if (!isSaved.value) return noteFailure(run.error.value)
    text.value = values.status_text
    emoji.value = values
  }
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void save({ ...emoji.value, status_text: text.value.trim() })
      }}
    >
      <h2>{words.status}</h2>
      <div class="row end">
        <Popover
          label={words.statusEmoji}
          text={
            emoji.value.emoji_code === '' ? (
              <Icon name="smile" />
            ) : (
              <EmojiFace realm={realm} type={emoji.value.reaction_type} code={emoji.value.emoji_code} />
            )
          }
        >
          {(close) => (
            <EmojiPicker
              realm={realm}
              choose={({ name, code, type }) => {
                close()
                emoji.value = { emoji_name: name, emoji_code: code, reaction_type: type }
              }}
            />
          )}
        </Popover>
        <Field label={words.statusText} bind={text} maxLength={TEXT_MAX} />
      </div>
      <Problem error={run.error.value} title={words.notSaved} />
      <div class="row">
        <Action submit busy={run.busy.value}>
          {words.setStatus}
        </Action>
        <Action kind="link" onClick={() => void save({ ...NO_EMOJI, status_text: '' })}>
          {words.clearStatus}
        </Action>
        <span role="status">{isSaved.value && words.saved}</span>
      </div>
    </form>
  )
}
