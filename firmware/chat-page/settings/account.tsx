/** E-mail address, password, and the end of the account. */

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { Action } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { endSession, noteFailure } from '../connection.ts'
import { DangerAction } from '../views/form-dialog.tsx'
import { PasswordField } from '../views/password-field.tsx'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'
import { Setting } from './setting.tsx'
import type { SectionProps } from './settings.tsx'

export function AccountSection({ realm }: SectionProps) {
  const me = realm.people.get(realm.ownId)
  const leave = () => endSession(() => call('DELETE', '/users/me'))
  return (
    <>
      <section class="form">
        <h2>{words.email}</h2>
        <Setting
          row={{ name: 'email', label: words.email, input: 'text' }}
          value={me?.delivery_email ?? me?.email}
          save={(email) => call('PATCH', '/settings', { email })}
        />
      </section>
      <PasswordForm />
      <section class="form">
        <h2>{words.endAccount}</h2>
        <p class="soft">{words.endAccountText}</p>
        <div>
          <DangerAction title={words.endAccountTitle} action={words.endAccountAction} act={leave}>
            <p>{words.endAccountText}</p>
          </DangerAction>
        </div>
      </section>
    </>
  )
}

function PasswordForm() {
  const before = useRef<HTMLInputElement>(null)
  const next = useRef<HTMLInputElement>(null)
  const run = useRun()
  const isSaved = useSignal(false)
  const save = async () => {
    const [old, wanted] = [before.current?.value ?? '', next.current?.value ?? '']
    if (old === '' || wanted === '') return
    const values = { old_password: old, new_password: wanted }
    isSaved.value = await run.start(words.saving, () => call('PATCH', '/settings', values))
    if (!isSaved.value) return noteFailure(run.error.value)
    for (const field of [before.current, next.current]) if (field !== null) field.value = ''
  }
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <h2>{words.password}</h2>
      <PasswordField field={before} label={words.oldPassword} />
      <PasswordField field={next} label={words.newPassword} isNew />
      <Problem error={run.error.value} title={words.notSaved} />
      <div class="row">
        <Action submit busy={run.busy.value}>
          {words.changePassword}
        </Action>
        <span role="status">{isSaved.value && words.saved}</span>
      </div>
    </form>
  )
}
