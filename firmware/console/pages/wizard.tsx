/** State Unprovisioned: sets up a new appliance, or restores a backup into it. */

import { signal, useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { useRun } from '../../web/run.ts'
import { duration, timestamp } from '../format.ts'
import { Copyable, Passphrase, type PassphraseHandle } from '../parts/controls.tsx'
import { Card, Title } from '../parts/frame.tsx'
import { Form } from '../parts/loading.tsx'
import { go, to } from '../routes.ts'
import { aheadMs, anonymous, refreshState, signIn } from '../state.ts'
import * as words from '../words.ts'
import { RestoreNew } from './restore.tsx'

/** Keeps the wizard on the screen while provisioning changes the state. */
export const isSettingUp = signal(false)

export function WizardPage() {
  const way = useSignal<'fresh' | 'restore'>('fresh')
  return (
    <>
      <Title>{words.wizardTitle}</Title>
      <p>{words.wizardLead}</p>
      <details class="card">
        <summary>{words.wizardCertificate}</summary>
        <div class="stack">
          <p>{words.wizardCertificateText}</p>
          <Copyable label="curl" text={`curl --insecure --pinnedpubkey 'sha256//…' ${location.origin}`} />
        </div>
      </details>
      <fieldset>
        <legend>{words.wizardWay}</legend>
        <div class="choices">
          {(['fresh', 'restore'] as const).map((name) => (
            <label class="choice" key={name}>
              <input
                type="radio"
                name="way"
                checked={way.value === name}
                onChange={() => {
                  way.value = name
                }}
              />
              {words.wizardWays[name]}
            </label>
          ))}
        </div>
      </fieldset>
      {way.value === 'fresh' ? <Fresh /> : <RestoreNew />}
    </>
  )
}

function Fresh() {
  const run = useRun()
  const unlock = useRef<PassphraseHandle | null>(null)
  const admin = useRef<PassphraseHandle | null>(null)
  const submit = async () => {
    const unlockPassphrase = unlock.current?.read()
    const adminPassphrase = typeof unlockPassphrase === 'string' ? admin.current?.read() : null
    if (typeof unlockPassphrase !== 'string' || typeof adminPassphrase !== 'string') return
    isSettingUp.value = true
    await run.start(words.wizardBusy, async () => {
      const systemTime = timestamp(new Date())
      await anonymous.call('POST', '/provision', { json: { unlockPassphrase, adminPassphrase, systemTime } })
      await refreshState()
      await signIn('admin', adminPassphrase)
      unlock.current?.clear()
      admin.current?.clear()
      go('welcome')
    })
    isSettingUp.value = false
  }
  const ahead = aheadMs.value
  const difference = ahead === 0 ? words.overviewClockSame : clockWords(ahead)
  return (
    <Card>
      <Form run={run} submit={submit} action={words.wizardAction}>
        <Passphrase fresh label={words.unlockPassphrase} hint={words.wizardUnlockHint} hold={unlock} />
        <Passphrase fresh label={words.wizardAdmin} hint={words.wizardAdminHint} hold={admin} />
        <p class="hint">{words.wizardClockText(difference)}</p>
      </Form>
    </Card>
  )
}

/** `3 minutes ahead`, `2 days behind`. `ahead` is in milliseconds. */
export const clockWords = (ahead: number): string =>
  `${duration(Math.abs(ahead) / 1000)} ${ahead > 0 ? words.ahead : words.behind}`

export function WelcomePage() {
  const next = words.wizardNext
  const steps: [string, string][] = [
    [`${to('keys')}?new=1`, next.key],
    [`${to('users')}?add=Operator`, next.operator],
    [to('settings'), next.backup],
    [`${to('users')}?add=Backup`, next.backupUser],
    [to('certificate'), next.certificate],
    [to('settings'), next.log],
  ]
  return (
    <>
      <Title>{words.wizardDone}</Title>
      <Card>
        <p>{words.wizardDoneText}</p>
        <ol class="steps">
          {steps.map(([link, text]) => (
            <li key={text}>
              <a href={link}>{text}</a>
            </li>
          ))}
        </ol>
      </Card>
    </>
  )
}
