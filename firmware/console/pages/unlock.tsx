import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { ApiError } from '../../client/request.ts'
import { useRun } from '../../web/run.ts'
import { duration } from '../format.ts'
import { Passphrase, type PassphraseHandle } from '../parts/controls.tsx'
import { Card, Title } from '../parts/frame.tsx'
import { Form, useLoad } from '../parts/loading.tsx'
import { anonymous, refreshState, stateSince } from '../state.ts'
import * as words from '../words.ts'
import { type Diagnose, ForceNewOfMember } from './force-new.tsx'

const SINCE_SECONDS_MIN = 60 // shorter times are not worth showing

export function UnlockPage() {
  const run = useRun()
  const diagnose = useLoad(() => anonymous.get<Diagnose>('/health/diagnose'), [])
  const wrong = useSignal(false)
  const passphrase = useRef<PassphraseHandle | null>(null)
  const seconds = (Date.now() - stateSince.value) / 1000
  const submit = async () => {
    const text = passphrase.current?.read()
    if (typeof text !== 'string') return
    const isDone = await run.start(words.unlockBusy, () =>
      anonymous.call('POST', '/unlock', { json: { passphrase: text } }),
    )
    passphrase.current?.clear()
    if (isDone) await refreshState()
    else if (run.error.value instanceof ApiError && [400, 403].includes(run.error.value.status)) {
      run.error.value = null
      wrong.value = true
    }
  }
  return (
    <>
      <Title>{words.unlockTitle}</Title>
      <p>
        {words.unlockLead} {words.unlockOtherwise} {seconds > SINCE_SECONDS_MIN && words.unlockSince(duration(seconds))}
      </p>
      <Card>
        <Form run={run} submit={submit} action={words.unlockAction}>
          <Passphrase
            label={words.unlockPassphrase}
            error={wrong.value ? words.unlockWrong : undefined}
            onClearError={() => {
              wrong.value = false
            }}
            hold={passphrase}
          />
        </Form>
      </Card>
      <ForceNewOfMember diagnose={diagnose.value.value} />
    </>
  )
}
