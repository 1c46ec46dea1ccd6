/** Restoring a backup, into an appliance that is new or in use. */

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { Api } from '../api.ts'
import { timestamp } from '../format.ts'
import { suspendIdle } from '../idle.ts'
import { Action, FileDrop, Passphrase, type PassphraseHandle } from '../parts/controls.tsx'
import { Card, Row, Title } from '../parts/frame.tsx'
import { Problem, useRun } from '../parts/loading.tsx'
import { anonymous, apiOf, ROOT_ADMINISTRATOR, refreshState } from '../state.ts'
import * as words from '../words.ts'
import { WithAccount } from './sign-in.tsx'

export function RestorePage() {
  return (
    <>
      <Title>{words.restoreTitle}</Title>
      <WithAccount need={ROOT_ADMINISTRATOR} why={words.needAdministrator}>
        {(account) => <RestoreForm api={apiOf(account)} what={words.restoreReplacesPart} />}
      </WithAccount>
    </>
  )
}

/** Nobody is signed in to a new appliance. */
export const RestoreNew = () => <RestoreForm api={anonymous} what={words.restoreReplacesFull} isNew />

function RestoreForm({ api, what, isNew = false }: { api: Api; what: string; isNew?: boolean }) {
  const file = useSignal<File | null>(null)
  const missing = useSignal(false)
  const sent = useSignal<number | null>(null)
  const done = useSignal(false)
  const stop = useRef<AbortController | null>(null)
  const passphrase = useRef<PassphraseHandle | null>(null)
  const run = useRun()

  const submit = async () => {
    const chosen = file.value
    missing.value = chosen === null
    const backupPassphrase = passphrase.current?.read()
    if (chosen === null || typeof backupPassphrase !== 'string') return
    const controller = new AbortController()
    stop.current = controller
    done.value = false
    let ticking: ReturnType<typeof setInterval> | undefined
    const progress = (bytes: number) => {
      sent.value = bytes
      run.say(words.restoreSending(Math.min(bytes, chosen.size), chosen.size))
      if (bytes >= chosen.size && ticking === undefined) {
        const since = Date.now()
        ticking = setInterval(() => run.say(words.restoreChecking((Date.now() - since) / 1000)), 500)
      }
    }
    const form = new FormData()
    const systemTime = timestamp(new Date())
    form.append('arguments', JSON.stringify(isNew ? { backupPassphrase, systemTime } : { backupPassphrase }))
    form.append('backup_file', chosen)
    done.value = await run.start(words.restoreSending(0, chosen.size), () =>
      suspendIdle(async () => {
        // With the same credentials, so that a 401 never reaches the upload.
        if (!isNew) await api.get('/account')
        await api.call('POST', '/system/restore', { body: form, progress, signal: controller.signal })
      }),
    )
    clearInterval(ticking)
    sent.value = null
    stop.current = null
    if (done.value) {
      passphrase.current?.clear()
      await refreshState()
    }
  }
  return (
    <>
      <div class="notice warn">
        <strong>{words.restoreReplaces}</strong>
        <p>{what}</p>
      </div>
      <Card>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void submit()
          }}
        >
          <FileDrop label={words.restoreFile} hint={words.restoreFileHint} bind={file} />
          {missing.value && (
            <span class="error" role="alert">
              {words.restoreMissing}
            </span>
          )}
          <Passphrase label={words.restorePassphrase} hint={words.restorePassphraseHint} hold={passphrase} />
          {sent.value !== null && file.value !== null && (
            <progress max={file.value.size} value={sent.value} aria-label={words.restoreAction} />
          )}
          <Problem error={run.error.value} also={<p>{words.restoreStopped}</p>} />
          {done.value && (
            <div class="notice good" role="status">
              {words.restoreDone}
            </div>
          )}
          <Row>
            <Action submit kind="primary" busy={run.busy.value}>
              {words.restoreAction}
            </Action>
            {run.busy.value !== false && (
              <Action onClick={() => stop.current?.abort(new Error(words.restoreStopped))}>{words.cancel}</Action>
            )}
          </Row>
        </form>
      </Card>
    </>
  )
}
