/** Fields of profiles. */

import { call } from '../api.ts'
import type { DefinedField } from '../settings/profile-fields.ts'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'
import { linesOf, RecordList, type RecordValues, ToTop } from './record-list.tsx'

const CHOICE = '3'

export function FieldsSection() {
  const { value, failure, load } = useLoaded((signal) =>
    call<{ custom_fields: DefinedField[] }>('GET', '/realm/profile_fields', {}, { signal }),
  )
  const all = value.value?.custom_fields ?? []
  const then = async (act: Promise<unknown>) => {
    await act
    await load()
  }
  const ids = all.map(({ id }) => id)
  const order = (order: readonly number[]) => then(call('PATCH', '/realm/profile_fields', { order }))
  const valuesOf = ({ field_type: type, options, ...values }: RecordValues) => ({
    ...values,
    ...(type === CHOICE && { field_data: dataOf(String(options)) }),
  })
  return (
    <>
      <Problem error={failure.value} />
      <RecordList
        newLabel={words.newField}
        empty={words.noFields}
        records={all.map((field, at) => ({
          ...{ id: field.id, title: field.name },
          about: (
            <>
              {words.fieldTypes.find(([type]) => type === String(field.type))?.[1]}
              {field.hint && ` · ${field.hint}`}
              <ToTop ids={ids} at={at} name={field.name} order={order} />
            </>
          ),
          values: {
            ...{ name: field.name, hint: field.hint, required: field.required },
            ...{ editable_by_user: field.editable_by_user, field_type: String(field.type), options: optionsOf(field) },
          },
        }))}
        fields={[
          { name: 'name', label: words.name, required: true },
          { name: 'hint', label: words.fieldHint },
          { name: 'field_type', label: words.fieldType, input: words.fieldTypes },
          { name: 'options', label: words.fieldOptions, hint: words.fieldOptionsHint, input: 'long' },
          { name: 'required', label: words.fieldRequired, input: 'bool' },
          { name: 'editable_by_user', label: words.fieldEditable, input: 'bool' },
        ]}
        add={(values) =>
          then(call('POST', '/realm/profile_fields', { field_type: values.field_type, ...valuesOf(values) }))
        }
        change={(id, values) => then(call('PATCH', `/realm/profile_fields/${id}`, valuesOf(values)))}
        remove={(id) => then(call('DELETE', `/realm/profile_fields/${id}`))}
        removeText={words.removeFieldText}
      />
    </>
  )
}

/** Options of a choice, one a line, as the API stores them. */
const dataOf = (lines: string): string =>
  JSON.stringify(Object.fromEntries(linesOf(lines).map((text, at) => [String(at), { text, order: String(at + 1) }])))

function optionsOf({ type, field_data: data }: DefinedField): string {
  if (String(type) !== CHOICE) return ''
  const options = Object.values(JSON.parse(data || '{}') as Record<string, { text: string; order: string }>)
  return options
    .sort((a, b) => Number(a.order) - Number(b.order))
    .map(({ text }) => text)
    .join('\n')
}
