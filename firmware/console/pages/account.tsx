import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { segment } from '../../client/request.ts'
import { useRun } from '../../web/run.ts'
import { Passphrase, type PassphraseHandle } from '../parts/controls.tsx'
import { Card, Fact, type ViewProps } from '../parts/frame.tsx'
import { Form, useLoad, Waiting } from '../parts/loading.tsx'
import { signIn } from '../state.ts'
import * as words from '../words.ts'
import { AccessKeys } from './access-keys.tsx'

export function AccountPage(props: ViewProps) {
  const { account, api } = props
  const { user, realName, role, namespace } = account
  const isOperator = role === 'Operator'
  const tags = useLoad(async () => (isOperator ? api.get<string[]>(`/users/${segment(user)}/tags`) : []), [account.id])
  const passphrase = useRef<PassphraseHandle | null>(null)
  const done = useSignal(false)
  const run = useRun()
  const submit = async () => {
    const text = passphrase.current?.read()
    if (typeof text !== 'string') return
    done.value = await run.start(words.accountSetting, async () => {
      await api.call('POST', `/users/${segment(user)}/passphrase`, { json: { passphrase: text } })
      await signIn(user, text)
    })
    if (done.value) passphrase.current?.clear()
  }
  return (
    <>
      <Card>
        <dl class="facts">
          <Fact mono name={words.user}>
            {user}
          </Fact>
          <Fact name={words.name}>{realName}</Fact>
          <Fact name={words.usersRole}>{words.roles[role]}</Fact>
          {namespace !== null && (
            <Fact mono name={words.namespace}>
              {namespace}
            </Fact>
          )}
          {isOperator && (
            <Fact name={words.accountTags}>
              <Waiting of={tags} />
              {tags.value.value !== null && (tags.value.value.join(', ') || words.accountNoTags)}
            </Fact>
          )}
        </dl>
      </Card>
      <Card title={words.accountPassphrase}>
        <p class="hint">{words.accountPassphraseText}</p>
        <Form run={run} submit={submit} action={words.accountPassphrase} said={done.value && words.accountDone}>
          <Passphrase fresh label={words.newPassphrase} hold={passphrase} />
        </Form>
      </Card>
      <AccessKeys {...props} />
    </>
  )
}
