/** Fields of settings. A change is saved at once. */

import { useSignal } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { useRun } from '../../web/run.ts'
import { noteFailure } from '../connection.ts'
import { Problem } from '../views/problem.tsx'
import * as words from '../words/en.ts'

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

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

export function Setting({ row: { label, hint, input }, value, save }: SettingProps) {
  const id = useId()
  const run = useRun()
  const isSaved = useSignal(false)
  const change = async (control: Control, chosen: unknown, restore: () => void) => {
    isSaved.value = false
    control.ariaBusy = 'true'
    isSaved.value = await run.start(words.saving, () => save(chosen))
    control.ariaBusy = null
    if (isSaved.value) return
    noteFailure(run.error.value)
    restore()
  }
  const shared = { id, 'aria-describedby': `${id}-about` }
  const keep = () => {} // a refused text stays in its field
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  const text = String(value ?? '')
  // Not by a property, which each rendering would apply again: what is typed stays until the setting itself changes.
  useLayoutEffect(() => {
    if (field.current !== null) field.current.value = text
  }, [text])
  const fields = () => {
    if (typeof input !== 'string') {
      const at = input.findIndex(([one]) => one === value)
      return (
        <select
          {...shared}
          value={String(at)}
          onChange={({ currentTarget: control }) =>
            void change(control, input[Number(control.value)]![0], () => {
              control.value = String(at)
            })
          }
        >
          {at === -1 && <option value="-1">{String(value ?? '')}</option>}
          {input.map(([one, text], index) => (
            <option key={String(one)} value={String(index)}>
              {text}
            </option>
          ))}
        </select>
      )
    }
    if (input === 'long')
      return (
        <textarea
          {...shared}
          ref={field}
          onChange={({ currentTarget: control }) => void change(control, control.value, keep)}
        />
      )
    return (
      <input
        {...shared}
        ref={field}
        type={input as 'text'}
        autocomplete="off"
        onChange={({ currentTarget: control }) => {
          if (input === 'text' || control.value !== '')
            void change(control, input === 'number' ? Number(control.value) : control.value, keep)
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
            checked={value === true}
            onChange={({ currentTarget: control }) =>
              void change(control, control.checked, () => {
                control.checked = value === true
              })
            }
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
