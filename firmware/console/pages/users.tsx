import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { segment } from '../../client/request.ts'
import type * as T from '../../client/types.ts'
import { Field, Select } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api, Tagged } from '../api.ts'
import { USER_ID } from '../limits.ts'
import { Passphrase, type PassphraseHandle } from '../parts/controls.tsx'
import { type Column, Directory } from '../parts/directory.tsx'
import { Card, Fact, Row, type ViewProps } from '../parts/frame.tsx'
import { Confirm, Form, useLoad, Waiting } from '../parts/loading.tsx'
import { go, route, to } from '../routes.ts'
import { ROLES, type Role } from '../state.ts'
import * as words from '../words.ts'
import { AccessKeysOf } from './access-key-list.tsx'
import { TagEditor } from './key.tsx'

const COLUMNS: readonly Column<T.UserPage['users'][number]>[] = [
  { name: words.usersRole, text: ({ role }) => words.roles[role] },
  { name: words.usersRealName, text: ({ realName }) => realName },
  { name: words.tags, text: ({ tags }) => tags?.join(', ') ?? '' },
]

export function UsersPage({ account, api }: ViewProps) {
  const filter = useSignal('')
  const list = useLoad(
    async (signal) => (await api.get<{ user: string }[]>('/users', signal)).map(({ user }) => user),
    [],
  )
  const ids = list.value.value
  const page = async (after: string, limit: number, signal: AbortSignal) => {
    const from = after === '' ? '' : `&after=${encodeURIComponent(after)}`
    const { users, next } = await api.get<T.UserPage>(`/users?details=true&limit=${limit}${from}`, signal)
    return { rows: users, next }
  }
  return (
    <>
      <Card>
        <Waiting of={list} />
        {ids !== null && (
          <Directory
            hint={words.usersSearchHint}
            bind={filter}
            ids={ids}
            page={page}
            idOf={({ user }) => user}
            name={words.user}
            columns={COLUMNS}
            cell={(user) => (
              <>
                <a class="id" href={to('users', user)} title={user}>
                  {user}
                </a>{' '}
                {user === account.user && <small>({words.usersYou})</small>}
              </>
            )}
            caption={words.usersCaption}
          />
        )}
      </Card>
      <AddUser account={account} api={api} />
      <Card title={words.usersWhat}>
        <dl class="facts">
          {ROLES.map((role) => (
            <Fact key={role} name={words.roles[role]}>
              {words.rolesMay[role]}
            </Fact>
          ))}
        </dl>
      </Card>
    </>
  )
}

function AddUser({ account, api }: ViewProps) {
  const wanted = ROLES.find((role) => role === route.value.query.get('add'))
  const id = useSignal('')
  const realName = useSignal('')
  const role = useSignal<Role>(wanted ?? 'Operator')
  const passphrase = useRef<PassphraseHandle | null>(null)
  const run = useRun()
  const isBad = id.value !== '' && !USER_ID.test(id.value)
  const submit = async () => {
    const text = passphrase.current?.read()
    if (typeof text !== 'string' || isBad) return
    const json = { realName: realName.value, role: role.value, passphrase: text }
    await run.start(words.usersAdding, async () => {
      const isWhole = id.value.includes('~') || account.namespace === null
      const user = id.value === '' || isWhole ? id.value : `${account.namespace}~${id.value}`
      const made = user === '' ? await addUnnamed(api, json) : await addNamed(api, user, json)
      passphrase.current?.clear()
      go('users', made)
    })
  }
  return (
    <details class="card" open={wanted !== undefined}>
      <summary>{words.usersAdd}</summary>
      <Form run={run} submit={submit} action={words.usersAdd}>
        <div class="grid">
          <Field
            label={words.usersId}
            hint={words.usersIdHint}
            class="id"
            bind={id}
            error={isBad ? words.usersBadId : undefined}
          />
          <Field label={words.usersRealName} required bind={realName} />
        </div>
        <Select
          label={words.usersRole}
          hint={words.rolesMay[role.value]}
          bind={role}
          options={ROLES.map((name) => [name, words.roles[name]])}
        />
        <Passphrase fresh label={words.passphrase} hold={passphrase} />
      </Form>
    </details>
  )
}

async function addUnnamed(api: Api, json: T.NewUser): Promise<string> {
  return (await api.json<T.Created>('POST', '/users', { json })).id
}

async function addNamed(api: Api, user: string, json: T.NewUser): Promise<string> {
  await api.call('PUT', `/users/${segment(user)}`, { json })
  return user
}

/** Users of other roles can make no access key. */
const MAKERS: ReadonlySet<Role> = new Set(['Administrator', 'Operator'])

export function UserPage({ account, api, id }: ViewProps & { id: string }) {
  const path = `/users/${segment(id)}`
  const loaded = useLoad(async () => {
    const user = await api.tagged<T.UserInfo>(path)
    const tags = user.value.role === 'Operator' ? await api.get<string[]>(`${path}/tags`) : null
    const [namespace] = id.includes('~') ? id.split('~') : []
    // Once a namespace exists, only its own administrators change its users: contract section 7.3.
    const isForeign = account.namespace === null && namespace !== undefined
    const made = isForeign ? await api.get<T.Created[]>('/namespaces') : []
    return { user, tags, mayChange: !made.some((other) => other.id === namespace) }
  }, [id])
  const found = loaded.value.value
  if (found === null) return <Waiting of={loaded} />
  const { user, tags, mayChange } = found
  return (
    <>
      <Card>
        <dl class="facts">
          <Fact name={words.name}>{user.value.realName}</Fact>
          <Fact name={words.usersRole}>{words.roles[user.value.role]}</Fact>
        </dl>
        <p class="hint">{words.rolesMay[user.value.role]}</p>
        {!mayChange && <p>{words.usersHandedOver}</p>}
      </Card>
      {mayChange && tags !== null && <Tags api={api} path={path} tags={tags} reload={loaded.reload} />}
      {mayChange && <SetPassphrase api={api} path={path} />}
      {mayChange && MAKERS.has(user.value.role) && <AccessKeysOf api={api} id={id} />}
      {mayChange && id !== account.user && <Delete api={api} id={id} user={user} />}
    </>
  )
}

function Tags({ api, path, tags, reload }: { api: Api; path: string; tags: string[]; reload: () => void }) {
  const run = useRun()
  const change = async (method: 'PUT' | 'DELETE', name: string) => {
    if (await run.start(words.saving, () => api.call(method, `${path}/tags/${segment(name)}`))) {
      reload()
    }
  }
  return (
    <Card title={words.tags}>
      <p class="hint">{words.usersTagsText}</p>
      <TagEditor tags={tags} run={run} add={(name) => change('PUT', name)} remove={(name) => change('DELETE', name)} />
    </Card>
  )
}

function SetPassphrase({ api, path }: { api: Api; path: string }) {
  const passphrase = useRef<PassphraseHandle | null>(null)
  const done = useSignal(false)
  const run = useRun()
  const submit = async () => {
    const text = passphrase.current?.read()
    if (typeof text !== 'string') return
    done.value = await run.start(words.usersSettingPassphrase, () =>
      api.call('POST', `${path}/passphrase`, { json: { passphrase: text } }),
    )
    if (done.value) passphrase.current?.clear()
  }
  return (
    <Card title={words.newPassphrase}>
      <Form
        run={run}
        submit={submit}
        action={words.newPassphrase}
        kind=""
        said={done.value && words.usersPassphraseSet}
      >
        <Passphrase fresh label={words.newPassphrase} hold={passphrase} />
      </Form>
    </Card>
  )
}

function Delete({ api, id, user }: { api: Api; id: string; user: Tagged<T.UserInfo> }) {
  return (
    <Card title={words.usersDelete}>
      <p>{words.usersDeleteText}</p>
      <Row>
        <Confirm
          title={words.usersDelete}
          what={words.usersDeleteText}
          typed={id}
          saying={words.deleting}
          work={() => api.call('DELETE', `/users/${segment(id)}`, { etag: user.etag })}
          done={() => go('users')}
        />
      </Row>
    </Card>
  )
}
