import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Action, Code } from '../../web/controls.tsx'
import { utf8Bytes } from '../format.ts'
import { PASSPHRASE_BYTES_MAX, PASSPHRASE_BYTES_MIN } from '../limits.ts'
import * as words from '../words.ts'

/**
 * Keeps a passphrase out of signals and attributes: it stays in the input field until `read` returns and clears it. It is
 * therefore in no rendered or serialized page.
 */
export interface PassphraseHandle {
  /** Null after showing the reason beside the field. */
  read(): string | null
  clear(): void
}

export function Passphrase(props: {
  label: string
  hold: { current: PassphraseHandle | null }
  /** For a new passphrase: it is typed twice, and its length is checked. */
  fresh?: boolean
  hint?: string
  error?: string | undefined
  onClearError?: () => void
}) {
  const { label, hold, fresh = false, hint, error, onClearError } = props
  const id = useId()
  const first = useRef<HTMLInputElement>(null)
  const second = useRef<HTMLInputElement>(null)
  const shown = useSignal(false)
  const length = useSignal(0)
  const problem = useSignal('')
  const fail = (text: string, field: HTMLInputElement | null) => {
    problem.value = text
    field?.focus()
    return null
  }
  const clear = () => {
    for (const field of [first.current, second.current]) if (field) field.value = ''
    length.value = 0
    shown.value = false
  }
  const read = () => {
    const text = first.current?.value ?? ''
    const size = utf8Bytes(text)
    if (text === '') return fail(words.passphraseMissing, first.current)
    if (fresh && size < PASSPHRASE_BYTES_MIN) return fail(words.passphraseShort(size), first.current)
    if (fresh && size > PASSPHRASE_BYTES_MAX) return fail(words.passphraseLong(size), first.current)
    if (fresh && second.current?.value !== text) return fail(words.passphraseDiffer, second.current)
    problem.value = ''
    return text
  }
  hold.current = { read, clear }
  useEffect(() => clear, [])
  const input = (which: typeof first, idOf: string) => (
    <input
      ref={which}
      id={idOf}
      type={(shown.value ? 'text' : 'password') as 'password'} // the type definitions do not allow a variable type
      autocomplete={fresh ? 'new-password' : 'current-password'}
      autocapitalize="off"
      spellcheck={false}
      aria-describedby={`${id}-about`}
      aria-invalid={problem.value || error ? 'true' : undefined}
      onInput={(event) => {
        if (which === first) length.value = utf8Bytes(event.currentTarget.value)
        problem.value = ''
        onClearError?.()
      }}
    />
  )
  const about = problem.value || error
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="reveal">
        {input(first, id)}
        <button
          type="button"
          aria-pressed={shown.value}
          aria-label={`${words.passphraseShow}: ${label}`}
          onClick={() => {
            shown.value = !shown.value
          }}
        >
          {shown.value ? words.passphraseHideShort : words.show}
        </button>
      </div>
      {fresh && (
        <>
          <label for={`${id}-again`}>{words.passphraseAgain(label)}</label>
          {input(second, `${id}-again`)}
        </>
      )}
      <span id={`${id}-about`} aria-live="polite">
        {about ? (
          <span class="error">{about}</span>
        ) : (
          <span class="hint">
            {hint} {fresh && words.passphraseRule(length.value)}
          </span>
        )}
      </span>
    </div>
  )
}

export function Copyable({ text, label, save }: { text: string; label: string; save?: string }) {
  const copied = useSignal(false)
  return (
    <figure class="stack">
      <Code label={label} text={text} />
      <div class="row">
        <Action
          kind="small"
          label={`${words.copy}: ${label}`}
          onClick={async () => {
            await navigator.clipboard.writeText(text)
            copied.value = true
          }}
        >
          {words.copy}
        </Action>
        {save && (
          <Action kind="small" label={`${words.save}: ${label}`} onClick={() => saveFile(new Blob([text]), save)}>
            {words.save}
          </Action>
        )}
        <span class="hint" aria-live="polite">
          {copied.value && words.copied}
        </span>
      </div>
    </figure>
  )
}

export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

export function FileDrop(props: { label: string; hint?: ComponentChildren; bind: { value: File | null } }) {
  const { label, hint, bind } = props
  const over = useSignal(false)
  const id = useId()
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is the other way to choose, the field is the first
    <div
      class={over.value ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault()
        over.value = true
      }}
      onDragLeave={() => {
        over.value = false
      }}
      onDrop={(event) => {
        event.preventDefault()
        over.value = false
        const file = event.dataTransfer?.files[0]
        if (file) bind.value = file
      }}
    >
      <label for={id}>{label}</label>
      <input
        id={id}
        type="file"
        aria-describedby={hint ? `${id}-about` : undefined}
        onChange={(event) => {
          bind.value = event.currentTarget.files?.[0] ?? null
        }}
      />
      {bind.value && <span class="hint">{words.file(bind.value.name, bind.value.size)}</span>}
      {hint && (
        <span class="hint" id={`${id}-about`}>
          {hint}
        </span>
      )}
    </div>
  )
}
