/** Access keys: tokens of the transit API that do not expire. Users make their own, administrators delete any. Contract section 7.9. */

import { useSignal } from '@preact/signals'
import { segment } from '../../client/request.ts'
import type * as T from '../../client/types.ts'
import { Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import { time } from '../format.ts'
import { Copyable } from '../parts/controls.tsx'
import { Card, Row, type ViewProps } from '../parts/frame.tsx'
import { Confirm, Form, type Loaded, useLoad, Waiting } from '../parts/loading.tsx'
import * as words from '../words.ts'
import { baoAccess } from './commands.ts'

/** The signed-in user's keys; the user may make more. */
export function AccessKeys({ account, api }: ViewProps) {
  const path = pathOf(account.user)
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
      <List api={api} path={path} keys={keys} none={words.accessKeysNone} />
      <Form run={run} submit={submit} kind="" action={words.accessKeysMake}>
        <Field label={words.accessKeysName} required bind={name} />
      </Form>
      {made.value !== null && (
        <>
          <p role="status">{words.accessKeysOnce}</p>
          <Copyable label={words.accessKeysToken} text={made.value.token} />
          <Copyable label={words.accessKeysShell} text={baoAccess(location.origin, made.value.token)} />
        </>
      )}
    </Card>
  )
}

/** The keys of another user. */
export function AccessKeysOf({ api, id }: { api: Api; id: string }) {
  const path = pathOf(id)
  const keys = useLoad(() => api.get<T.AccessKey[]>(path), [id])
  return (
    <Card title={words.accessKeys}>
      <p class="hint">{words.usersAccessKeysText}</p>
      <List api={api} path={path} keys={keys} none={words.usersAccessKeysNone} />
    </Card>
  )
}

const pathOf = (user: string): string => `/users/${segment(user)}/access-keys`

interface ListProps {
  api: Api
  path: string
  keys: Loaded<T.AccessKey[]>
  /** Shown if there is none. */
  none: string
}

function List({ api, path, keys, none }: ListProps) {
  return (
    <>
      <Waiting of={keys} />
      <ul>
        {keys.value.value?.map(({ id, name, created }) => (
          <li key={id}>
            <Row>
              <span>
                {name} <code>{id}</code> ({time(created)})
              </span>
              <Confirm
                title={words.accessKeysDelete}
                label={words.accessKeysDeleteNamed(name)}
                what={words.accessKeysDeleteText}
                saying={words.deleting}
                work={() => api.call('DELETE', `${path}/${segment(id)}`)}
                done={keys.reload}
              />
            </Row>
          </li>
        ))}
      </ul>
      {keys.value.value?.length === 0 && <p>{none}</p>}
    </>
  )
}
