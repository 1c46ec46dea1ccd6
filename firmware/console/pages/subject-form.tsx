import { useSignal } from '@preact/signals'
import { Action, Field, member } from '../../web/controls.tsx'
import { Row } from '../parts/frame.tsx'
import * as words from '../words.ts'

const MORE = [
  'organizationName',
  'organizationalUnitName',
  'localityName',
  'stateOrProvinceName',
  'countryName',
  'emailAddress',
] as const

export function SubjectForm(props: { action: string; busy: string | false; submit: (json: object) => unknown }) {
  const { action, busy, submit } = props
  const values = useSignal<Record<string, string>>({})
  const field = (name: keyof typeof words.certificateFields, required = false) => (
    <Field key={name} label={words.certificateFields[name]} required={required} bind={member(values, name)} />
  )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        const { subjectAltNames = '', ...rest } = values.value
        const names = subjectAltNames.split(/[\s,]+/).filter(Boolean)
        const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== ''))
        submit({ ...given, ...(names.length > 0 && { subjectAltNames: names }) })
      }}
    >
      {field('commonName', true)}
      {field('subjectAltNames')}
      <details>
        <summary>{words.certificateMore}</summary>
        <div class="grid">{MORE.map((name) => field(name))}</div>
      </details>
      <Row>
        <Action submit busy={busy}>
          {action}
        </Action>
      </Row>
    </form>
  )
}
