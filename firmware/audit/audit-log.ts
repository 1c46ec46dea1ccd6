/**
 * The audit log: every administrative change, every refused request and every use of a key as one line of a hash chain.
 * Contract section 7.6. Each of these kinds is kept in a ring of its own, so that none pushes out another: state.ts.
 *
 * Lines are committed in groups, so that the disk does not set the pace of signing: a power cut loses lines that are at
 * most a second old. Between two groups that are synced to the disk, full ones are only written: they survive the end of
 * the process. A change takes the lines before it along, and its promise waits for the disk.
 */

import { CofferError } from '../base/error.ts'
import type { Log } from '../base/log.ts'
import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { deriveSealKey } from '../crypto/seal.ts'
import type { StoreFile } from '../store/store.ts'
import { openBlocks } from './blocks.ts'
import { createBudgets } from './budget.ts'
import { type AuditEvent, type AuditHead, headKey, KINDS, type Kind, lineText, signHead } from './chain.ts'
import { type AuditPage, type AuditQuery, exportLog, readPage } from './reading.ts'
import { restoreState } from './recovery.ts'
import { append, copyState, headOf, type LogState, type Waiting } from './state.ts'

/** How many lines of a kind can be asked to be kept, and how many are when nobody asked: some 25 MB. */
export const LINES_MIN = 1000
export const LINES_MAX = 10_000_000
export const LINES_DEFAULT = 100_000

const GROUP_MS_MIN = 400
const GROUP_MS_MAX = 1000 // what a power cut may lose
const GROUP_SHARE = 50 // a group waits this many times as long as the last one took: syncing takes 2 % of the time
const GROUP_LINES_MAX = 128 // then it is written at once: no request waits behind more than a millisecond of sealing

/** While the disk refuses lines, about 5 MB of them wait, then keys cannot be used any more. */
const WAITING_LINES_MAX = 10_000

export interface AuditSettings {
  /** How many lines of each kind are kept. */
  lines: Readonly<Record<Kind, number>>
  /** Whether uses of keys are refused rather than overwrite lines that were not exported. */
  refuseUses: boolean
}

export interface AuditLog {
  /**
   * Only of a change there is something to wait for: the promise throws `storage` when the disk does not take it; it is
   * then still written as soon as it can be. Refusals of one user beyond a budget are counted only; null is nobody.
   */
  record(event: AuditEvent, kind: Kind, user?: string | null): Promise<void> | undefined
  /**
   * Throws when a use of a key could not be recorded, so that it must not happen: `storage` when too many lines wait for
   * the disk, `busy` when it would overwrite one that must be exported first.
   */
  expectRoom(): void
  /** Writes what waits. Throws `storage`, then it waits on. */
  flush(): void
  /** Lines, newest first, with what waits if the disk takes it. */
  page(query: AuditQuery): Promise<AuditPage>
  /** Every line as JSON, oldest first, and `{"head"}` at the end: a line of text each. Read to its end, it counts. */
  export(): AsyncGenerator<Uint8Array>
  head(): AuditHead
  readonly settings: AuditSettings
  /** On disk when it returns. */
  configure(settings: AuditSettings): void
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
  const budgets = createBudgets(monotonicMs)
  const report = (message: string): void => log.error('general', message)

  let state = restoreState(blocks, LINES_DEFAULT, report)
  let waiting: Waiting[] = []
  let waitingUses = 0
  let witnesses: PromiseWithResolvers<void>[] = []
  let skipped = 0
  let timer: NodeJS.Timeout | undefined // until the next sync
  let urgent: NodeJS.Immediate | undefined
  let written = false // something that is not synced
  let touched = false // the state, by an export
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
    if (waiting.length === 0 && !cutting && !touched && !(synced && written)) return
    try {
      const next = copyState(state)
      store.record(() => {
        append(next, waiting, blocks)
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
    waitingUses = 0
    touched = false
    failing = false
    written = !synced
    if (synced) lastMs = monotonicMs() - started
    settle((witness) => witness.resolve())
    if (cutting || written) schedule()
  }

  /** An export finds the lines it began with, unless it is slower than all of them are replaced. */
  function cut(next: LogState): void {
    cutting = false
    for (const kind of KINDS) {
      const ring = next.rings[kind]
      const beyond = ring.count - (exporting > 0 ? 2 * ring.lines : ring.lines)
      const cuttable = kind === 'use' && next.refuseUses ? Math.min(beyond, next.exportedUses) : beyond
      if (cuttable < ring.firstNumber) continue
      const { oldest, isDone } = blocks.cut(kind, cuttable + 1)
      if (oldest !== null) Object.assign(ring, { first: oldest.first, firstNumber: oldest.number })
      cutting ||= !isDone
    }
  }

  function settle(how: (witness: PromiseWithResolvers<void>) => void): void {
    const settled = witnesses
    witnesses = []
    for (const witness of settled) how(witness)
  }

  const head = (): AuditHead => {
    const signer = headKey(seed) // made when it is needed: that takes a twentieth of a start
    try {
      return signHead({ ...headOf(state, blocks), time: options.time() }, signer)
    } finally {
      wipe(signer.secretKey)
    }
  }

  const expectRoom = (): void => {
    if (waiting.length >= WAITING_LINES_MAX) throw new CofferError('storage', 'The audit log cannot be written')
    const { refuseUses, exportedUses, rings } = state
    if (refuseUses && rings.use.count + waitingUses - exportedUses >= rings.use.lines)
      throw new CofferError('busy', 'The audit log is full of uses of keys that have not been exported')
  }

  const expectOpen = (): void => {
    if (!open) throw new CofferError('unavailable', 'Service not available')
  }

  const view = { blocks, report, state: () => state, expectOpen }

  async function* exported(ending: AuditHead, uses: number): AsyncGenerator<Uint8Array> {
    exporting++
    try {
      yield* exportLog(view, ending)
      state = { ...state, exportedUses: Math.max(state.exportedUses, uses) }
      touched = true
      schedule()
    } finally {
      exporting--
    }
  }

  return {
    record(event, kind, user = null) {
      if (!open) return undefined
      const isFull = waiting.length >= WAITING_LINES_MAX
      // Of what began while there was room, what was done is kept, what was refused is not.
      if (kind === 'refusal' ? isFull || !budgets.take(user) : isFull && event.result >= 400) {
        skipped++
        return undefined
      }
      const sequence = state.sequence + waiting.length + 1
      waiting.push({ kind, text: lineText(sequence, kind, skipped === 0 ? event : { ...event, skipped }) })
      if (kind === 'use') waitingUses++
      skipped = 0
      if (kind !== 'change') {
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
      return exported(head(), state.rings.use.count)
    },
    head,
    get settings() {
      const { change, refusal, use } = state.rings
      return {
        lines: { change: change.lines, refusal: refusal.lines, use: use.lines },
        refuseUses: state.refuseUses,
      }
    },
    configure({ lines, refuseUses }) {
      expectOpen()
      const next = copyState({ ...state, refuseUses })
      for (const kind of KINDS) next.rings[kind].lines = lines[kind]
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
