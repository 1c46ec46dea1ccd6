/** The views of states in which nobody works: failed, on trial, unreachable. */

import { Action, Code } from '../parts/controls.tsx'
import { Card, Row, Title } from '../parts/frame.tsx'
import { ConfirmTyped, Problem, useLoad, useRun, Waiting } from '../parts/loading.tsx'
import { anonymous, refreshState } from '../state.ts'
import * as words from '../words.ts'

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
  const diagnose = useLoad(() => anonymous.get<unknown>('/health/diagnose'), [])
  const run = useRun()
  const post = async (path: string, saying: string) => {
    await run.start(saying, () => anonymous.call('POST', path))
    await refreshState()
  }
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
      <Card>
        <Problem error={run.error.value} />
        <Row>
          <Action kind="primary" busy={run.busy.value} onClick={() => post('/system/reboot', words.restarting)}>
            {words.restart}
          </Action>
          <ConfirmTyped
            title={words.factoryReset}
            what={words.systemResetText}
            typed={words.systemResetTyped}
            saying={words.systemResetting}
            work={() => anonymous.call('POST', '/system/factory-reset')}
            done={refreshState}
          />
        </Row>
      </Card>
    </>
  )
}
