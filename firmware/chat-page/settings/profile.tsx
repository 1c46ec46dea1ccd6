/** Name, picture, status, and the fields that the organization has defined. */

import { useSignal } from '@preact/signals'
import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import type { Participant } from '../model/types.ts'
import { useLoaded } from '../views/loaded.ts'
import { Face } from '../views/parts.tsx'
import { usePictureField } from '../views/picture-field.tsx'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'
import { type DefinedField, fieldInput, type ProfileValues, valueForServer } from './profile-fields.ts'
import { Setting } from './setting.tsx'
import type { SectionProps } from './settings.tsx'
import { StatusForm } from './status.tsx'

export function ProfileSection({ realm }: SectionProps) {
  const me = realm.people.get(realm.ownId)
  return (
    <>
      <section class="form">
        <Picture me={me} />
        <Setting
          row={{ name: 'full_name', label: words.fullName, input: 'text' }}
          value={me?.full_name}
          save={(name) => call('PATCH', '/settings', { full_name: name })}
        />
      </section>
      <StatusForm realm={realm} />
      <OwnFields />
    </>
  )
}

function Picture({ me }: { me: Participant | undefined }) {
  const picture = usePictureField(words.picture, (file) => call('POST', '/users/me/avatar', {}, { file }))
  return (
    <div class="profile">
      <Face person={me} size="huge" />
      {picture.field}
      <div class="row">
        <Action busy={picture.busy} onClick={picture.choose}>
          {words.choosePicture}
        </Action>
        <Action kind="link" onClick={() => void picture.change(() => call('DELETE', '/users/me/avatar'))}>
          {words.removePicture}
        </Action>
      </div>
      <Problem error={picture.error} title={words.notSaved} />
    </div>
  )
}

function OwnFields() {
  const fields = useLoaded((signal) =>
    call<{ custom_fields: DefinedField[] }>('GET', '/realm/profile_fields', {}, { signal }),
  )
  const own = useLoaded((signal) => call<{ profile_data: ProfileValues }>('GET', '/users/me', {}, { signal }))
  const changed = useSignal<Readonly<Record<number, unknown>>>({})
  if (fields.value.value === null || own.value.value === null)
    return <Problem error={fields.failure.value ?? own.failure.value} />
  const { profile_data: values } = own.value.value
  const mine = fields.value.value.custom_fields.filter(({ editable_by_user: isOwn }) => isOwn)
  if (mine.length === 0) return null
  const save = async (field: DefinedField, value: unknown) => {
    const given = valueForServer(field, value)
    await (given === null
      ? call('DELETE', '/users/me/profile_data', { data: [field.id] })
      : call('PATCH', '/users/me/profile_data', { data: [{ id: field.id, value: given }] }))
    changed.value = { ...changed.value, [field.id]: value }
  }
  return (
    <section class="form">
      <h2>{words.aboutYou}</h2>
      {mine.map((field) => (
        <Setting
          key={field.id}
          row={{ name: String(field.id), label: field.name, hint: field.hint, input: fieldInput(field) }}
          value={changed.value[field.id] ?? values[field.id]?.value}
          save={(value) => save(field, value)}
        />
      ))}
    </section>
  )
}
