import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { words } from '../words/words.ts'

/** The password stays in the input field: no signal, attribute or storage contains it. */
export function PasswordField(props: {
  field: { current: HTMLInputElement | null }
  label?: string
  isNew?: boolean
  hint?: string
  error?: string | undefined
}) {
  const { field, label = words.password, isNew = false, hint, error } = props
  const id = useId()
  const isShown = useSignal(false)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="reveal">
        <input
          ref={field}
          id={id}
          type={(isShown.value ? 'text' : 'password') as 'password'}
          autocomplete={isNew ? 'new-password' : 'current-password'}
          autocapitalize="off"
          spellcheck={false}
          required
          aria-invalid={error ? 'true' : undefined}
          aria-describedby={`${id}-about`}
        />
        <button
          type="button"
          aria-pressed={isShown.value}
          aria-label={`${words.show}: ${label}`}
          onClick={() => {
            isShown.value = !isShown.value
          }}
        >
          {isShown.value ? words.hide : words.show}
        </button>
      </div>
      <span id={`${id}-about`} aria-live="polite">
        {error ? <span class="error">{error}</span> : hint && <span class="hint">{hint}</span>}
      </span>
    </div>
  )
}
