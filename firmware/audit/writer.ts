/**
 * Writes lines of the audit log to its blocks, and removes those that are too many. Lines go in groups, so that the disk
 * does not set the pace of signing: between two groups that are synced to the disk, full ones are only written.
 */

import { CofferError } from '../base/error.ts'
import type { StoreFile } from '../store/store.ts'
import type { Blocks } from './blocks.ts'
import { type AuditLineKind, KINDS } from './chain.ts'
import { createFlushTimer } from './flush-timer.ts'
import { createPending } from './pending.ts'
import { append, copyState, firstNumberShown, type LogState, newestBeyond } from './state.ts'

const GROUP_LINES_MAX = 128 // then it is written at once: no request waits behind more than a millisecond of sealing

export interface AuditSettings {
  /** How many lines of each kind are kept. */
  lines: Readonly<Record<AuditLineKind, number>>
  /** Whether uses of keys are refused rather than overwrite lines that were not exported. */
  refuseUses: boolean
}

interface WriterOptions {
  store: StoreFile
  blocks: Blocks
  state: LogState
  report: (message: string) => void
  monotonicMs: () => number
}

export interface Writer {
  /** The state that is on disk, but for a power cut of the next moment. */
  readonly state: LogState
  /** The state that a power cut leaves; null while the disk refuses to tell. */
  readonly synced: LogState | null
  readonly isFull: boolean
  /** Share of the kept uses that no complete export has had, if they must not be overwritten; else 0. From 1 on uses are refused. */
  readonly unexportedShare: number
  /** `textOf` makes the line's text from its number. A change has a promise of being on the disk. */
  add(kind: AuditLineKind, textOf: (sequence: number) => string): Promise<void> | undefined
  /** Throws when no use of a key could be recorded: see `AuditLog`. */
  expectRoom(): void
  /** Writes what waits. Throws `storage`, then it waits on. */
  write(synced: boolean): void
  /** The same, but for what it throws: it is tried again later. */
  tryWrite(): void
  /** Lines that an export begins with stay until the function is called that this returns, or twice as many came. */
  beginExport(): () => void
  /** Number within its ring of the newest use that an export had, which is complete. */
  noteExported(uses: number): void
  /** See `AuditForwarding`. */
  confirm(sequence: number, uses: ExportedUses | null): void
  /** On disk when it returns. */
  configure(settings: AuditSettings): void
  /** Writes what waits and stops. */
  close(): void
}

/** Numbers within their ring. */
export interface ExportedUses {
  first: number
  last: number
}

export function createWriter({ store, blocks, report, monotonicMs, ...options }: WriterOptions): Writer {
  const pending = createPending()
  const timer = createFlushTimer(
    () => attempt(true),
    () => attempt(pending.isAwaited),
  )
  let { state } = options
  let syncedState: LogState | null = null // a process that was killed may have left lines that were only written
  let unsynced = false // something was written that is not synced
  let touched = false // the state, by an export or a log server
  let failing = false
  let cutting = false // more rows are to be removed than were at once
  let exporting = 0
  let open = true

  function attempt(synced: boolean): void {
    try {
      write(synced)
    } catch {
      if (open) timer.later(failing) // reported already
    }
  }

  function write(synced: boolean): void {
    if (synced) timer.clear()
    const started = monotonicMs()
    if (pending.lines.length === 0 && !cutting && !touched && !(synced && unsynced)) return
    try {
      const next = copyState(state)
      store.record(() => {
        append(next, pending.lines, blocks)
        cut(next)
        blocks.putState(next)
      }, synced)
      state = next
    } catch (error) {
      pending.failed(error)
      if (!failing) report('cannot write the audit log')
      failing = true
      throw error
    }
    touched = false
    failing = false
    unsynced = !synced
    if (synced) syncedState = state
    if (synced) timer.took(monotonicMs() - started)
    pending.written()
    if (cutting || unsynced) timer.later(failing)
  }

  /** An export finds the lines it began with, unless it is slower than all of them are replaced. */
  function cut(next: LogState): void {
    cutting = false
    for (const kind of KINDS) {
      const ring = next.rings[kind]
      const cuttable = newestBeyond(next, kind, exporting > 0 ? 2 * ring.lines : ring.lines)
      if (cuttable < ring.firstNumber) continue
      const { oldest, isDone } = blocks.cut(kind, cuttable + 1)
      if (oldest !== null) Object.assign(ring, { first: oldest.first, firstNumber: oldest.number })
      cutting ||= !isDone
    }
  }

  function unexportedShare(): number {
    const { refuseUses, exportedUses, rings } = state
    return refuseUses ? (rings.use.count + pending.uses - exportedUses) / rings.use.lines : 0
  }

  function note(change: Partial<Pick<LogState, 'exportedUses' | 'confirmed'>>): void {
    state = { ...state, ...change }
    touched = true
    timer.later(failing)
  }

  return {
    get state() {
      return state
    },
    get synced() {
      if (syncedState === null) {
        unsynced = true
        attempt(true)
      }
      return syncedState
    },
    get isFull() {
      return pending.isFull
    },
    get unexportedShare() {
      return unexportedShare()
    },
    add(kind, textOf) {
      pending.add(kind, textOf(state.sequence + pending.lines.length + 1))
      if (kind === 'change') {
        timer.soon()
        return pending.settled()
      }
      timer.later(failing)
      if (pending.lines.length >= GROUP_LINES_MAX && !failing) timer.soon()
      return undefined
    },
    expectRoom() {
      if (pending.isFull) throw new CofferError('storage', 'The audit log cannot be written')
      if (unexportedShare() >= 1)
        throw new CofferError('busy', 'The audit log is full of uses of keys that have not been exported')
    },
    write,
    tryWrite: () => attempt(true),
    beginExport() {
      exporting++
      return () => {
        exporting--
      }
    },
    noteExported: (uses) => note({ exportedUses: Math.max(state.exportedUses, uses) }),
    confirm(sequence, uses) {
      // Uses before them that no export has had, though a server may have confirmed them, end the count.
      const follows = uses !== null && uses.first <= Math.max(state.exportedUses + 1, firstNumberShown(state, 'use'))
      note({
        confirmed: Math.max(state.confirmed, sequence),
        exportedUses: follows ? Math.max(state.exportedUses, uses.last) : state.exportedUses,
      })
    },
    configure({ lines, refuseUses }) {
      const next = copyState({ ...state, refuseUses })
      for (const kind of KINDS) next.rings[kind].lines = lines[kind]
      store.transaction(() => {
        cut(next)
        blocks.putState(next)
      })
      state = next
      syncedState = next
      if (cutting) timer.later(failing)
    },
    close() {
      try {
        write(true)
      } catch {
        // Reported already; there is nothing left to try.
      }
      timer.clear()
      open = false
    },
  }
}
