/** Fields that the organization has defined for profiles. `chat/CONTRACT.md`, section 2.5. */

import { listOf } from '../words/format.ts'
import { words } from '../words/words.ts'
import type { SettingRow } from './setting.tsx'

export interface DefinedField {
  id: number
  type: number
  name: string
  hint: string
  /** JSON; of a choice its options. */
  field_data: string
  editable_by_user: boolean
  required: boolean
}

/** By the id of the field. */
export type ProfileValues = Readonly<Record<string, { value: unknown; rendered_value?: string }>>

const [LONG_TEXT, CHOICE, PERSON] = [2, 3, 6]

interface Option {
  text: string
  order: string
}

const optionsOf = ({ field_data: data }: DefinedField): [string, Option][] =>
  Object.entries(JSON.parse(data || '{}') as Record<string, Option>).sort(
    ([, a], [, b]) => Number(a.order) - Number(b.order),
  )

/** People are typed as their ids. */
export function fieldInput(field: DefinedField): SettingRow['input'] {
  if (field.type === LONG_TEXT) return 'long'
  if (field.type !== CHOICE) return 'text'
  return [['', words.noValue], ...optionsOf(field).map(([key, { text }]) => [key, text] as const)]
}

/** Null removes the value. */
export function valueForServer({ type }: DefinedField, value: unknown): unknown {
  const text = String(value ?? '').trim()
  if (text === '') return null
  return type === PERSON ? text.split(/[\s,]+/).map(Number) : text
}

export function shownValue(field: DefinedField, value: unknown, nameOf: (id: number) => string): string {
  if (field.type === CHOICE) return optionsOf(field).find(([key]) => key === value)?.[1].text ?? String(value)
  return field.type === PERSON && Array.isArray(value) ? listOf(value.map(nameOf)) : String(value)
}
