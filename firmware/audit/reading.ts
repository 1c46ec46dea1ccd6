/** Reading the audit log in bounded pieces: others get their turn between them. */

import { setImmediate as turn } from 'node:timers/promises'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { CofferError } from '../error.ts'
import { BLOCK_LINES_MAX, type Block, type Blocks, type Damaged } from './blocks.ts'
import { type AuditHead, type AuditLine, showLine } from './chain.ts'

export interface AuditQuery {
  /** Only lines before this one. */
  before?: number
  /** At most this many. */
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
  /** The oldest line that is shown. */
  firstShown: () => number
  /** Numbers of the newest and of the oldest line that is there. */
  state: () => { sequence: number; first: number }
  /** Throws once the log is closed. */
  expectOpen: () => void
}

const SCANNED_LINES_MAX = 10_000 // for one answer, a tenth of a second; a filter that finds little is asked again
const SLICE_MS = 5 // then others get their turn

/** May end before `limit` lines are found, with `next` to go on. Damaged rows are reported and left out. */
export async function readPage(view: View, query: AuditQuery): Promise<Omit<AuditPage, 'head'>> {
  const slice = createSlice(view)
  const lines: AuditLine[] = []
  const oldest = view.firstShown()
  let at = Math.min(query.before ?? Number.MAX_SAFE_INTEGER, view.state().sequence + 1)
  let scanned = 0
  while (at > oldest && lines.length < query.limit && scanned < SCANNED_LINES_MAX) {
    await slice()
    const block = view.blocks.before(at - 1)
    if (block === null) return { lines }
    const found = linesOf(block, view.report)
    scanned += Math.max(1, found.length)
    for (const line of found.reverse()) {
      if (line.sequence >= at || line.sequence < oldest || lines.length === query.limit) continue
      at = line.sequence
      if (matches(line, query)) lines.push(line)
    }
    if (lines.length < query.limit) at = Math.min(at, block.first)
  }
  return at > oldest ? { lines, next: at } : { lines }
}

const matches = (line: AuditLine, { user, action, key, from, to }: AuditQuery): boolean =>
  (user === undefined || line.user === user) &&
  (action === undefined || line.action.includes(action)) &&
  (key === undefined || line.key === key) &&
  (from === undefined || line.time >= from) &&
  (to === undefined || line.time <= to)

/** Ends with `ending`. Breaks off when lines are removed before they were read: a gap would look like a forgery. */
export async function* exportLog(view: View, ending: AuditHead): AsyncGenerator<Uint8Array> {
  const slice = createSlice(view)
  let at = ending.first
  let block = view.blocks.before(at) ?? view.blocks.after(at)
  while (block !== null && block.first <= ending.sequence) {
    const shown = linesOf(block, view.report).filter(({ sequence }) => sequence >= at && sequence <= ending.sequence)
    if (shown.length > 0) yield textOf(shown)
    at = (shown.at(-1)?.sequence ?? Math.max(at, block.first)) + 1
    await slice()
    if (at > ending.sequence) break
    if (view.state().first > at) throw new CofferError('storage', 'Lines were removed while they were read')
    block = view.blocks.after(at)
  }
  yield textOf([{ head: ending }])
}

const textOf = (values: readonly object[]): Uint8Array =>
  utf8ToBytes(values.map((value) => `${JSON.stringify(value)}\n`).join(''))

function linesOf(block: Block | Damaged, report: View['report']): AuditLine[] {
  if (block.texts === undefined) {
    report(`up to ${BLOCK_LINES_MAX} lines of the audit log, from number ${block.first} on, are damaged`)
    return []
  }
  let hash = block.previous
  return block.texts.map((text) => {
    const line = showLine(text, hash)
    hash = line.hash
    return line
  })
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
