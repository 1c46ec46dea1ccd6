import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Field } from '../../web/controls.tsx'
import {
  characters,
  type EmojiChoice,
  type EmojiGroups,
  findEmoji,
  loadEmoji,
  loadEmojiGroups,
  pictureOf,
} from '../emoji.ts'
import type { RealmView } from '../model/realm.ts'
import { wordFor, words } from '../words/words.ts'
import { Problem } from './problem.tsx'

const nameOf = (group: string | null): string =>
  group === null ? words.popularEmoji : (wordFor(words.emojiGroupNames, group) ?? group)

export function EmojiPicker({ realm, choose }: { realm: RealmView; choose: (emoji: EmojiChoice) => void }) {
  const all = useSignal<readonly EmojiChoice[]>([])
  const failure = useSignal<unknown>(null)
  const text = useSignal('')
  const groups = useSignal<EmojiGroups>({})
  const group = useSignal<string | null>(null)
  useEffect(() => {
    loadEmojiGroups().then(
      (loaded) => {
        groups.value = loaded
      },
      () => {}, // the popular ones and the search remain
    )
    loadEmoji(realm).then(
      (loaded) => {
        all.value = loaded
      },
      (error: unknown) => {
        failure.value = error
      },
    )
  }, [])
  const codes = group.value === null ? undefined : groups.value[group.value]
  const found = findEmoji(all.value, text.value, codes)
  return (
    <div class="emoji-picker">
      <Field label={words.findEmoji} bind={text} type="search" />
      <fieldset class="emoji-groups">
        <legend class="hidden">{words.emojiGroups}</legend>
        {[null, ...Object.keys(groups.value)].map((one) => (
          <button
            type="button"
            class="icon"
            key={one}
            aria-pressed={text.value === '' && group.value === one}
            aria-label={nameOf(one)}
            title={nameOf(one)}
            onClick={() => {
              text.value = ''
              group.value = one
            }}
          >
            <span class="emoji">{one === null ? '★' : characters(groups.value[one]?.[0] ?? '')}</span>
          </button>
        ))}
      </fieldset>
      <Problem error={failure.value} />
      {all.value.length > 0 && found.length === 0 && <p class="hint">{words.noEmoji}</p>}
      <div class="emoji-grid">
        {found.map((emoji) => (
          <button
            type="button"
            class="icon"
            key={`${emoji.type} ${emoji.code}`}
            aria-label={emoji.name}
            title={`:${emoji.name}:`}
            onClick={() => choose(emoji)}
          >
            <EmojiFace realm={realm} type={emoji.type} code={emoji.code} />
          </button>
        ))}
      </div>
    </div>
  )
}

/** Has no accessible name: its parent has one. */
export function EmojiFace({ realm, type, code }: { realm: RealmView; type: string; code: string }) {
  const picture = pictureOf(realm, type, code)
  if (picture !== null) return <img class="emoji" src={picture} alt="" />
  return <span class="emoji">{type === 'unicode_emoji' ? characters(code) : '?'}</span>
}
