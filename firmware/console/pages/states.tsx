/** Views of the states without sign-in: failed, on trial, unreachable. */

import { Code } from '../../web/controls.tsx'
import { Card, Title } from '../parts/frame.tsx'
import { useLoad, Waiting } from '../parts/loading.tsx'
import { anonymous } from '../state.ts'
import * as words from '../words.ts'
import { type Diagnose, ForceNewOfMember } from './force-new.tsx'
import { FactoryReset, Reboot } from './system.tsx'

export function UnreachablePage() {
  return (
    <>
      <Title>{words.unreachableTitle}</Title>
      <div class="notice warn">
        <p>{words.unreachableLead}</p>
      </div>
    </>
  )
}

export function TrialPage() {
  return (
    <>
      <Title>{words.trialTitle}</Title>
      <div class="notice">
        <p>{words.trialLead}</p>
      </div>
    </>
  )
}

export function FailedPage() {
  const diagnose = useLoad(() => anonymous.get<Diagnose>('/health/diagnose'), [])
  return (
    <>
      <Title>{words.failedTitle}</Title>
      <div class="notice bad">
        <p>{words.failedLead}</p>
      </div>
      <Card title={words.failedDiagnose}>
        <Waiting of={diagnose} />
        {diagnose.value.value !== null && (
          <Code label={words.failedDiagnose} text={JSON.stringify(diagnose.value.value, null, 2)} />
        )}
      </Card>
      <div class="grid">
        <Reboot api={anonymous} />
        <FactoryReset api={anonymous} />
        <ForceNewOfMember diagnose={diagnose.value.value} />
      </div>
    </>
  )
}
