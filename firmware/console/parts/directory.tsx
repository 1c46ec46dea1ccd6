/**
 * A list that can be searched, and sorted by any column. All ids (up to 100,000) are loaded at once, details only for visible
 * rows. A search, or an order other than by id, loads all details.
 */

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useMemo, useRef } from 'preact/hooks'
import { defined } from '../../base/defined.ts'
import { Action, Field, type Text } from '../../web/controls.tsx'
import * as words from '../words.ts'
import { Problem } from './loading.tsx'
import { VirtualTable } from './virtual-table.tsx'

const PAGE_MAX = 1000 // limit of one request: contract sections 3.2 and 3.3

export interface Column<R> {
  readonly name: string
  /** Text that is shown and searched. Also the sort key, unless `number` exists. */
  readonly text: (row: R) => string
  readonly number?: (row: R) => number
}

interface Page<R> {
  readonly rows: readonly R[]
  readonly next?: string | undefined
}

interface Details<R> {
  readonly row: R
  /** All columns in lower case, for the search. */
  readonly text: string
}

interface Order {
  /** Index of the column; -1 for the id. */
  readonly column: number
  readonly isDescending: boolean
}

export function Directory<R>(props: {
  hint: string
  bind: Text
  /** In ascending order. Must not change while the list is shown. */
  ids: readonly string[]
  page: (after: string, limit: number, signal: AbortSignal) => Promise<Page<R>>
  idOf: (row: R) => string
  name: string
  columns: readonly Column<R>[]
  cell: (id: string) => ComponentChildren
  caption: (count: number) => string
}) {
  const { hint, bind, ids, page, idOf, name, columns, cell, caption } = props
  const details = useSignal<ReadonlyMap<string, Details<R>>>(new Map())
  const order = useSignal<Order>({ column: -1, isDescending: false })
  const error = useSignal<unknown>(null)
  const round = useSignal(0)
  const reached = useRef('') // last id such that its details and those of all ids before it have been read
  const isComplete = useSignal(ids.length === 0)
  const needle = bind.value.trim().toLowerCase()
  const { column, isDescending } = order.value
  const needsAll = ids.length <= PAGE_MAX || needle !== '' || column >= 0 || isDescending

  const read = async (after: string, limit: number, signal: AbortSignal) => {
    const { rows, next } = await page(after, limit, signal)
    const added = rows.map((row) => {
      const text = columns.map((each) => each.text(row).toLowerCase()).join('\n')
      return [idOf(row), { row, text }] as const
    })
    signal.throwIfAborted()
    details.value = new Map([...details.value, ...added])
    return next
  }
  const attempt = (work: (signal: AbortSignal) => Promise<void>) => {
    const controller = new AbortController()
    error.value = null
    work(controller.signal).catch((problem: unknown) => {
      if (!controller.signal.aborted) error.value = problem
    })
    return () => controller.abort()
  }
  useEffect(() => {
    if (!needsAll || isComplete.value) return
    return attempt(async (signal) => {
      for (let next: string | undefined = reached.current; next !== undefined; ) {
        reached.current = next
        next = await read(next, PAGE_MAX, signal)
      }
      isComplete.value = true
    })
  }, [needsAll, round.value])

  const sight = useSignal<readonly [from: number, to: number]>([0, 0])
  const see = useCallback(
    (from: number, to: number) => {
      sight.value = [from, to]
    },
    [sight],
  )
  useEffect(() => {
    if (needsAll) return
    const [from, to] = sight.value
    const isMissing = (id: string) => !details.value.has(id)
    const missing = ids.slice(from, to)
    const first = missing.findIndex(isMissing)
    if (first < 0) return
    const limit = missing.findLastIndex(isMissing) + 1 - first
    return attempt(async (signal) => void (await read(ids[from + first - 1] ?? '', limit, signal)))
  }, [needsAll, sight.value, round.value])

  const shown = useMemo(() => {
    const found = needle === '' ? ids : ids.filter((id) => matches(id, details.value.get(id), needle))
    const by = columns[column]
    if (by !== undefined && isComplete.value) return sorted(found, details.value, by, isDescending)
    return isDescending ? found.toReversed() : found
  }, [ids, details.value, needle, order.value, isComplete.value])

  const heading = (text: string, index: number) => (
    <th
      scope="col"
      key={index}
      class={index < 0 ? 'first' : undefined}
      aria-sort={index !== column ? undefined : isDescending ? 'descending' : 'ascending'}
    >
      <button
        type="button"
        class="sort"
        onClick={() => {
          order.value = { column: index, isDescending: index === column && !isDescending }
        }}
      >
        {text}
      </button>
    </th>
  )
  const isReading = needsAll && !isComplete.value && error.value === null
  return (
    <>
      <Field label={words.directorySearch} hint={hint} type="search" bind={bind} />
      <Problem
        error={error.value}
        also={
          <Action
            onClick={() => {
              round.value++
            }}
          >
            {words.again}
          </Action>
        }
      />
      <p class="hint" role="status">
        {isReading && words.directoryReading(details.value.size, ids.length)}
        {!isReading && shown.length === 0 && words.directoryNone}
      </p>
      {shown.length > 0 && (
        <VirtualTable
          caption={caption(shown.length)}
          length={shown.length}
          inSight={see}
          head={
            <tr>
              {heading(name, -1)}
              {columns.map((each, index) => heading(each.name, index))}
            </tr>
          }
          row={(index) => {
            const id = defined(shown[index])
            const found = details.value.get(id)
            return (
              <>
                <th scope="row">{cell(id)}</th>
                {columns.map((each) => (
                  <td key={each.name} data-name={each.number && each.name} title={found && each.text(found.row)}>
                    {found ? each.text(found.row) : '…'}
                  </td>
                ))}
              </>
            )
          }}
        />
      )}
    </>
  )
}

const matches = (id: string, details: { text: string } | undefined, needle: string): boolean =>
  id.toLowerCase().includes(needle) || details?.text.includes(needle) === true

const compareTexts = new Intl.Collator('en', { numeric: true }).compare

/** Rows without a value come last, also in descending order; equal ones keep the order of their ids. */
function sorted<R>(
  ids: readonly string[],
  details: ReadonlyMap<string, Details<R>>,
  { text, number }: Column<R>,
  isDescending: boolean,
): string[] {
  const keyed = ids.map((id) => {
    const row = details.get(id)?.row // no row if it has been deleted since
    return { id, text: row === undefined ? '' : text(row), number: row === undefined ? 0 : (number?.(row) ?? 0) }
  })
  const sign = isDescending ? -1 : 1
  keyed.sort((a, b) => {
    if (number) return sign * (a.number - b.number)
    if (a.text === '' || b.text === '') return Number(a.text === '') - Number(b.text === '')
    return sign * compareTexts(a.text, b.text)
  })
  return keyed.map(({ id }) => id)
}
