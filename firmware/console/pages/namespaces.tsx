import { useSignal } from '@preact/signals'
import { segment } from '../../client/request.ts'
import type * as T from '../../client/types.ts'
import { Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { ID } from '../limits.ts'
import { Card, type ViewProps } from '../parts/frame.tsx'
import { Confirm, Form, useLoad, Waiting } from '../parts/loading.tsx'
import { Resource, wholeNumber } from '../parts/resource.tsx'
import { to } from '../routes.ts'
import * as words from '../words.ts'

export function NamespacePage({ api, id }: ViewProps & { id: string }) {
  return (
    <Resource
      api={api}
      path={`/namespaces/${segment(id)}/quota`}
      title={words.namespacesQuota}
      about={words.namespacesQuotaText}
      fields={{ keys: words.namespacesKeys, users: words.namespacesUsers }}
      write={({ keys, users }): T.NamespaceQuota => ({
        keys: wholeNumber(keys, words.namespacesKeys),
        users: wholeNumber(users, words.namespacesUsers),
      })}
    />
  )
}

export function NamespacesPage({ api }: ViewProps) {
  const list = useLoad(async () => {
    const [namespaces, users] = await Promise.all([
      api.get<T.Created[]>('/namespaces'),
      api.get<{ user: string }[]>('/users'),
    ])
    return { ids: namespaces.map(({ id }) => id), users: users.map(({ user }) => user) }
  }, [])
  const name = useSignal('')
  const sure = useSignal(false)
  const run = useRun()
  const found = list.value.value
  const add = async () => {
    if (!ID.test(name.value) || found === null) return
    if (!sure.value && !found.users.some((user) => user.startsWith(`${name.value}~`))) {
      sure.value = true
      return
    }
    sure.value = false
    if (await run.start(words.making, () => api.call('PUT', `/namespaces/${segment(name.value)}`))) {
      name.value = ''
      list.reload()
    }
  }
  return (
    <>
      <Card>
        <Waiting of={list} />
        {found !== null && (
          <table>
            <caption>{words.namespacesCaption(found.ids.length)}</caption>
            <thead>
              <tr>
                <th scope="col">{words.namespace}</th>
                <th scope="col">
                  <span class="hidden">{words.namespacesDelete}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {found.ids.map((id) => (
                <tr key={id}>
                  <th scope="row">
                    <a class="id" href={to('namespaces', id)}>
                      {id}
                    </a>
                  </th>
                  <td>
                    <Confirm
                      kind="small danger"
                      title={words.namespacesDelete}
                      label={words.namespacesDeleteTitle(id)}
                      what={words.namespacesDeleteText}
                      typed={id}
                      saying={words.deleting}
                      work={() => api.call('DELETE', `/namespaces/${segment(id)}`)}
                      done={list.reload}
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Card>
      <Card title={words.namespacesAdd}>
        <Form run={run} submit={add} action={words.namespacesAdd}>
          <Field
            label={words.namespace}
            class="id"
            required
            bind={name}
            error={name.value !== '' && !ID.test(name.value) ? words.usersBadId : undefined}
            also={() => {
              sure.value = false
            }}
          />
          {sure.value && (
            <div class="notice warn" role="alert">
              {words.namespacesNoAdmin}
            </div>
          )}
        </Form>
      </Card>
    </>
  )
}
