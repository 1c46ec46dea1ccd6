/** Access keys: tokens of the transit API that do not expire. Users make their own. Contract section 7.9. */

import { useSignal } from '@preact/signals'
import type * as T from '../../client/types.ts'
import { Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { Copyable } from '../parts/controls.tsx'
import { Card, type ViewProps } from '../parts/frame.tsx'
import { Form, useLoad } from '../parts/loading.tsx'
import * as words from '../words.ts'
import { baoAccess, sopsAccess } from './access-key-commands.ts'
import { AccessKeyList, accessKeysPath } from './access-key-list.tsx'

/** The signed-in user's keys; the user may make more. */
export function AccessKeys({ account, api }: ViewProps) {
  const path = accessKeysPath(account.user)
  const keys = useLoad(() => api.get<T.AccessKey[]>(path), [account.id])
  const name = useSignal('')
  /** Shown until the user leaves the view or makes another one. */
  const made = useSignal<T.NewAccessKey | null>(null)
  const run = useRun()
  const submit = async () => {
    made.value = null
    await run.start(words.accessKeysMaking, async () => {
      made.value = await api.json<T.NewAccessKey>('POST', path, { json: { name: name.value } })
    })
    if (made.value === null) return
    name.value = ''
    keys.reload()
  }
  return (
    <Card title={words.accessKeys}>
      <p class="hint">{words.accessKeysText}</p>
      <AccessKeyList api={api} path={path} keys={keys} none={words.accessKeysNone} />
      <Form run={run} submit={submit} kind="" action={words.accessKeysMake}>
        <Field label={words.accessKeysName} required bind={name} />
      </Form>
      {made.value !== null && (
        <>
          <p role="status">{words.accessKeysOnce}</p>
          <Copyable label={words.accessKeysToken} text={made.value.token} />
          <Copyable label={words.accessKeysBao} text={baoAccess(location.origin, made.value.token)} />
          {account.role === 'Operator' && (
            <Copyable label={words.accessKeysSops} text={sopsAccess(location.origin, made.value.token)} />
          )}
        </>
      )}
    </Card>
  )
}
