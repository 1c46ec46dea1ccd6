/** Where alerts are mailed, and a test of it. Contract sections 3.4 and 4.7. */

import { useSignal } from '@preact/signals'
import type * as T from '../../client/types.ts'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import * as mailWords from '../mail-words.ts'
import { Card } from '../parts/frame.tsx'
import { Form } from '../parts/loading.tsx'
import { listOf, Resource, wholeNumber } from '../parts/resource.tsx'

export function Mail({ api }: { api: Api }) {
  return (
    <Resource
      api={api}
      path="/config/mail"
      title={mailWords.mail}
      about={mailWords.mailText}
      fields={{
        server: mailWords.server,
        port: mailWords.port,
        security: mailWords.security,
        user: mailWords.user,
        password: mailWords.password,
        from: mailWords.from,
        to: mailWords.to,
        alerts: mailWords.alerts,
      }}
      hints={{
        server: mailWords.serverHint,
        user: mailWords.userHint,
        password: mailWords.passwordHint,
        to: mailWords.toHint,
        alerts: mailWords.alertsHint,
      }}
      secrets={['password']}
      choices={{ security: mailWords.securities }}
      read={(value) => {
        const { server, port, security, user, from, to, alerts } = value as unknown as T.Mail
        return {
          server: server ?? '',
          port: `${port}`,
          security,
          user: user ?? '',
          password: '',
          from: from ?? '',
          to: to.join(' '),
          alerts: alerts?.join(' ') ?? '',
        }
      }}
      write={({ server, port, security = '', user, password, from, to, alerts }): T.MailChange => ({
        server: server?.trim() || null,
        port: wholeNumber(port, mailWords.port),
        security,
        user: user?.trim() || null,
        ...(password && { password }),
        from: from?.trim() || null,
        to: listOf(to),
        alerts: alerts?.trim() ? listOf(alerts) : null,
      })}
    />
  )
}

export function MailTest({ api }: { api: Api }) {
  const outcome = useSignal<T.MailOutcome | null>(null)
  const run = useRun()
  const submit = async () => {
    outcome.value = null
    await run.start(mailWords.testing, async () => {
      outcome.value = await api.json<T.MailOutcome>('POST', '/config/mail/test', {})
    })
  }
  return (
    <Card title={mailWords.test}>
      <p class="hint">{mailWords.testText}</p>
      <Form run={run} submit={submit} kind="" action={mailWords.testAction}>
        {outcome.value !== null && <p role="status">{mailWords.tested(outcome.value.problem)}</p>}
      </Form>
    </Card>
  )
}
