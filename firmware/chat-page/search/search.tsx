/** Search with operators, and its results, newest first. */

import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Action } from '../../web/controls.tsx'
import { SuggestionList, useCompletion } from '../compose/completion.tsx'
import { noteFailure } from '../connection.ts'
import { Content } from '../message/content.tsx'
import { conversationOf } from '../model/conversation.ts'
import { fetchMessages, NEWEST } from '../model/message-list.ts'
import type { RealmView } from '../model/realm.ts'
import { readSearch, type SearchTerm, searchAddress, searchOfPath, suggestTerms, writeSearch } from '../model/search.ts'
import type { ReceivedMessage } from '../model/types.ts'
import { fullName } from '../names.ts'
import { go } from '../place.ts'
import { linkToMessage } from '../quote.ts'
import type { AreaProps } from '../views/area.tsx'
import { ViewTitle } from '../views/frame.tsx'
import { HiddenNotice } from '../views/hidden-notice.tsx'
import { Problem } from '../views/problem.tsx'
import { dateAndTime } from '../words/format.ts'
import { words } from '../words/words.ts'

const PAGE = 50

interface FoundMessage extends ReceivedMessage {
  /** HTML with highlights, of searches for words. */
  match_content?: string
}

export function SearchView({ realm, path }: AreaProps) {
  const terms = searchOfPath(path)
  return (
    <div class="view">
      <ViewTitle title={words.search} />
      <SearchForm realm={realm} terms={terms} />
      {terms.length === 0 ? <Shortcuts realm={realm} /> : <Results realm={realm} terms={terms} />}
    </div>
  )
}

function SearchForm({ realm, terms }: { realm: RealmView; terms: readonly SearchTerm[] }) {
  const text = useSignal(writeSearch(terms, realm))
  const field = useRef<HTMLInputElement>(null)
  const id = useId()
  const set = (typed: string) => {
    text.value = typed
  }
  const completion = useCompletion({
    ...{ field, text: text.value, set, isLazy: true },
    suggest: (box) => {
      const found = suggestTerms(realm, box.value, box.selectionStart ?? 0, words.operators)
      return found && { start: found.start, all: Promise.resolve(found.all) }
    },
  })
  useEffect(() => {
    if (terms.length === 0) field.current?.focus()
  }, [])
  const submit = () => {
    const wanted = readSearch(text.value, realm)
    if (wanted.length > 0) go(searchAddress(wanted))
  }
  return (
    <search>
      <form
        class="form find"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <div class="field wide">
          <label for={id}>{words.searchFor}</label>
          <div class="reveal">
            <input
              ref={field}
              id={id}
              type="search"
              value={text.value}
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
              aria-describedby={`${id}-about`}
              {...({
                ...completion.attributes,
                role: 'combobox',
                'aria-expanded': completion.found.value.length > 0,
              } as object)}
              onInput={({ currentTarget }) => {
                set(currentTarget.value)
                completion.look()
              }}
              onKeyDown={(event) => void completion.onKeyDown(event)}
              onBlur={completion.close}
            />
            <Action submit kind="primary">
              {words.search}
            </Action>
          </div>
          <span id={`${id}-about`} class="hint">
            {words.searchHint}
          </span>
        </div>
        <SuggestionList completion={completion} />
      </form>
    </search>
  )
}

function Shortcuts({ realm }: { realm: RealmView }) {
  const all: [string, SearchTerm[]][] = [
    [words.mentions, [{ operator: 'is', operand: 'mentioned' }]],
    [words.starredMessages, [{ operator: 'is', operand: 'starred' }]],
    [
      words.ownReacted,
      [
        { operator: 'has', operand: 'reaction' },
        { operator: 'sender', operand: realm.ownId },
      ],
    ],
    [words.pictures, [{ operator: 'has', operand: 'image' }]],
  ]
  return (
    <ul class="rows">
      {all.map(([text, terms]) => (
        <li key={text}>
          <a class="row-link" href={searchAddress(terms)}>
            {text}
          </a>
        </li>
      ))}
    </ul>
  )
}

function Results({ realm, terms }: { realm: RealmView; terms: readonly SearchTerm[] }) {
  const found = useSignal<readonly FoundMessage[] | null>(null)
  const hasOldest = useSignal(false)
  const failure = useSignal<unknown>(null)
  const isLoading = useSignal(false)
  const controller = useRef(new AbortController())
  const load = async () => {
    const { signal } = controller.current
    const [oldest] = found.value ?? []
    isLoading.value = true
    try {
      const range = { anchor: oldest?.id ?? NEWEST, include_anchor: oldest === undefined }
      const page = await fetchMessages<FoundMessage>(
        { ...range, num_before: PAGE, num_after: 0, narrow: terms },
        signal,
      )
      found.value = [...page.messages, ...(found.value ?? [])]
      hasOldest.value = page.found_oldest
      failure.value = null
    } catch (error) {
      if (signal.aborted) return
      noteFailure(error)
      failure.value = error
    } finally {
      isLoading.value = false
    }
  }
  useEffect(() => {
    void load()
    return () => controller.current.abort()
  }, [])
  return (
    <>
      <p class="hidden" role="status">
        {found.value !== null && words.resultCount(found.value.length)}
      </p>
      <Problem error={failure.value} />
      {found.value === null && !failure.value && <p class="hint">{words.loading}</p>}
      {found.value?.length === 0 && <p class="empty">{words.noResults}</p>}
      <ol class="rows results">
        {found.value?.toReversed().map((message) => (
          <Result key={message.id} realm={realm} message={message} />
        ))}
      </ol>
      {found.value !== null && !hasOldest.value && (
        <p class="empty">
          <Action busy={isLoading.value && words.loading} onClick={() => void load()}>
            {words.older}
          </Action>
        </p>
      )}
    </>
  )
}

function Result({ realm, message }: { realm: RealmView; message: FoundMessage }) {
  const time = new Date(message.timestamp * 1000)
  const isRevealed = useSignal(false)
  const isHidden = realm.mutedUsers.has(message.sender_id) && !isRevealed.value
  return (
    <li class="result">
      <a href={linkToMessage(realm, message)}>{fullName(realm, conversationOf(message, realm.ownId))}</a>
      <p class="by">
        <strong>{isHidden ? words.mutedPerson : message.sender_full_name}</strong>
        <time class="soft" dateTime={time.toISOString()}>
          {dateAndTime(time)}
        </time>
      </p>
      {isHidden ? (
        <HiddenNotice
          text={words.mutedMessage}
          reveal={() => {
            isRevealed.value = true
          }}
        />
      ) : (
        <div class="content" dir="auto">
          <Content html={message.match_content ?? message.content} isMe={message.is_me_message} />
        </div>
      )}
    </li>
  )
}
