/** Fields of settings. A change is saved at once. */

import { useSignal } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { defined } from '../../base/defined.ts'
import { useRun } from '../../web/run.ts'
import { noteFailure } from '../connection.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'

export type Choice = readonly [value: string | number | boolean | null, text: string]

export interface SettingRow {
  readonly name: string
  readonly label: string
  readonly hint?: string | undefined
  /** A list of choices is shown as a select. */
  readonly input: 'bool' | 'text' | 'long' | 'number' | 'color' | readonly Choice[]
}

interface SettingProps {
  row: SettingRow
  value: unknown
  save: (value: unknown) => Promise<unknown>
}

export function Setting({ row: { label, hint, input }, value, save }: SettingProps) {
  const id = useId()
  const run = useRun()
  const isSaved = useSignal(false)
  // Shown in place of the value until the event of the change arrives, also if the page is rendered before.
  const chosen = useSignal<{ readonly value: unknown } | null>(null)
  const isSaving = useRef(false)
  useLayoutEffect(() => {
    if (!isSaving.current) chosen.value = null
  }, [value])
  const shown = chosen.value === null ? value : chosen.value.value
  const change = async (next: unknown) => {
    chosen.value = { value: next }
    if (isSaving.current) return // the loop below saves it, too
    isSaving.current = true
    isSaved.value = false
    let sent: typeof chosen.value
    do {
      sent = chosen.value
      const { value } = sent
      isSaved.value = await run.start(words.saving, () => save(value))
    } while (chosen.value !== sent)
    isSaving.current = false
    if (isSaved.value) return
    noteFailure(run.error.value)
    chosen.value = null
  }
  const shared = { id, 'aria-describedby': `${id}-about`, 'aria-busy': run.busy.value !== false }
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  const text = String(value ?? '')
  // Not by a property, which each rendering would apply again: what is typed, or refused, stays until the setting itself changes.
  useLayoutEffect(() => {
    if (field.current !== null) field.current.value = text
  }, [text])
  const fields = () => {
    if (typeof input !== 'string') {
      const at = input.findIndex(([one]) => one === shown)
      return (
        <select
          {...shared}
          value={String(at)}
          onChange={({ currentTarget }) => void change(defined(input[Number(currentTarget.value)])[0])}
        >
          {at === -1 && <option value="-1">{String(shown ?? '')}</option>}
          {input.map(([one, text], index) => (
            <option key={String(one)} value={String(index)}>
              {text}
            </option>
          ))}
        </select>
      )
    }
    if (input === 'long')
      return <textarea {...shared} ref={field} onChange={({ currentTarget }) => void change(currentTarget.value)} />
    return (
      <input
        {...shared}
        ref={field}
        type={input as 'text'}
        autocomplete="off"
        onChange={({ currentTarget: control }) => {
          if (input === 'text' || control.value !== '')
            void change(input === 'number' ? Number(control.value) : control.value)
        }}
      />
    )
  }
  return (
    <div class="setting">
      {input === 'bool' ? (
        <label class="choice" for={id}>
          <input
            {...shared}
            type="checkbox"
            checked={shown === true}
            onChange={({ currentTarget }) => void change(currentTarget.checked)}
          />
          {label}
        </label>
      ) : (
        <div class="field">
          <label for={id}>{label}</label>
          {fields()}
        </div>
      )}
      <span id={`${id}-about`}>
        {hint && <span class="hint">{hint} </span>}
        <span class="saved" role="status">
          {isSaved.value && words.saved}
        </span>
      </span>
      <Problem error={run.error.value} title={words.notSaved} />
    </div>
  )
}

/** Settings under one heading. */
export function SettingGroup(props: {
  title: string
  rows: readonly SettingRow[]
  values: Readonly<Record<string, unknown>>
  save: (name: string, value: unknown) => Promise<unknown>
}) {
  const { title, rows, values, save } = props
  return (
    <section class="form">
      <h2>{title}</h2>
      {rows.map((row) => (
        <Setting key={row.name} row={row} value={values[row.name]} save={(value) => save(row.name, value)} />
      ))}
    </section>
  )
}
