/**
 * The audit log: every administrative change and every use of a key as one line of a hash chain. Contract section 7.6.
 *
 * Lines are committed in groups, so that the disk does not set the pace of signing: a power cut loses lines that are at
 * most a second old. Between two groups that are synced to the disk, full ones are only written: they survive the end of
 * the process. A line that must be `onDisk` takes those before it along, and its promise waits for the disk.
 */

import type { Random } from '../crypto/random.ts'
import { deriveSealKey, wipe } from '../crypto/seal.ts'
import { CofferError } from '../error.ts'
import type { Log } from '../log.ts'
import type { StoreFile } from '../store/store-file.ts'
import { BLOCK_LINES_MAX, openBlocks } from './blocks.ts'
import { createBudget } from './budget.ts'
import { type AuditEvent, type AuditHead, hashLine, headKey, lineText, signHead } from './chain.ts'
import { type AuditPage, type AuditQuery, exportLog, readPage } from './reading.ts'
import { restoreState } from './recovery.ts'

/** How many lines can be asked to be kept, and how many are when nobody asked: some 25 MB. */
export const LINES_MIN = 1000
export const LINES_MAX = 10_000_000
export const LINES_DEFAULT = 100_000

const GROUP_MS_MIN = 400
const GROUP_MS_MAX = 1000 // what a power cut may lose
const GROUP_SHARE = 50 // a group waits this many times as long as the last one took: syncing takes 2 % of the time
const GROUP_LINES_MAX = 128 // then it is written at once: no request waits behind more than a millisecond of sealing

/** While the disk refuses lines, about 5 MB of them wait, then keys cannot be used any more. */
const WAITING_LINES_MAX = 10_000

/** Whose events may be left out: those of a client that nobody knows are counted where there are too many. */
export type Weight = 'onDisk' | 'grouped' | 'stranger'

export interface AuditLog {
  /**
   * Only of a line that must be `onDisk` there is something to wait for: its promise throws `storage` when the disk does
   * not take it; it is then still written as soon as it can be.
   */
  record(event: AuditEvent, weight: Weight): Promise<void> | undefined
  /** Throws `storage` when too many lines wait for the disk: what must not go unrecorded must not happen then. */
  expectRoom(): void
  /** Writes what waits. Throws `storage`, then it waits on. */
  flush(): void
  /** Lines, newest first, with what waits if the disk takes it. */
  page(query: AuditQuery): Promise<AuditPage>
  /** Every line as JSON, oldest first, and `{"head"}` at the end: a line of text each. */
  export(): AsyncGenerator<Uint8Array>
  head(): AuditHead
  /** How many lines are kept. */
  readonly lines: number
  /** On disk when it returns. */
  setLines(lines: number): void
  /** Writes what waits, wipes the keys. What is recorded afterwards is lost. */
  close(): void
}

export interface AuditLogOptions {
  store: StoreFile
  deviceKey: Uint8Array
  random: Random
  log: Log
  /** Time as it is shown. */
  time: () => string
  monotonicMs?: () => number
}

export function openAuditLog(options: AuditLogOptions): AuditLog {
  const { store, log, monotonicMs = () => performance.now() } = options
  const blocks = openBlocks(store, options.deviceKey, options.random)
  const seed = deriveSealKey(options.deviceKey, 'coffer audit signature')
  const budget = createBudget(monotonicMs)
  const report = (message: string): void => log.error('general', message)

  let state = restoreState(blocks, LINES_DEFAULT, report)
  let waiting: string[] = [] // lines as texts, which cost the collector least
  let witnesses: PromiseWithResolvers<void>[] = []
  let skipped = 0
  let timer: NodeJS.Timeout | undefined // until the next sync
  let urgent: NodeJS.Immediate | undefined
  let written = false // something that is not synced
  let lastMs = 0
  let failing = false
  let cutting = false // more rows are to be removed than were at once
  let exporting = 0
  let open = true

  const unschedule = (): void => {
    clearTimeout(timer)
    clearImmediate(urgent)
    timer = undefined
    urgent = undefined
  }

  const schedule = (): void => {
    timer ??= setTimeout(tryFlush, failing ? GROUP_MS_MAX : groupMs()).unref()
  }

  /** Once everything that arrived together has been recorded. */
  const scheduleNow = (): void => {
    urgent ??= setImmediate(() => {
      urgent = undefined
      tryFlush(witnesses.length > 0)
    })
  }

  const groupMs = (): number => Math.min(GROUP_MS_MAX, Math.max(GROUP_MS_MIN, lastMs * GROUP_SHARE))

  function tryFlush(synced = true): void {
    try {
      write(synced)
    } catch {
      if (open) schedule() // reported already
    }
  }

  function write(synced: boolean): void {
    if (synced) unschedule()
    const started = monotonicMs()
    if (waiting.length === 0 && !cutting && !(synced && written)) return
    try {
      const next = { ...state }
      store.record(() => {
        appendAll(next)
        cut(next)
        blocks.putState(next)
      }, synced)
      state = next
    } catch (error) {
      settle((witness) => witness.reject(error))
      if (!failing) report('the audit log cannot be written')
      failing = true
      throw error
    }
    waiting = []
    failing = false
    written = !synced
    if (synced) lastMs = monotonicMs() - started
    settle((witness) => witness.resolve())
    if (cutting || written) schedule()
  }

  function appendAll(next: typeof state): void {
    for (let at = 0; at < waiting.length; at += BLOCK_LINES_MAX) {
      const previous = next.hash
      const texts = waiting.slice(at, at + BLOCK_LINES_MAX)
      next.hash = texts.reduce(hashLine, previous)
      blocks.append({ first: next.sequence + 1, previous, texts })
      next.sequence += texts.length
    }
  }

  /** An export finds the lines it began with, unless it is slower than all of them are replaced. */
  function cut(next: typeof state): void {
    const kept = exporting > 0 ? 2 * next.lines : next.lines
    const { first, isDone } = blocks.cut(next.sequence - kept + 1)
    next.first = first ?? next.first
    cutting = !isDone
  }

  function settle(how: (witness: PromiseWithResolvers<void>) => void): void {
    const settled = witnesses
    witnesses = []
    for (const witness of settled) how(witness)
  }

  /** Rows are removed whole: what is kept beyond the limit is not shown. */
  const firstShown = (): number => Math.max(state.first, state.sequence - state.lines + 1)

  const head = (): AuditHead => {
    const { sequence, hash } = state
    const signer = headKey(seed) // made when it is needed: that takes a twentieth of a start
    try {
      return signHead({ first: firstShown(), sequence, hash, time: options.time() }, signer)
    } finally {
      wipe(signer.secretKey)
    }
  }

  const expectRoom = (): void => {
    if (waiting.length >= WAITING_LINES_MAX) throw new CofferError('storage', 'The audit log cannot be written')
  }

  const expectOpen = (): void => {
    if (!open) throw new CofferError('unavailable', 'Service not available')
  }

  const view = { blocks, report, firstShown, state: () => state, expectOpen }

  async function* exported(ending: AuditHead): AsyncGenerator<Uint8Array> {
    exporting++
    try {
      yield* exportLog(view, ending)
    } finally {
      exporting--
    }
  }

  return {
    record(event, weight) {
      if (!open) return undefined
      const isFull = waiting.length >= WAITING_LINES_MAX
      // Of what began while there was room, what was done is kept, what was refused is not.
      if (weight === 'stranger' ? isFull || !budget.take() : isFull && event.result >= 400) {
        skipped++
        return undefined
      }
      const sequence = state.sequence + waiting.length + 1
      waiting.push(lineText(sequence, skipped === 0 ? event : { ...event, skipped }))
      skipped = 0
      if (weight !== 'onDisk') {
        schedule()
        if (waiting.length >= GROUP_LINES_MAX && !failing) scheduleNow()
        return undefined
      }
      const witness = Promise.withResolvers<void>()
      witnesses.push(witness)
      scheduleNow()
      return witness.promise
    },
    expectRoom,
    flush: () => write(true),
    async page(query) {
      expectOpen()
      tryFlush()
      return { ...(await readPage(view, query)), head: head() }
    },
    export() {
      expectOpen()
      tryFlush()
      return exported(head())
    },
    head,
    get lines() {
      return state.lines
    },
    setLines(lines) {
      expectOpen()
      const next = { ...state, lines }
      store.transaction(() => {
        cut(next)
        blocks.putState(next)
      })
      state = next
      if (cutting) schedule()
    },
    close() {
      if (!open) return
      try {
        write(true)
      } catch {
        // Reported already; there is nothing left to try.
      }
      unschedule()
      open = false
      blocks.close()
      wipe(seed)
    },
  }
}
