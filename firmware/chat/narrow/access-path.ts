/** Access paths: the smallest index that contains all messages of a narrow. It may contain others; conditions check each message. */

import { defined } from '../../base/defined.ts'
import type { ChatStore } from '../store/store.ts'
import { firstRow, ID_OF_ROW, PLACE_OF_ROW, placeDigits } from '../store/words.ts'

/** Messages of one index, in the order of their ids. */
export type Stream =
  | { readonly by: 'all' }
  /** Messages that are no longer where they were sent. */
  | { readonly by: 'moved' }
  | { readonly by: 'with' }
  /** Messages in the user's history although the user did not receive them. */
  | { readonly by: 'history'; readonly user: number }
  | { readonly by: 'recipient' | 'topic' | 'sender'; readonly id: number }
  | { readonly by: 'mention'; readonly user: number; readonly bits: number }
  /**
   * Full-text search: `match` is the result of `matchOf` in store/words.ts. `births` limits it to recipients at sending; some others pass
   * as well.
   */
  | { readonly by: 'words'; readonly match: string; readonly births: readonly number[] | null }

export type AccessPath = { readonly streams: readonly Stream[] } | { readonly ids: readonly number[] }

/** The columns that conditions check. `html` is present only if requested. */
export interface Candidate {
  readonly id: number
  readonly sender: number
  readonly recipient: number
  /** 0 in a conversation. */
  readonly topic: number
  readonly birth: number
  readonly ordinal: number
  readonly arrival: number
  readonly bits: number
  readonly time: number
  readonly html?: string
}

export type Direction = 'older' | 'newer'

/** Above this number all messages are scanned: a query of many parts costs more than it saves. */
export const STREAMS_MAX = 50

const COLUMNS = 'messages.id, sender, recipient, topic, birth, ordinal, arrival, messages.bits, time'

/**
 * Range of ids per query of the full-text index. Without it, frequent words that never occur together would make FTS5 read the whole index.
 */
export const WINDOW = { least: 50_000, first: 100_000, max: 2_000_000 } as const

/** The last id that `readAccessPath` looks at beyond `bound`, which is at most the id of the newest message. */
export function farthest(lead: AccessPath, direction: Direction, bound: number, window: number): number {
  const hasWords = 'streams' in lead && lead.streams.some(({ by }) => by === 'words')
  if (direction === 'older') return hasWords ? Math.max(0, bound - window) : 0
  return hasWords ? bound + window : Number.MAX_SAFE_INTEGER
}

/** Returns at most `count` messages of the access path beyond `bound` and up to `far`, nearest first. */
export function readAccessPath(
  store: ChatStore,
  lead: AccessPath,
  direction: Direction,
  { bound, far }: { bound: number; far: number },
  count: number,
  withHtml: boolean,
): Candidate[] {
  const columns = withHtml ? `${COLUMNS}, html` : COLUMNS
  if ('ids' in lead) {
    const ids = beyond(lead.ids, direction, bound, count)
    const sql = `SELECT ${columns} FROM messages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id ${ORDER[direction]}`
    return ids.length === 0 ? [] : store.select(sql, [JSON.stringify(ids)])
  }
  const [only] = lead.streams
  if (only === undefined) return []
  if (lead.streams.length === 1 && only.by !== 'words') {
    const { sql, parameters } = streamQuery(only, direction, columns)
    return store.select(sql, [...parameters, bound, far, count])
  }
  const boundsOf = ({ by }: Stream): readonly number[] => {
    if (by !== 'words') return [bound, far]
    return direction === 'older' ? [firstRow(bound), firstRow(far)] : [firstRow(bound + 1), firstRow(far + 1)]
  }
  // A message in several streams counts once. For most messages only the id is read.
  const parts = lead.streams.map((stream) => streamQuery(stream, direction, 'messages.id'))
  const union = parts.map(({ sql }) => `SELECT * FROM (${sql})`).join(' UNION ')
  const parameters = parts.flatMap(({ parameters }, n) => [...parameters, ...boundsOf(defined(lead.streams[n])), count])
  const ids = `SELECT id FROM (${union} ORDER BY id ${ORDER[direction]} LIMIT ?)`
  const sql = `SELECT ${columns} FROM messages WHERE id IN (${ids}) ORDER BY id ${ORDER[direction]}`
  return store.select(sql, [...parameters, count])
}

/** Scanning this many messages is faster than a query of the full-text index. */
const SMALL = 200

export const isSmall = (store: ChatStore, lead: AccessPath): boolean =>
  readAccessPath(store, lead, 'newer', { bound: 0, far: Number.MAX_SAFE_INTEGER }, SMALL + 1, false).length <= SMALL

const ORDER = { older: 'DESC', newer: 'ASC' } as const
const BEYOND = { older: '<', newer: '>' } as const
const UP_TO = { older: '>=', newer: '<=' } as const

function streamQuery(
  stream: Stream,
  direction: Direction,
  columns: string,
): { sql: string; parameters: readonly (number | string)[] } {
  const rest = (id: string) =>
    `${id} ${BEYOND[direction]} ? AND ${id} ${UP_TO[direction]} ? ORDER BY ${id} ${ORDER[direction]} LIMIT ?`
  switch (stream.by) {
    case 'all':
      return { sql: `SELECT ${columns} FROM messages WHERE ${rest('id')}`, parameters: [] }
    case 'moved':
      return { sql: `SELECT ${columns} FROM messages WHERE birth <> recipient AND ${rest('id')}`, parameters: [] }
    case 'with': // the same condition as that of the index
      return { sql: `SELECT ${columns} FROM messages WHERE bits & 15 <> 0 AND ${rest('id')}`, parameters: [] }
    case 'history':
      return {
        sql: `SELECT ${columns} FROM history CROSS JOIN messages ON messages.id = history.message
          WHERE history.user = ? AND ${rest('history.message')}`,
        parameters: [stream.user],
      }
    case 'topic': // repeats the condition of the index, which excludes conversations
      return {
        sql: `SELECT ${columns} FROM messages WHERE topic = ? AND topic > 0 AND ${rest('id')}`,
        parameters: [stream.id],
      }
    case 'recipient':
    case 'sender':
      return {
        sql: `SELECT ${columns} FROM messages WHERE ${stream.by} = ? AND ${rest('id')}`,
        parameters: [stream.id],
      }
    case 'mention':
      return {
        sql: `SELECT ${columns} FROM mentions CROSS JOIN messages ON messages.id = mentions.message
          WHERE mentions.user = ? AND mentions.bits & ? AND ${rest('mentions.message')}`,
        parameters: [stream.user, stream.bits],
      }
    case 'words': {
      // Cast to integers, because FTS5 visits every row when it compares with any other number.
      const rows = {
        older: 'words.rowid < CAST(? AS INTEGER) AND words.rowid >= CAST(? AS INTEGER)',
        newer: 'words.rowid >= CAST(? AS INTEGER) AND words.rowid < CAST(? AS INTEGER)',
      }
      const places = stream.births === null ? '' : `AND ${PLACE_OF_ROW} IN (SELECT value FROM json_each(?))`
      return {
        sql: `SELECT ${ID_OF_ROW} AS id FROM words WHERE words MATCH ? ${places} AND ${rows[direction]}
          ORDER BY words.rowid ${ORDER[direction]} LIMIT ?`,
        parameters: [stream.match, ...(stream.births === null ? [] : [JSON.stringify(stream.births.map(placeDigits))])],
      }
    }
  }
}

function beyond(ids: readonly number[], direction: Direction, bound: number, count: number): number[] {
  const selected = ids.filter((id) => (direction === 'older' ? id < bound : id > bound))
  return direction === 'older' ? selected.slice(-count).reverse() : selected.slice(0, count)
}

/** Ordinals of the recipient `birth`, inclusive. */
export interface OrdinalRange {
  readonly birth: number
  readonly from: number
  readonly to: number
}

export function idsOfRanges(store: ChatStore, ranges: readonly OrdinalRange[]): number[] {
  const rows = store.select<{ id: number }>(
    `SELECT messages.id FROM json_each(?) AS range CROSS JOIN messages
     ON birth = range.value ->> 0 AND ordinal BETWEEN range.value ->> 1 AND range.value ->> 2`,
    [JSON.stringify(ranges.map(({ birth, from, to }) => [birth, from, to]))],
  )
  return rows.map(({ id }) => id)
}
