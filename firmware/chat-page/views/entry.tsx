/** Pages outside the chat: sign-in, locked appliance, no connection. */

import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Action, Field } from '../../web/controls.tsx'
import { Mark } from '../../web/mark.tsx'
import { useRun } from '../../web/run.ts'
import { CallRefused } from '../api.ts'
import { connect, signedOutBecause } from '../connection.ts'
import { viewTitle } from '../notify.ts'
import { fragment } from '../place.ts'
import { deviceName, signIn } from '../session.ts'
import { words } from '../words/words.ts'
import { PasswordField } from './password-field.tsx'
import { Problem } from './problem.tsx'

/** A centered card. Its heading takes the focus. */
export function Entry({ title, children }: { title: string; children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    viewTitle.value = title
    heading.current?.focus()
  }, [title])
  return (
    <main class="entry" id="content" tabIndex={-1}>
      <div class="brand">
        <Mark />
        {words.product}
      </div>
      <section class="card">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {children}
      </section>
    </main>
  )
}

const reasons = () => ({ '': null, left: words.signedOut, ended: words.sessionEnded })

export function SignInPage() {
  const email = useSignal('')
  const device = useDevice()
  const password = useRef<HTMLInputElement>(null)
  const run = useRun()
  const reason = reasons()[signedOutBecause.value]
  const isWrong = run.error.value instanceof CallRefused && run.error.value.code === 'AUTHENTICATION_FAILED'
  const submit = async () => {
    const text = password.current?.value ?? ''
    if (email.value.trim() === '' || text === '') return
    if (await run.start(words.signingIn, () => signIn(email.value.trim(), text, device.read()))) enter()
    else if (password.current) password.current.value = ''
  }
  return (
    <Entry title={words.signIn}>
      {reason && (
        <div class="notice" role="status">
          {reason}
        </div>
      )}
      <EntryForm action={words.signIn} busy={run.busy.value} submit={submit} error={isWrong ? null : run.error.value}>
        <Field label={words.email} bind={email} autocomplete="username" autocapitalize="off" required />
        <PasswordField field={password} error={isWrong ? words.wrongPassword : undefined} />
        {device.fields}
      </EntryForm>
    </Entry>
  )
}

/** After a sign-in. */
export function enter(): void {
  if (location.pathname !== '/') {
    history.replaceState(null, '', '/')
    fragment.value = ''
  }
  signedOutBecause.value = ''
  connect({ isFirst: true })
}

export function SealedPage() {
  return (
    <Entry title={words.sealedTitle} key="sealed">
      <p>{words.sealedText}</p>
    </Entry>
  )
}

export function UnreachablePage() {
  return (
    <Entry title={words.unreachableTitle} key="unreachable">
      <p>{words.unreachableText}</p>
    </Entry>
  )
}

export function EntryForm(props: {
  action: string
  busy: string | false
  submit: () => unknown
  error: unknown
  children: ComponentChildren
}) {
  const { action, busy, submit, error, children } = props
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {children}
      <Problem error={error} />
      <Action submit kind="primary" busy={busy}>
        {action}
      </Action>
    </form>
  )
}

/** Fields for the name of the device, and whether it is remembered. */
export function useDevice() {
  const name = useSignal(deviceName(navigator.userAgent))
  const remember: Signal<boolean> = useSignal(true)
  const id = useId()
  return {
    read: () => ({ device: name.value.trim() || deviceName(navigator.userAgent), remember: remember.value }),
    fields: (
      <>
        <Field label={words.device} bind={name} hint={words.deviceHint} maxLength={60} />
        <label class="choice" for={id}>
          <input
            id={id}
            type="checkbox"
            checked={remember.value}
            onChange={(event) => {
              remember.value = event.currentTarget.checked
            }}
          />
          {words.remember}
        </label>
      </>
    ),
  }
}
