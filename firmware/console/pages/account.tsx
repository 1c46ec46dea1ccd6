/** An operator's own account: tags and passphrase. */

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { seg } from '../api.ts'
import { Passphrase, type PassphraseHandle } from '../parts/controls.tsx'
import { Card, Fact, type ViewProps } from '../parts/frame.tsx'
import { Form, useLoad, useRun, Waiting } from '../parts/loading.tsx'
import { signIn } from '../state.ts'
import * as words from '../words.ts'

export function AccountPage({ account, api }: ViewProps) {
  const { user, realName, role, namespace } = account
  const isOperator = role === 'Operator'
  const tags = useLoad(async () => (isOperator ? api.get<string[]>(`/users/${seg(user)}/tags`) : []), [account.id])
  const passphrase = useRef<PassphraseHandle | null>(null)
  const done = useSignal(false)
  const run = useRun()
  const submit = async () => {
    const text = passphrase.current?.read()
    if (typeof text !== 'string') return
    done.value = await run.start(words.accountSetting, async () => {
      await api.call('POST', `/users/${seg(user)}/passphrase`, { json: { passphrase: text } })
      await signIn(user, text)
    })
    if (done.value) passphrase.current?.clear()
  }
  return (
    <>
      <Card>
        <dl class="facts">
          <Fact name={words.usersUser}>
            <span class="id">{user}</span>
          </Fact>
          <Fact name={words.usersName}>{realName}</Fact>
          <Fact name={words.usersRole}>{words.roles[role]}</Fact>
          {namespace !== null && (
            <Fact name={words.accountNamespace}>
              <span class="id">{namespace}</span>
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
        <Form
          run={run}
          submit={submit}
          action={words.accountPassphrase}
          beside={<span role="status">{done.value && words.accountDone}</span>}
        >
          <Passphrase fresh label={words.settingsFresh} hold={passphrase} />
        </Form>
      </Card>
    </>
  )
}
