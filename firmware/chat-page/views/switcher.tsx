/** Finds a conversation, a channel or a person by name, and opens it. */

import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { SuggestionList } from '../compose/completion.tsx'
import { matches, SUGGESTIONS_MAX, type Suggestion } from '../model/completion.ts'
import { type ConversationRef, conversationOf, directWith, keyOf } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { channelName, linkTo, linkToChannel, shortName } from '../names.ts'
import { go } from '../place.ts'
import { words } from '../words/words.ts'

export function Switcher({ realm, close }: { realm: RealmView; close: () => void }) {
  const text = useSignal('')
  const found = useSignal(destinationsFor(realm, ''))
  const chosen = useSignal(0)
  const field = useRef<HTMLInputElement>(null)
  const id = useId()
  useEffect(() => field.current?.focus(), [])
  const choose = (at: number) => {
    const to = found.value[at]
    if (to === undefined) return
    close()
    go(to.insert)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const count = found.value.length
    if (event.isComposing || count === 0) return
    if (event.key === 'ArrowDown') chosen.value = (chosen.value + 1) % count
    else if (event.key === 'ArrowUp') chosen.value = (chosen.value + count - 1) % count
    else if (event.key !== 'Enter') return
    else if (!event.repeat) choose(chosen.value)
    event.preventDefault()
  }
  return (
    <>
      <div class="field">
        <label for={id}>{words.name}</label>
        <input
          ref={field}
          id={id}
          value={text.value}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          {...({
            role: 'combobox',
            'aria-autocomplete': 'list',
            'aria-expanded': found.value.length > 0,
            'aria-controls': found.value.length > 0 ? `${id}-list` : undefined,
            'aria-activedescendant': found.value.length > 0 ? `${id}-list-${chosen.value}` : undefined,
          } as object)}
          onInput={({ currentTarget: { value } }) => {
            text.value = value
            found.value = destinationsFor(realm, value.trim())
            chosen.value = 0
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <SuggestionList completion={{ id: `${id}-list`, found, chosen, choose }} />
      {found.value.length === 0 && <p class="hint">{words.noConversations}</p>}
    </>
  )
}

/** Conversations with unread messages come first, then those of the open lists, direct ones, channels and people. */
function destinationsFor(realm: RealmView, text: string): Suggestion[] {
  const { ownId, unread, lists, directs, channels, people } = realm
  const shown = [...lists].flatMap(({ messages }) => messages.map((message) => conversationOf(message, ownId)))
  const known = [...unread.groups().map(({ conversation }) => conversation), ...shown.toReversed(), ...directs]
  const others = [...people.values()].filter((one) => one.is_active !== false && !one.is_bot)
  const ofChannels = [...channels.values()].map(({ stream_id: id, name, description }) => ({
    ...{ key: `channel ${id}`, label: `#${name}`, about: description, insert: linkToChannel(realm, id) },
  }))
  const all = [
    ...known.map((one) => destinationOf(realm, one)),
    ...ofChannels,
    ...others.map(({ user_id: id }) => destinationOf(realm, directWith([id], ownId))),
  ]
  const found = all.filter(({ label }) => matches(label.replace(/^#/, ''), text))
  return [...new Map(found.map((one) => [one.key, one])).values()].slice(0, SUGGESTIONS_MAX)
}

const destinationOf = (realm: RealmView, conversation: ConversationRef): Suggestion => ({
  key: keyOf(conversation),
  label: shortName(realm, conversation),
  about: conversation.kind === 'topic' ? `#${channelName(realm, conversation.channelId)}` : '',
  insert: linkTo(realm, conversation),
})
