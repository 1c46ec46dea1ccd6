/** Reading the audit log in bounded pieces: others get their turn between them. */

import { setImmediate as turn } from 'node:timers/promises'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { defined } from '../base/defined.ts'
import { CofferError } from '../base/error.ts'
import { type AuditRow, BLOCK_LINES_MAX, type Blocks } from './blocks.ts'
import { type AuditHead, type AuditLine, type AuditLineKind, KINDS } from './chain.ts'
import { firstNumberShown, headOf, type LogState } from './state.ts'

export interface AuditQuery {
  before?: number
  limit: number
  user?: string | undefined
  /** Any part of it. */
  action?: string | undefined
  key?: string | undefined
  /** Times as they are shown, both inclusive. */
  from?: string
  to?: string
}

export interface AuditPage {
  /** Newest first. */
  lines: AuditLine[]
  /** `before` of the page that follows; absent when there is none. */
  next?: number
  head: AuditHead
}

export interface View {
  blocks: Blocks
  report: (message: string) => void
  state: () => LogState
  /** Throws once the log is closed. */
  expectOpen: () => void
}

const SCANNED_LINES_MAX = 10_000 // for one answer, a tenth of a second; a filter that finds little is asked again
const SLICE_MS = 5 // then others get their turn
const CHUNK_LINES = 256 // of an export

/** May end before `limit` lines are found, with `next` to go on. Damaged rows are reported and left out. */
export async function readPage(view: View, query: AuditQuery): Promise<Omit<AuditPage, 'head'>> {
  const slice = createSlice(view)
  const before = Math.min(query.before ?? Number.MAX_SAFE_INTEGER, view.state().sequence + 1)
  const { rings } = headOf(view.state(), view.blocks)
  const readers = KINDS.map((kind) => readBack(view, kind, before, defined(rings)[kind].first))
  const lines: AuditLine[] = []
  for (let scanned = 0; ; scanned++) {
    for (const reader of readers) while (reader.isHungry()) await slice().then(reader.fill)
    const reader = readers.reduce((a, b) => ((a.newest()?.sequence ?? 0) > (b.newest()?.sequence ?? 0) ? a : b))
    const line = reader.newest()
    if (line === undefined) return { lines }
    if (lines.length === query.limit || scanned >= SCANNED_LINES_MAX) return { lines, next: line.sequence + 1 }
    reader.drop()
    if (matches(line, query)) lines.push(line)
  }
}

/** The lines of a ring below `before` and from `first` on, newest first; none when `first` is 0. */
function readBack({ blocks, report }: View, kind: AuditLineKind, before: number, first: number) {
  let lines: AuditLine[] = [] // oldest first
  let below = first === 0 ? 0 : before
  return {
    isHungry: () => lines.length === 0 && below > first,
    fill: () => {
      const row = blocks.before(kind, below - 1)
      lines = (row === null ? [] : readable(row, report)).filter(
        ({ sequence }) => sequence >= first && sequence < before,
      )
      below = row?.first ?? 0
    },
    newest: () => lines.at(-1),
    drop: () => lines.pop(),
  }
}

const matches = (line: AuditLine, { user, action, key, from, to }: AuditQuery): boolean =>
  (user === undefined || line.user === user) &&
  (action === undefined || line.action.includes(action)) &&
  (key === undefined || line.key === key) &&
  (from === undefined || line.time >= from) &&
  (to === undefined || line.time <= to)

/** Ends with `ending`. Breaks off when lines are removed before they were read: a gap would look like a forgery. */
export async function* exportLog(view: View, ending: AuditHead): AsyncGenerator<Uint8Array> {
  const { state } = view
  const readers = KINDS.map((kind) => {
    const { first } = defined(ending.rings)[kind]
    const number = firstNumberShown(state(), kind)
    return readOn(view, kind, { first: first === 0 ? Number.POSITIVE_INFINITY : first, last: ending.sequence, number })
  })
  for await (const chunk of merged(view, readers)) yield textOf(chunk.map(({ line }) => line))
  yield textOf([{ head: ending }])
}

/** A line, and its number within its ring. */
export interface NumberedLine {
  line: AuditLine
  number: number
}

/** Lines of these numbers, oldest first, without those that were removed, or are while being read. */
export function readSince(view: View, first: number, last: number): AsyncGenerator<readonly NumberedLine[]> {
  return merged(
    view,
    KINDS.map((kind) => readOn(view, kind, { first, last })),
  )
}

/** The lines of all rings in the order of their numbers. */
async function* merged(view: View, readers: ReturnType<typeof readOn>[]): AsyncGenerator<NumberedLine[]> {
  const slice = createSlice(view)
  let chunk: NumberedLine[] = []
  for (;;) {
    for (const reader of readers) while (reader.isHungry()) await slice().then(reader.fill)
    const reader = readers.reduce((a, b) => (numberOf(a.oldest()) < numberOf(b.oldest()) ? a : b))
    const oldest = reader.oldest()
    if (oldest !== undefined) {
      reader.drop()
      chunk.push(oldest)
    }
    if (chunk.length > 0 && (oldest === undefined || chunk.length === CHUNK_LINES)) {
      yield chunk
      chunk = []
    }
    if (oldest === undefined) return
  }
}

interface LineRange {
  /** Sequence numbers. */
  first: number
  last: number
  /** Within its ring, of the first line: if it or a later one is removed while being read, reading fails. */
  number?: number
}

/** The lines of a ring in this range, oldest first. */
function readOn({ blocks, report, state }: View, kind: AuditLineKind, range: LineRange) {
  const { first, last } = range
  let lines: NumberedLine[] = [] // newest first
  let from = first
  let { number } = range
  let isFirst = true
  return {
    isHungry: () => lines.length === 0 && from <= last,
    fill: () => {
      if (number !== undefined && state().rings[kind].firstNumber > number)
        throw new CofferError('storage', 'Lines were removed while being read')
      const row = (isFirst ? blocks.before(kind, from) : null) ?? blocks.after(kind, from)
      isFirst = false
      const found = row === null ? [] : readable(row, report)
      lines = found
        .map((line, i) => ({ line, number: defined(row).number + i }))
        .filter(({ line: { sequence } }) => sequence >= first && sequence <= last)
        .reverse()
      from = row === null ? Number.POSITIVE_INFINITY : row.first + 1
      if (number !== undefined && row !== null) number = row.number + Math.max(1, found.length)
    },
    oldest: () => lines.at(-1),
    drop: () => lines.pop(),
  }
}

const numberOf = (numbered: NumberedLine | undefined): number => numbered?.line.sequence ?? Number.POSITIVE_INFINITY

const textOf = (values: readonly object[]): Uint8Array =>
  utf8ToBytes(values.map((value) => `${JSON.stringify(value)}\n`).join(''))

function readable({ first, lines }: AuditRow, report: View['report']): AuditLine[] {
  if (lines === null) report(`up to ${BLOCK_LINES_MAX} lines of the audit log, from number ${first} on, are damaged`)
  return lines ?? []
}

/** To be awaited between steps; throws when the log was closed meanwhile. */
function createSlice({ expectOpen }: View): () => Promise<void> {
  let startedMs = performance.now()
  return async () => {
    if (performance.now() - startedMs >= SLICE_MS) {
      await turn()
      startedMs = performance.now()
    }
    expectOpen()
  }
}
