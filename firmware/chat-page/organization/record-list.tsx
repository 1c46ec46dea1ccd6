/** A list of records of one kind, which are added, changed and deleted in dialogs. */

import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Action, Field, Select, TextArea } from '../../web/controls.tsx'
import { attempt } from '../problems.ts'
import { Choices } from '../views/choices.tsx'
import { ConfirmDialog, FormDialog } from '../views/form-dialog.tsx'
import { Icon } from '../views/icons.tsx'
import { words } from '../words/words.ts'

type Options = readonly (readonly [value: string, text: string])[]

interface RecordField {
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly input?: 'text' | 'long' | 'bool' | Options | { readonly several: Options }
  readonly required?: boolean
}

/** Several chosen options are one text, an option a line. */
export type RecordValues = Readonly<Record<string, string | boolean>>

export interface ListedRecord {
  readonly id: number | string
  readonly title: string
  readonly about?: ComponentChildren
  /** Picture before the title. */
  readonly picture?: ComponentChildren
  /** Present if the record can be changed. */
  readonly values?: RecordValues
}

interface RecordListProps {
  /** Label of the button that adds one; absent if none can be added. */
  newLabel?: string | undefined
  empty: string
  records: readonly ListedRecord[]
  fields: readonly RecordField[]
  add?: (values: RecordValues) => Promise<unknown>
  change?: (id: ListedRecord['id'], values: RecordValues) => Promise<unknown>
  remove?: (id: ListedRecord['id']) => Promise<unknown>
  removeText?: string
}

type Asked = { act: 'add' } | { act: 'change' | 'remove'; record: ListedRecord }

export function RecordList(props: RecordListProps) {
  const { newLabel, empty, records, fields, add, change, remove, removeText = words.cannotUndo } = props
  const asked = useSignal<Asked | null>(null)
  const ask = (question: Asked | null) => () => {
    asked.value = question
  }
  const close = ask(null)
  return (
    <section class="form">
      {newLabel !== undefined && (
        <div>
          <Action onClick={ask({ act: 'add' })}>{newLabel}</Action>
        </div>
      )}
      {records.length === 0 && <p class="soft">{empty}</p>}
      <ul class="rows">
        {records.map((record) => (
          <li key={record.id} class="row-entry">
            {record.picture}
            <div class="what">
              <strong dir="auto">{record.title}</strong>
              {record.about && <div class="soft">{record.about}</div>}
            </div>
            <div class="row">
              {record.values !== undefined && (
                <Action kind="small" label={words.editNamed(record.title)} onClick={ask({ act: 'change', record })}>
                  {words.edit}
                </Action>
              )}
              {remove !== undefined && (
                <Action kind="icon" label={words.removeNamed(record.title)} onClick={ask({ act: 'remove', record })}>
                  <Icon name="close" />
                </Action>
              )}
            </div>
          </li>
        ))}
      </ul>
      {asked.value?.act === 'add' && add !== undefined && (
        <RecordDialog title={newLabel ?? ''} fields={fields} values={{}} save={add} close={close} />
      )}
      {asked.value?.act === 'change' && change !== undefined && (
        <ChangeDialog record={asked.value.record} fields={fields} change={change} close={close} />
      )}
      {asked.value?.act === 'remove' && remove !== undefined && (
        <RemoveDialog record={asked.value.record} text={removeText} remove={remove} close={close} />
      )}
    </section>
  )
}

/** Moves the record at `at` to the top of its list; nothing for the first. `order` saves the new order of ids. */
export function ToTop(props: {
  ids: readonly number[]
  at: number
  name: string
  order: (ids: readonly number[]) => Promise<unknown>
}) {
  const { ids, at, name, order } = props
  if (at === 0) return null
  return (
    <Action
      kind="link"
      label={words.toTopNamed(name)}
      onClick={() => void attempt(order([...ids.slice(at, at + 1), ...ids.toSpliced(at, 1)]))}
    >
      {words.toTop}
    </Action>
  )
}

function ChangeDialog(props: {
  record: ListedRecord
  fields: readonly RecordField[]
  change: NonNullable<RecordListProps['change']>
  close: () => void
}) {
  const { record, fields, change, close } = props
  return (
    <RecordDialog
      title={words.editNamed(record.title)}
      fields={fields}
      values={record.values ?? {}}
      save={(values) => change(record.id, values)}
      close={close}
    />
  )
}

function RemoveDialog(props: {
  record: ListedRecord
  text: string
  remove: NonNullable<RecordListProps['remove']>
  close: () => void
}) {
  const { record, text, remove, close } = props
  return (
    <ConfirmDialog
      title={words.removeNamed(record.title)}
      action={words.remove}
      busy={words.deleting}
      act={() => remove(record.id)}
      close={close}
    >
      <p>{text}</p>
    </ConfirmDialog>
  )
}

function RecordDialog(props: {
  title: string
  fields: readonly RecordField[]
  values: RecordValues
  save: (values: RecordValues) => Promise<unknown>
  close: () => void
}) {
  const { title, fields, values: before, save, close } = props
  const initial = Object.fromEntries(fields.map((field) => [field.name, before[field.name] ?? initialOf(field)]))
  const values = useSignal<RecordValues>(initial)
  const isComplete = () => fields.every(({ name, required }) => !required || String(values.value[name]).trim() !== '')
  return (
    <FormDialog title={title} action={words.save} act={() => isComplete() && save(values.value)} close={close}>
      {fields.map((field) => (
        <RecordInput key={field.name} field={field} values={values} />
      ))}
    </FormDialog>
  )
}

const initialOf = ({ input }: RecordField): string | boolean =>
  input === 'bool' ? false : Array.isArray(input) ? (input[0]?.[0] ?? '') : ''

export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

function RecordInput({ field, values }: { field: RecordField; values: Signal<RecordValues> }) {
  const { name, label, hint, input = 'text', required = false } = field
  const id = useId()
  const set = (value: string | boolean) => {
    values.value = { ...values.value, [name]: value }
  }
  const bind = {
    get value() {
      return String(values.value[name])
    },
    set value(text: string) {
      set(text)
    },
  }
  if (input === 'bool')
    return (
      <label class="choice" for={id}>
        <input
          id={id}
          type="checkbox"
          checked={values.value[name] === true}
          onChange={({ currentTarget }) => set(currentTarget.checked)}
        />
        {label}
      </label>
    )
  if (typeof input === 'object' && 'several' in input) {
    const chosen = {
      get value() {
        return linesOf(bind.value)
      },
      set value(all: readonly string[]) {
        set(all.join('\n'))
      },
    }
    return <Choices label={label} all={input.several} chosen={chosen} />
  }
  if (input === 'long') return <TextArea label={label} bind={bind} hint={hint} />
  if (input === 'text') return <Field label={label} bind={bind} hint={hint} required={required} />
  return <Select label={label} bind={bind} options={input} hint={hint} />
}
