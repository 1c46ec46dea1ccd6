/** The keys of a namespace. All ids are fetched at once, 100,000 of them too; details only of the rows in sight. */

import { useComputed, useSignal } from '@preact/signals'
import { useCallback, useMemo, useRef } from 'preact/hooks'
import type * as T from '../../client/types.ts'
import { Action, Field } from '../../web/controls.tsx'
import type { Api } from '../api.ts'
import { count } from '../format.ts'
import { Card, Row, type ViewProps } from '../parts/frame.tsx'
import { useLoad, Waiting } from '../parts/loading.tsx'
import { VirtualTable } from '../parts/virtual-table.tsx'
import { keepQuery, route, to } from '../routes.ts'
import * as words from '../words.ts'
import { shortType } from './key-details.ts'
import { ImportKey, NewKey } from './new-key.tsx'

const DETAILS_MAX = 200 // of one request: more than any screen has rows

export function KeysPage({ account, api }: ViewProps) {
  const isOperator = account.role === 'Operator'
  const part = useSignal(route.value.query.get('contains') ?? '')
  const label = useSignal(route.value.query.get('label') ?? '')
  const labelDraft = useSignal(label.value)
  const mine = useSignal(isOperator)
  const dialog = useSignal(route.value.query.get('new') && !isOperator ? 'new' : '')
  const filter = useComputed(() => {
    const values = new URLSearchParams({ types: 'all' })
    if (label.value !== '') values.set('label', label.value)
    if (mine.value) values.set('filter', '')
    return values
  })
  const list = useLoad(
    async (signal) => (await api.get<T.Created[]>(`/keys?${filter.value}`, signal)).map(({ id }) => id),
    [`${filter.value}`],
  )
  const ids = useComputed(() => {
    const all = list.value.value ?? []
    return part.value === '' ? all : all.filter((id) => id.includes(part.value))
  })
  const keep = () => keepQuery({ contains: part.value, label: label.value })
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
        <div class="row end">
          <Field
            label={words.keysSearch}
            bind={part}
            class="id"
            type="search"
            also={() => {
              keep()
            }}
          />
          <form
            class="line"
            onSubmit={(event) => {
              event.preventDefault()
              label.value = labelDraft.value
              keep()
            }}
          >
            <Field label={words.keysLabel} bind={labelDraft} type="search" />
            <Action submit>{words.show}</Action>
          </form>
        </div>
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
        {list.value.value !== null &&
          (ids.value.length > 0 ? (
            <KeyTable api={api} ids={ids.value} all={list.value.value} filter={`${filter.value}`} />
          ) : (
            <p>{list.value.value.length === 0 && label.value === '' ? words.keysNone : words.keysNoMatch}</p>
          ))}
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

/** `all` and `ids` are ascending; `ids` are those of `all` that match. */
function KeyTable(props: { api: Api; ids: readonly string[]; all: readonly string[]; filter: string }) {
  const { api, ids, all, filter } = props
  const details = useSignal<ReadonlyMap<string, T.Key>>(new Map())
  const asking = useRef(false)
  const wanted = useRef<[from: number, to: number] | null>(null)
  const indexes = useMemo(() => new Map(all.map((id, index) => [id, index])), [all])

  /** One request at a time, and then for what is in sight by then. */
  const inSight = useCallback(
    async (from: number, to: number) => {
      wanted.current = [from, to]
      if (asking.current) return
      asking.current = true
      try {
        while (wanted.current !== null) {
          const [first, last]: readonly [number, number] = wanted.current
          const missing = ids.slice(first, last).filter((id) => !details.value.has(id))
          if (missing.length === 0) break
          const start = indexes.get(missing[0]!)!
          const within = missing.filter((id) => indexes.get(id)! < start + DETAILS_MAX)
          const values = new URLSearchParams(filter)
          values.set('details', 'true')
          values.set('limit', `${indexes.get(within.at(-1)!)! + 1 - start}`)
          if (start > 0) values.set('after', all[start - 1]!)
          const { keys } = await api.get<T.KeyPage>(`/keys?${values}`)
          details.value = new Map([...details.value, ...keys.map((key) => [key.id, key] as const)])
          if (!details.value.has(missing[0]!)) break // deleted meanwhile
        }
      } catch {
        // The ids are shown all the same; the next rows try again.
      } finally {
        asking.current = false
      }
    },
    [api, ids, all, filter, indexes, details],
  )
  return (
    <VirtualTable
      caption={words.keysCaption(ids.length)}
      length={ids.length}
      inSight={inSight}
      head={
        <tr>
          <th scope="col" class="first">
            {words.keysId}
          </th>
          <th scope="col">{words.type}</th>
          <th scope="col" class="wide">
            {words.label}
          </th>
          <th scope="col" class="wide">
            {words.tags}
          </th>
          <th scope="col" class="wide">
            {words.uses}
          </th>
        </tr>
      }
      row={(index) => {
        const id = ids[index]!
        const key = details.value.get(id)
        return (
          <>
            <th scope="row">
              <a class="id" href={to('keys', id)} title={id}>
                {id}
              </a>
            </th>
            <td>{key ? shortType(key) : '…'}</td>
            <td class="wide">{key?.label ?? ''}</td>
            <td class="wide">{key?.restrictions.tags?.join(', ') ?? ''}</td>
            <td class="wide">{key ? count(key.operations) : ''}</td>
          </>
        )
      }}
    />
  )
}
