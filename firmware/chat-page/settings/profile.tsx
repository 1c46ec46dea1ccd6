/** Name, picture, status, and the fields that the organization has defined. */

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { Action } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { noteFailure } from '../connection.ts'
import type { Participant } from '../model/types.ts'
import { useLoaded } from '../views/loaded.ts'
import { Face } from '../views/parts.tsx'
import { Problem } from '../views/problem.tsx'
import * as words from '../words/en.ts'
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
  const input = useRef<HTMLInputElement>(null)
  const run = useRun()
  const change = async (act: () => Promise<unknown>) => {
    if (!(await run.start(words.saving, act))) noteFailure(run.error.value)
  }
  return (
    <div class="profile">
      <Face person={me} size="huge" />
      <input
        ref={input}
        class="hidden"
        type="file"
        accept="image/*"
        tabIndex={-1}
        aria-label={words.picture}
        onChange={({ currentTarget: field }) => {
          const file = field.files?.[0]
          if (file !== undefined) void change(() => call('POST', '/users/me/avatar', {}, { file }))
          field.value = ''
        }}
      />
      <div class="row">
        <Action busy={run.busy.value} onClick={() => input.current?.click()}>
          {words.choosePicture}
        </Action>
        <Action kind="link" onClick={() => void change(() => call('DELETE', '/users/me/avatar'))}>
          {words.removePicture}
        </Action>
      </div>
      <Problem error={run.error.value} title={words.notSaved} />
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
