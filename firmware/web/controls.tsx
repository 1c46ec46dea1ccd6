/** Buttons, fields and dialogs that both pages share. They contain no text of their own. */

import type { Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

/** A button. While `busy`, it shows that text and ignores clicks. */
export function Action(props: {
  busy?: string | false | undefined
  kind?: string
  submit?: boolean
  onClick?: () => void
  label?: string
  /** Names the action, for a button whose text does not. */
  about?: string | undefined
  children: ComponentChildren
}) {
  const { busy, kind = '', submit = false, onClick, label, about, children } = props
  const isBusy = typeof busy === 'string'
  return (
    <button
      type={submit ? 'submit' : 'button'}
      class={kind}
      aria-disabled={isBusy || undefined}
      aria-label={isBusy ? undefined : label}
      title={about}
      onClick={(event) => {
        if (isBusy) event.preventDefault()
        else onClick?.()
      }}
    >
      {isBusy ? busy : children}
    </button>
  )
}

/** Satisfied by a signal of a string. */
export interface Text {
  value: string
}

/** Binds a field to one member of a signal's object. */
export const member = (of: Signal<Record<string, string>>, name: string): Text => ({
  get value() {
    return of.value[name] ?? ''
  },
  set value(text) {
    of.value = { ...of.value, [name]: text }
  },
})

interface InputProps {
  type?: 'text' | 'number' | 'password' | 'search' | 'datetime-local'
  class?: string
  required?: boolean
  autocomplete?: string
  autocapitalize?: string
  inputmode?: 'numeric'
  pattern?: string
  maxLength?: number
  min?: number
  max?: number
  step?: number
  onKeyDown?: (event: KeyboardEvent) => void
}

export function Field(
  props: InputProps & {
    label: string
    bind: Text
    also?: () => void
    hint?: ComponentChildren
    error?: string | undefined
  },
) {
  const { label, bind, also, hint, error, ...rest } = props
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        value={bind.value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          bind.value = event.currentTarget.value
          also?.()
        }}
        aria-describedby={hint || error ? `${id}-about` : undefined}
        aria-invalid={error ? 'true' : undefined}
        {...(rest as object)}
      />
      <About id={id} hint={hint} error={error} />
    </div>
  )
}

export function TextArea(props: { label: string; bind: Text; hint?: ComponentChildren; mono?: boolean }) {
  const { label, bind, hint, mono = false } = props
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class={mono ? 'id' : undefined}
        value={bind.value}
        spellcheck={false}
        aria-describedby={hint ? `${id}-about` : undefined}
        onInput={(event) => {
          bind.value = event.currentTarget.value
        }}
      />
      <About id={id} hint={hint} error={undefined} />
    </div>
  )
}

function About({ id, hint, error }: { id: string; hint: ComponentChildren; error: string | undefined }) {
  if (!hint && !error) return null
  return <span id={`${id}-about`}>{error ? <span class="error">{error}</span> : <span class="hint">{hint}</span>}</span>
}

export function Select(props: {
  label: string
  bind: Text
  also?: () => void
  options: readonly (readonly [value: string, text: string])[]
  hint?: ComponentChildren
}) {
  const { label, bind, also, options, hint } = props
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={bind.value}
        aria-describedby={hint ? `${id}-about` : undefined}
        onChange={(event) => {
          bind.value = event.currentTarget.value
          also?.()
        }}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      <About id={id} hint={hint} error={undefined} />
    </div>
  )
}

/** The browser's modal dialog, which holds the focus and returns it when closed. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    element.current?.showModal()
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog ref={element} aria-labelledby={id} onClose={close}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

/** Preformatted text. The scrollable box takes the keyboard focus and therefore needs a name. */
export function Code({ label, text }: { label: string; text: string }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <div class="code" role="group" aria-label={label} tabIndex={0}>
      <pre>{text}</pre>
    </div>
  )
}
