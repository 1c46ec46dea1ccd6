/** The compose box. Its text stays until the outbox has the message. */

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useMemo, useRef } from 'preact/hooks'
import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { appendToDraft, draftOf, setDraft } from '../drafts.ts'
import { Content } from '../message/content.tsx'
import { readBegun } from '../model/completion.ts'
import { type ConversationRef, keyOf } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { linkTo } from '../names.ts'
import { send, sendTo } from '../outbox.ts'
import { go } from '../place.ts'
import { attempt } from '../problems.ts'
import { noteTyping, stopTyping, typingIn } from '../typing.ts'
import { EmojiPicker } from '../views/emoji-picker.tsx'
import { useFitHeight } from '../views/fit-height.ts'
import { Icon } from '../views/icons.tsx'
import { ignoreHeldEnter, isAltKey, isControlKey } from '../views/modifiers.ts'
import { Popover } from '../views/popover.tsx'
import { WhenDialog } from '../views/when.tsx'
import { boxWanted } from '../wanted.ts'
import { words } from '../words/words.ts'
import { SuggestionList, suggestionsFor, useCompletion } from './completion.tsx'
import { SnippetPanel } from './snippet-panel.tsx'
import { UploadList } from './upload-list.tsx'
import { createUploads } from './uploads.ts'

interface BoxProps {
  realm: RealmView
  conversation: ConversationRef
  draftKey: string
  label: string
  before?: ComponentChildren
  /** Called when the text has left the box. */
  sent?: () => void
}

export function ComposeBox({ realm, conversation, draftKey, label, before, sent }: BoxProps) {
  const text = draftOf(draftKey, conversation)
  const field = useRef<HTMLTextAreaElement>(null)
  const id = useId()
  const preview = useSignal<string | null>(null)
  const isScheduling = useSignal(false)
  const isOver = useSignal(false)
  const target = useRef(conversation)
  target.current = conversation
  const set = (value: string) => void setDraft(draftKey, value, target.current)
  const uploads = useMemo(
    () =>
      createUploads((markdown, old) => {
        const typed = text.value
        if (old !== null && typed.includes(old)) set(typed.replace(old, () => markdown))
        else set(typed === '' || typed.endsWith('\n') ? `${typed}${markdown}\n` : `${typed}\n${markdown}\n`)
      }),
    [draftKey],
  )
  const completion = useCompletion({
    ...{ field, text: text.value, set },
    suggest: (box) => {
      const begun = readBegun(box.value, box.selectionStart ?? 0)
      if (begun === null) return null
      const isSilent = box.value.charAt(begun.start + 1) === '_'
      return { start: begun.start, all: suggestionsFor(realm, begun, keyOf(conversation), isSilent) }
    },
  })
  const isLong = [...text.value].length > realm.maxMessageLength
  const isEmpty = text.value.trim() === ''
  const isOpen = draftKey === keyOf(conversation) // a new topic has no readers yet
  useEffect(() => stopTyping, [draftKey])
  useFitHeight(field, [text.value, preview.value])
  useEffect(() => {
    if (!boxWanted.value) return
    boxWanted.value = false
    const topic = field.current?.form?.querySelector<HTMLInputElement>('.field input')
    const first = topic?.value === '' ? topic : field.current
    first?.focus()
  }, [boxWanted.value])

  const done = () => {
    stopTyping()
    set('')
    uploads.clear()
    preview.value = null
    field.current?.focus()
    sent?.()
  }
  const submit = () => {
    if (isEmpty || isLong || uploads.isBusy()) return
    void send(conversation, text.value)
    done()
  }
  const schedule = async (timeS: number) => {
    const content = text.value
    const values = { ...sendTo(conversation, realm.ownId), content, scheduled_delivery_timestamp: timeS }
    await call('POST', '/scheduled_messages', values)
    if (text.value === content) done()
  }
  const show = async () => {
    if (preview.value !== null) {
      preview.value = null
      return
    }
    await attempt(
      call<{ rendered: string }>('POST', '/messages/render', { content: text.value }).then(({ rendered }) => {
        preview.value = rendered
      }),
    )
  }
  const insert = (piece: string) => {
    const at = field.current?.selectionStart ?? text.value.length
    set(`${text.value.slice(0, at)}${piece}${text.value.slice(at)}`)
    completion.moveTo(at + piece.length)
  }
  /** The text of a new topic goes along. */
  const openConversation = () => {
    if (!isOpen && uploads.isBusy()) return // their links come into this box
    boxWanted.value = true
    if (!isOpen) {
      if (!isEmpty) void appendToDraft(conversation, text.value)
      done()
    }
    go(linkTo(realm, conversation))
  }
  /** True if the key was one of them. */
  const onShortcut = (event: KeyboardEvent): boolean => {
    if (isControlKey(event) && event.key === '.') openConversation()
    else if (isAltKey(event) && event.code === 'KeyP') void (isEmpty ? undefined : show())
    else return false
    event.preventDefault()
    return true
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (completion.onKeyDown(event) || onShortcut(event)) return
    if (event.key !== 'Enter' || event.isComposing || event.shiftKey || event.altKey) return
    const isTouch = matchMedia('(pointer: coarse)').matches
    const sends = event.ctrlKey || event.metaKey || (realm.settings.enter_sends && !isTouch)
    if (!sends) return
    event.preventDefault()
    if (!event.repeat) submit()
  }
  const take = (event: Event, files: FileList | undefined) => {
    if (files === undefined || files.length === 0) return
    event.preventDefault()
    uploads.add(files)
  }
  return (
    <form
      class={isOver.value ? 'compose over' : 'compose'}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      onKeyDown={ignoreHeldEnter}
      onDragOver={(event) => {
        event.preventDefault()
        isOver.value = true
      }}
      onDragLeave={() => {
        isOver.value = false
      }}
      onDrop={(event) => {
        isOver.value = false
        take(event, event.dataTransfer?.files)
      }}
    >
      {before}
      <UploadList uploads={uploads} />
      <SuggestionList completion={completion} />
      {preview.value !== null && (
        <section class="preview content" aria-label={words.preview} dir="auto">
          <Content html={preview.value} />
        </section>
      )}
      <label class="hidden" for={id}>
        {label}
      </label>
      <textarea
        ref={field}
        id={id}
        rows={1}
        dir="auto"
        value={text.value}
        placeholder={label}
        aria-describedby={`${id}-about`}
        aria-invalid={isLong ? 'true' : undefined}
        {...completion.attributes}
        onInput={(event) => {
          preview.value = null
          set(event.currentTarget.value)
          noteTyping(realm, isOpen ? typingIn(realm, conversation) : null, event.currentTarget.value)
          completion.look()
        }}
        onKeyDown={onKeyDown}
        onBlur={completion.close}
        onPaste={(event) => take(event, event.clipboardData?.files)}
      />
      <div class="compose-row">
        <FileButton choose={(files) => uploads.add(files)} />
        <Popover label={words.insertEmoji} text={<Icon name="smile" />}>
          {(close) => (
            <EmojiPicker
              realm={realm}
              choose={({ name }) => {
                close()
                insert(`:${name}: `)
              }}
            />
          )}
        </Popover>
        <Popover label={words.snippets} text={<Icon name="bookmark" />}>
          {(close) => (
            <SnippetPanel
              text={text.value}
              insert={(content) => {
                close()
                insert(content)
              }}
            />
          )}
        </Popover>
        <button
          type="button"
          class="icon"
          aria-pressed={preview.value !== null}
          aria-label={words.preview}
          title={words.preview}
          onClick={() => void (isEmpty ? undefined : show())}
        >
          <Icon name="eye" />
        </button>
        <button
          type="button"
          class="icon"
          aria-label={words.schedule}
          title={words.schedule}
          onClick={() => {
            isScheduling.value = !isEmpty && !isLong && !uploads.isBusy()
          }}
        >
          <Icon name="clock" />
        </button>
        <span id={`${id}-about`} class={isLong ? 'error' : 'hint'}>
          {isLong
            ? words.tooLong(realm.maxMessageLength)
            : realm.settings.enter_sends
              ? words.sendsByEnter
              : words.sendsByButton}
        </span>
        <Action submit kind="primary" busy={uploads.isBusy() && words.uploadingFiles}>
          {words.send}
        </Action>
      </div>
      {isScheduling.value && (
        <WhenDialog
          title={words.schedule}
          action={words.schedule}
          choose={schedule}
          close={() => {
            isScheduling.value = false
          }}
        />
      )}
    </form>
  )
}

function FileButton({ choose }: { choose: (files: FileList) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        class="hidden"
        type="file"
        multiple
        tabIndex={-1}
        aria-label={words.files}
        onChange={({ currentTarget }) => {
          if (currentTarget.files !== null) choose(currentTarget.files)
          currentTarget.value = ''
        }}
      />
      <button
        type="button"
        class="icon"
        aria-label={words.attach}
        title={words.attach}
        onClick={() => input.current?.click()}
      >
        <Icon name="attach" />
      </button>
    </>
  )
}
