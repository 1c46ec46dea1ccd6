/** Completion at the cursor of the compose box: a list above it, controlled by arrow keys, Enter or Tab, and Escape. */

import { type ReadonlySignal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { call } from '../api.ts'
import { characters, findEmoji, loadEmoji } from '../emoji.ts'
import {
  type Begun,
  SUGGESTIONS_MAX,
  type Suggestion,
  suggestChannels,
  suggestCommands,
  suggestPeople,
  suggestTopics,
  writersOf,
} from '../model/completion.ts'
import type { RealmView } from '../model/realm.ts'
import { words } from '../words/words.ts'

type TextBox = HTMLTextAreaElement | HTMLInputElement

interface CompletionOptions {
  field: RefObject<TextBox | null>
  text: string
  set: (text: string) => void
  /** Suggestions for the word that begins at `start`; null if none is begun. */
  suggest: (box: TextBox) => { start: number; all: Promise<readonly Suggestion[]> } | null
  /** True if Enter takes a suggestion only after an arrow key. */
  isLazy?: boolean
}

interface Completion {
  readonly id: string
  readonly found: ReadonlySignal<readonly Suggestion[]>
  readonly chosen: ReadonlySignal<number>
  readonly attributes: Record<string, string | undefined>
  /** Call it after the text or the cursor has changed. */
  look(): void
  close(): void
  choose(at: number): void
  moveTo(cursor: number): void
  /** True if the list has handled the key. */
  onKeyDown(event: KeyboardEvent): boolean
}

export function useCompletion({ field, text, set, suggest, isLazy = false }: CompletionOptions): Completion {
  const first = isLazy ? -1 : 0
  const found = useSignal<readonly Suggestion[]>([])
  const chosen = useSignal(first)
  const begun = useRef<{ start: number } | null>(null)
  const wanted = useRef<number | null>(null)
  const id = useId()
  useLayoutEffect(() => {
    const box = field.current
    if (box === null || wanted.current === null) return
    box.focus()
    box.setSelectionRange(wanted.current, wanted.current)
    wanted.current = null
  })

  const close = () => {
    begun.current = null
    found.value = []
  }
  const look = () => {
    const box = field.current
    if (box === null) return
    const now = suggest(box)
    begun.current = now
    if (now === null) return close()
    void now.all.then(
      (all) => {
        if (begun.current !== now) return
        found.value = all
        chosen.value = first
      },
      () => {}, // offline: no suggestions
    )
  }
  const choose = (at: number) => {
    const [box, suggestion, now] = [field.current, found.value[at], begun.current]
    if (box === null || suggestion === undefined || now === null) return
    const { insert } = suggestion
    set(text.slice(0, now.start) + insert + text.slice(box.selectionStart ?? 0).replace(/^ /, ''))
    wanted.current = now.start + insert.length
    close()
  }
  const isOpen = found.value.length > 0
  return {
    id,
    found,
    chosen,
    attributes: {
      'aria-autocomplete': 'list',
      'aria-controls': isOpen ? id : undefined,
      'aria-activedescendant': isOpen && chosen.value >= 0 ? `${id}-${chosen.value}` : undefined,
    },
    look,
    close,
    choose,
    moveTo: (cursor) => {
      wanted.current = cursor
    },
    onKeyDown(event) {
      if (!isOpen || event.isComposing) return false
      const count = found.value.length
      if (event.key === 'ArrowDown') chosen.value = (chosen.value + 1) % count
      else if (event.key === 'ArrowUp') chosen.value = (Math.max(chosen.value, 0) + count - 1) % count
      else if (event.key === 'Escape') close()
      else if (event.key === 'Enter' && !event.ctrlKey && chosen.value >= 0) choose(chosen.value)
      else if (event.key === 'Tab') choose(Math.max(chosen.value, 0))
      else return false
      event.preventDefault()
      return true
    },
  }
}

const topicsOf = new Map<number, Promise<{ topics: { name: string }[] }>>()

export async function suggestionsFor(
  realm: RealmView,
  { kind, text, channelName }: Begun,
  here: string,
  isSilent: boolean,
): Promise<Suggestion[]> {
  switch (kind) {
    case 'command':
      return suggestCommands(text, words.commands)
    case 'person': {
      const writers = writersOf(realm.lists, here)
      return suggestPeople(realm, text, { writers, isSilent, aboutWildcard: words.wildcard })
    }
    case 'channel':
      return suggestChannels(realm, text)
    case 'topic': {
      const channel = [...realm.channels.values()].find(({ name }) => name === channelName)
      if (channel === undefined) return []
      const { stream_id: id, name } = channel
      const asked = topicsOf.get(id) ?? call('GET', `/users/me/${id}/topics`, { allow_empty_topic_name: true })
      topicsOf.set(id, asked)
      setTimeout(() => topicsOf.delete(id), TOPICS_KEPT_MS)
      const { topics } = await asked
      return suggestTopics(
        name,
        topics.map((one) => one.name),
        text,
      )
    }
    case 'emoji':
      return findEmoji(await loadEmoji(realm), text)
        .slice(0, SUGGESTIONS_MAX)
        .map(({ name, code, type, names }) => ({
          key: `${type} ${code}`,
          label: `:${names.find((one) => one.startsWith(text)) ?? name}:`,
          about: type === 'unicode_emoji' ? characters(code) : '',
          insert: `:${names.find((one) => one.startsWith(text)) ?? name}: `,
        }))
  }
}

const TOPICS_KEPT_MS = 30_000 // topics of one channel while the user types

type ShownCompletion = Pick<Completion, 'id' | 'found' | 'chosen' | 'choose'>

export function SuggestionList({ completion: { id, found, chosen, choose } }: { completion: ShownCompletion }) {
  return (
    <>
      <p class="hidden" role="status">
        {found.value.length > 0 && words.suggestions(found.value.length)}
      </p>
      {found.value.length > 0 && (
        <div class="suggestions" role="listbox" id={id} aria-label={words.suggestionList}>
          {found.value.map(({ key, label, about }, at) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the box keeps the focus and handles the keys
            <div
              key={key}
              id={`${id}-${at}`}
              role="option"
              aria-selected={at === chosen.value}
              tabIndex={-1}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(at)}
            >
              <span>{label}</span>
              <span class="soft">{about}</span>
            </div>
          ))}
        </div>
      )}
    </>
  )
}
