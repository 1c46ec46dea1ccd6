/** Restores a backup into a new or provisioned appliance. */

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { ApiError } from '../../client/request.ts'
import type * as T from '../../client/types.ts'
import type { Api } from '../api.ts'
import { timestamp } from '../format.ts'
import { Passphrase, type PassphraseHandle } from '../parts/controls.tsx'
import { Card, Fact, type ViewProps } from '../parts/frame.tsx'
import { Problem, type Sending, SendOrStop, useLoad } from '../parts/loading.tsx'
import { anonymous, refreshState } from '../state.ts'
import * as words from '../words.ts'

export function RestorePage({ api }: ViewProps) {
  const report = useLoad(() => api.get<T.RestoreReport>('/system/restore-report'), [])
  return (
    <>
      <RestoreForm api={api} what={words.restoreReplacesPart} done={report.reload} />
      {report.value.value !== null && <Report {...report.value.value} />}
    </>
  )
}

function Report({ leftOut, more }: T.RestoreReport) {
  if (leftOut.length === 0) return null
  return (
    <Card title={words.restoreLeftOut}>
      <dl class="facts">
        {leftOut.map(({ entry, part, reason }) => (
          <Fact key={`${entry} ${part}`} name={entry}>
            {part}: {reason}
          </Fact>
        ))}
      </dl>
      {more > 0 && <p>{words.restoreLeftOutMore(more)}</p>}
    </Card>
  )
}

/** A new appliance has no users, so the restore runs without an account. */
export const RestoreNew = () => <RestoreForm api={anonymous} what={words.restoreReplacesFull} isNew />

function RestoreForm(props: { api: Api; what: string; isNew?: boolean; done?: () => void }) {
  const { api, what, isNew = false, done } = props
  const isDone = useSignal(false)
  const passphrase = useRef<PassphraseHandle | null>(null)
  const prepare = (): Sending | null => {
    const backupPassphrase = passphrase.current?.read()
    if (typeof backupPassphrase !== 'string') return null
    isDone.value = false
    return async (file, progress, signal) => {
      const form = new FormData()
      const systemTime = timestamp(new Date())
      form.append('arguments', JSON.stringify(isNew ? { backupPassphrase, systemTime } : { backupPassphrase }))
      form.append('backup_file', file)
      // Checks the credentials before the upload: a 401 of the upload would open the browser's own sign-in dialog.
      if (!isNew) await api.get('/account')
      await api.call('POST', '/system/restore', { body: form, progress, signal })
    }
  }
  return (
    <>
      <div class="notice warn">
        <strong>{words.restoreReplaces}</strong>
        <p>{what}</p>
      </div>
      <SendOrStop
        label={words.restoreFile}
        hint={words.restoreFileHint}
        action={words.restoreAction}
        checking={words.restoreChecking}
        prepare={prepare}
        question={isNew ? undefined : { what, typed: words.restoreTyped }}
        done={() => {
          isDone.value = true
          passphrase.current?.clear()
          done?.()
          return refreshState()
        }}
        problem={(error) => <Problem error={error} also={error instanceof ApiError && <p>{words.unchanged}</p>} />}
      >
        <Passphrase label={words.backupPassphrase} hint={words.restorePassphraseHint} hold={passphrase} />
        {isDone.value && (
          <div class="notice good" role="status">
            {words.restoreDone}
          </div>
        )}
      </SendOrStop>
    </>
  )
}
