/** The access keys of a user. The user and administrators delete them. Contract section 7.9. */

import { segment } from '../../client/request.ts'
import type * as T from '../../client/types.ts'
import type { Api } from '../api.ts'
import { time } from '../format.ts'
import { Card, Row } from '../parts/frame.tsx'
import { Confirm, type Loaded, useLoad, Waiting } from '../parts/loading.tsx'
import * as words from '../words.ts'

/** The keys of another user. */
export function AccessKeysOf({ api, id }: { api: Api; id: string }) {
  const path = accessKeysPath(id)
  const keys = useLoad(() => api.get<T.AccessKey[]>(path), [id])
  return (
    <Card title={words.accessKeys}>
      <p class="hint">{words.usersAccessKeysText}</p>
      <AccessKeyList api={api} path={path} keys={keys} none={words.usersAccessKeysNone} />
    </Card>
  )
}

export const accessKeysPath = (user: string): string => `/users/${segment(user)}/access-keys`

interface AccessKeyListProps {
  api: Api
  path: string
  keys: Loaded<T.AccessKey[]>
  /** Shown if there is none. */
  none: string
}

export function AccessKeyList({ api, path, keys, none }: AccessKeyListProps) {
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
