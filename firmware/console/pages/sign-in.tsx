/** Sign-in form, also shown in place of a view that needs another role. */

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { ApiError } from '../../client/request.ts'
import { Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { Passphrase, type PassphraseHandle } from '../parts/controls.tsx'
import { Card, Title } from '../parts/frame.tsx'
import { Form } from '../parts/loading.tsx'
import { go, route, to } from '../routes.ts'
import { ACCOUNTS_MAX, accountFor, accounts, askAgain, type Need, signedOutBecause, signIn } from '../state.ts'
import * as words from '../words.ts'

export function SignInPage() {
  const why = signedOutBecause.value
  return (
    <>
      <Title>{words.signIn}</Title>
      {why !== '' && (
        <div class="notice" role="status">
          {words.signInReasons[why]}
        </div>
      )}
      <Card>
        <SignInForm
          done={() => {
            if (route.value.path[0] === 'sign-in') go()
          }}
        />
      </Card>
    </>
  )
}

function SignInForm({ done }: { done?: () => void }) {
  const user = useSignal(askAgain.value)
  const run = useRun()
  const wrong = useSignal(false)
  const passphrase = useRef<PassphraseHandle | null>(null)
  if (accounts.value.length >= ACCOUNTS_MAX) return <p>{words.signInFull}</p>

  const submit = async () => {
    const text = passphrase.current?.read()
    if (typeof text !== 'string') return
    wrong.value = false
    const isDone = await run.start(words.signInBusy, () => signIn(user.value.trim(), text))
    if (isDone) {
      passphrase.current?.clear()
      done?.()
    } else if (run.error.value instanceof ApiError && run.error.value.status === 401) {
      passphrase.current?.clear()
      run.error.value = null
      wrong.value = true
    }
  }
  return (
    <Form run={run} submit={submit} action={words.signIn}>
      <Field
        label={words.user}
        hint={words.signInUserHint}
        bind={user}
        autocomplete="username"
        autocapitalize="off"
        required
      />
      <Passphrase
        label={words.passphrase}
        hint={words.signInKept}
        error={wrong.value ? words.problemWrongCredentials : undefined}
        onClearError={() => {
          wrong.value = false
        }}
        hold={passphrase}
      />
    </Form>
  )
}

export function NeedsAccount({ need: { roles, root } }: { need: Need }) {
  const [role] = roles
  return (
    <Card title={words.needTitle(roles.map((name) => words.roles[name]).join(', '))}>
      {roles.length === 1 && <p>{words.needs[root && role === 'Administrator' ? 'root' : role]}</p>}
      {role !== 'Administrator' && accountFor({ roles: ['Administrator'], root: role !== 'Operator' }) && (
        <p>
          {words.needCreate} <a href={`${to('users')}?add=${role}`}>{words.needCreateLink(words.roles[role])}</a>
        </p>
      )}
      <SignInForm />
    </Card>
  )
}
