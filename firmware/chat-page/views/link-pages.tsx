/** Pages of links: joining by an invitation, a new password. */

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Action, Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { CallRefused } from '../api.ts'
import { SEALED_WAIT_MS } from '../connection.ts'
import { type Invited, join, readInvitation, readPasswordLink, setPasswordByLink } from '../session.ts'
import { words } from '../words/words.ts'
import { Entry, EntryForm, enter, SealedPage, useDevice } from './entry.tsx'
import { PasswordField } from './password-field.tsx'
import { Problem } from './problem.tsx'

/** `invitation` is the key after the `#` of the address; it is sent only to this server. */
export const JoinPage = ({ invitation }: { invitation: string }) => (
  <LinkPage
    action={words.joinAction}
    read={(signal) => readInvitation(invitation, signal)}
    gone={{ title: words.joinGone, text: words.joinGoneText }}
  >
    {(invited) => <JoinForm invitation={invitation} invited={invited} />}
  </LinkPage>
)

/** `link` is the key after the `#` of the address. */
export const PasswordPage = ({ link }: { link: string }) => (
  <LinkPage
    action={words.setPassword}
    read={(signal) => readPasswordLink(link, signal)}
    gone={{ title: words.linkGone, text: words.linkGoneText }}
  >
    {({ email, realm_name: realmName }) => <PasswordForm link={link} email={email} realmName={realmName} />}
  </LinkPage>
)

/** Asks the server about the key of a link. While the appliance is locked, asks again. */
function LinkPage<T>(props: {
  action: string
  read: (signal: AbortSignal) => Promise<T>
  gone: { title: string; text: string }
  children: (found: T) => ComponentChildren
}) {
  const { action, read, gone, children } = props
  const found = useSignal<T | null>(null)
  const failure = useSignal<unknown>(null)
  const tries = useSignal(0)
  const isSealed = failure.value instanceof CallRefused && failure.value.code === 'SERVER_NOT_READY'
  useEffect(() => {
    const timer = isSealed ? setTimeout(() => tries.value++, SEALED_WAIT_MS) : undefined
    return () => clearTimeout(timer)
  }, [failure.value])
  useEffect(() => {
    const controller = new AbortController()
    read(controller.signal).then(
      (answer) => {
        found.value = answer
        failure.value = null
      },
      (error: unknown) => {
        if (!controller.signal.aborted) failure.value = error
      },
    )
    return () => controller.abort()
  }, [tries.value])
  if (failure.value instanceof CallRefused && failure.value.status === 404)
    return (
      <Entry title={gone.title} key="gone">
        <p>{gone.text}</p>
        <a href="/">{words.joinSignIn}</a>
      </Entry>
    )
  if (isSealed) return <SealedPage />
  if (failure.value)
    return (
      <Entry title={action} key="failed">
        <Problem error={failure.value} also={<Action onClick={() => location.reload()}>{words.again}</Action>} />
      </Entry>
    )
  if (found.value === null) return <Entry title={words.loading}>{null}</Entry>
  return <>{children(found.value)}</>
}

function PasswordForm({ link, email, realmName }: { link: string; email: string; realmName: string }) {
  const password = useRef<HTMLInputElement>(null)
  const device = useDevice()
  const run = useRun()
  const submit = async () => {
    const text = password.current?.value ?? ''
    if (text === '') return
    if (await run.start(words.saving, () => setPasswordByLink(link, text, device.read()))) enter()
  }
  return (
    <Entry title={words.setPasswordTitle(realmName)} key="form">
      <p>{words.setPasswordLead}</p>
      <EntryForm action={words.setPassword} busy={run.busy.value} submit={submit} error={run.error.value}>
        <p>
          <span class="soft">{words.email}</span> <span class="id">{email}</span>
        </p>
        <PasswordField field={password} label={words.newPassword} isNew />
        {device.fields}
      </EntryForm>
    </Entry>
  )
}

function JoinForm({ invitation, invited }: { invitation: string; invited: Invited }) {
  const name = useSignal('')
  const email = useSignal('')
  const password = useRef<HTMLInputElement>(null)
  const device = useDevice()
  const run = useRun()
  const submit = async () => {
    const text = password.current?.value ?? ''
    const own = email.value.trim()
    if (name.value.trim() === '' || text === '' || (invited.email === null && own === '')) return
    const parameters = { full_name: name.value.trim(), password: text, ...(invited.email === null && { email: own }) }
    if (await run.start(words.joining, () => join(invitation, parameters, device.read()))) enter()
  }
  return (
    <Entry title={words.joinTitle(invited.realm_name)} key="form">
      <p>{words.joinLead(invited.realm_name)}</p>
      <EntryForm action={words.joinAction} busy={run.busy.value} submit={submit} error={run.error.value}>
        {invited.email === null ? (
          <Field label={words.email} bind={email} autocomplete="username" autocapitalize="off" required />
        ) : (
          <p>
            <span class="soft">{words.email}</span> <span class="id">{invited.email}</span>
          </p>
        )}
        <Field label={words.fullName} bind={name} autocomplete="name" required />
        <PasswordField field={password} isNew hint={words.joinPasswordHint} />
        {device.fields}
      </EntryForm>
      <a href="/">{words.joinSignIn}</a>
    </Entry>
  )
}
