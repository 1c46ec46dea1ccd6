import { useSignal } from '@preact/signals'
import type * as T from '../../client/types.ts'
import { Action, type Text } from '../../web/controls.tsx'
import type { Api } from '../api.ts'
import { count } from '../format.ts'
import { type Column, Directory } from '../parts/directory.tsx'
import { Card, Row, type ViewProps } from '../parts/frame.tsx'
import { useLoad, Waiting } from '../parts/loading.tsx'
import { keepQuery, route, to } from '../routes.ts'
import * as words from '../words.ts'
import { shortType } from './key-details.ts'
import { ImportKey, NewKey } from './new-key.tsx'

export function KeysPage({ account, api }: ViewProps) {
  const isOperator = account.role === 'Operator'
  const part = useSignal(route.value.query.get('contains') ?? '')
  const search = {
    get value() {
      return part.value
    },
    set value(text) {
      part.value = text
      keepQuery({ contains: text })
    },
  }
  const mine = useSignal(isOperator)
  const dialog = useSignal(route.value.query.get('new') && !isOperator ? 'new' : '')
  const filter = mine.value ? 'types=all&filter=' : 'types=all'
  const list = useLoad(
    async (signal) => {
      const keys = await api.get<T.Created[]>(`/keys?${filter}`, signal)
      return { filter, ids: keys.map(({ id }) => id) }
    },
    [filter],
  )
  const ids = list.value.value?.filter === filter ? list.value.value.ids : null
  return (
    <>
      {!isOperator && (
        <Row>
          <Action
            kind="primary"
            onClick={() => {
              dialog.value = 'new'
            }}
          >
            {words.newKey}
          </Action>
          <Action
            onClick={() => {
              dialog.value = 'import'
            }}
          >
            {words.importKey}
          </Action>
        </Row>
      )}
      <Card>
        {isOperator && (
          <label class="choice">
            <input
              type="checkbox"
              checked={mine.value}
              onChange={(event) => {
                mine.value = event.currentTarget.checked
              }}
            />
            {words.keysMine}
          </label>
        )}
        <Waiting of={list} />
        {ids !== null && ids.length === 0 && <p>{words.keysNone}</p>}
        {ids !== null && ids.length > 0 && <KeyTable key={filter} api={api} ids={ids} filter={filter} bind={search} />}
      </Card>
      {dialog.value === 'new' && (
        <NewKey
          api={api}
          close={() => {
            dialog.value = ''
          }}
        />
      )}
      {dialog.value === 'import' && (
        <ImportKey
          api={api}
          close={() => {
            dialog.value = ''
          }}
        />
      )}
    </>
  )
}

const COLUMNS: readonly Column<T.KeyPage['keys'][number]>[] = [
  { name: words.type, text: shortType },
  { name: words.label, text: ({ label }) => label ?? '' },
  { name: words.tags, text: ({ restrictions }) => restrictions.tags?.join(', ') ?? '' },
  { name: words.uses, text: ({ operations }) => count(operations), number: ({ operations }) => operations },
]

function KeyTable({ api, ids, filter, bind }: { api: Api; ids: readonly string[]; filter: string; bind: Text }) {
  const page = async (after: string, limit: number, signal: AbortSignal) => {
    const values = new URLSearchParams(filter)
    values.set('details', 'true')
    values.set('limit', `${limit}`)
    if (after !== '') values.set('after', after)
    const { keys, next } = await api.get<T.KeyPage>(`/keys?${values}`, signal)
    return { rows: keys, next }
  }
  return (
    <Directory
      hint={words.keysSearchHint}
      bind={bind}
      ids={ids}
      page={page}
      idOf={({ id }) => id}
      name={words.keysId}
      columns={COLUMNS}
      cell={(id) => (
        <a class="id" href={to('keys', id)} title={id}>
          {id}
        </a>
      )}
      caption={words.keysCaption}
    />
  )
}
