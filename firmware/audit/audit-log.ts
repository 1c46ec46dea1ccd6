/**
 * The audit log: every administrative change, every refused request and every use of a key as one line of a hash chain.
 * Contract section 7.6. Each of these kinds is kept in a ring of its own, so that none pushes out another: state.ts.
 *
 * Lines are committed in groups, so that the disk does not set the pace of signing: a power cut loses lines that are at
 * most a second old. Between two groups that are synced to the disk, full ones are only written: they survive the end of
 * the process. A change takes the lines before it along, and its promise waits for the disk.
 */

import { CofferError, wrongState } from '../base/error.ts'
import type { Log } from '../base/log.ts'
import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { deriveSealKey } from '../crypto/seal.ts'
import type { StoreFile } from '../store/store.ts'
import { openBlocks } from './blocks.ts'
import { createBudgets } from './budget.ts'
import { type AuditEvent, type AuditHead, type AuditLineKind, headKey, lineText, signHead } from './chain.ts'
import { type AuditPage, type AuditQuery, exportLog, type NumberedLine, readPage, readSince } from './reading.ts'
import { restoreState } from './recovery.ts'
import { growthBytes, headOf, type LogState, unconfirmedShare } from './state.ts'
import { type AuditSettings, createWriter, type ExportedUses, type Writer } from './writer.ts'

/** How many lines of a kind can be asked to be kept, and how many are when nobody asked: some 25 MB. */
export const LINES_MIN = 1000
export const LINES_MAX = 10_000_000
export const LINES_DEFAULT = 100_000

export interface AuditLog {
  /**
   * Only of a change there is something to wait for: the promise throws `storage` when the disk does not take it; it is
   * then still written as soon as it can be. Refusals of one user beyond a budget are counted only; null is nobody.
   */
  record(event: AuditEvent, kind: AuditLineKind, user?: string | null): Promise<void> | undefined
  /**
   * Throws when a use of a key could not be recorded, so that it must not happen: `storage` when too many lines wait for
   * the disk, `busy` when it would overwrite one that must be exported first.
   */
  expectRoom(): void
  /** Throws `tooManyAttempts` when this user's recent changes are so many that more could push out the lines of others. */
  expectBudget(user: string): void
  /** Writes what waits. Throws `storage`, then it waits on. */
  flush(): void
  /** Lines, newest first, with what waits if the disk takes it. */
  page(query: AuditQuery): Promise<AuditPage>
  /** Every line as JSON, oldest first, and `{"head"}` at the end: a line of text each. Read to its end, it counts. */
  export(): AsyncGenerator<Uint8Array>
  head(): AuditHead
  /** For a log server, which must not have lines that a power cut takes from here: others would then get their numbers. */
  readonly forwarding: AuditForwarding
  readonly settings: AuditSettings
  /** Share of the kept uses that no complete export has had, where they must not be overwritten; else 0. */
  readonly unexportedShare: number
  /** Bytes that the log may take more with these lines, beyond a log of the default size. Default: the lines of now. */
  growthBytes(lines?: AuditSettings['lines']): number
  /** On disk when it returns. */
  configure(settings: AuditSettings): void
  /** Writes what waits, wipes the keys. What is recorded afterwards is lost. */
  close(): void
}

export interface AuditForwarding {
  /** Number of the newest line that survives a power cut, 0 while there is none. */
  readonly newest: number
  /** Number of the newest line that a log server has confirmed, 0 while there is none. */
  readonly confirmed: number
  /** The largest share of a ring that lines fill which no log server has confirmed. From 1 on the oldest are lost. */
  readonly unconfirmedShare: number
  /** Lines behind this one up to `newest`, oldest first, in chunks. Numbers that are missing are of lines that were removed or damaged. */
  since(sequence: number): AsyncGenerator<readonly NumberedLine[]>
  /** The signed head with `newest` as its last line; the same one until there are more. */
  head(): AuditHead
  /** A log server has all lines up to this one. `uses` among them count as exported if no use before them is left out; null for none. */
  confirm(sequence: number, uses: ExportedUses | null): void
}

interface AuditLogOptions {
  store: StoreFile
  deviceKey: Uint8Array
  random: Random
  log: Log
  time: () => string
  /** Must never jump. */
  monotonicMs: () => number
}

export function openAuditLog(options: AuditLogOptions): AuditLog {
  const { store, log, monotonicMs } = options
  const blocks = openBlocks(store, options.deviceKey, options.random)
  const seed = deriveSealKey(options.deviceKey, 'coffer audit signature')
  const report = (message: string): void => log.error('general', message)
  const state = restoreState(blocks, LINES_DEFAULT, report)
  const writer = createWriter({ store, blocks, state, report, monotonicMs })
  const changes = createBudgets(monotonicMs)
  const record = createRecorder(writer, createBudgets(monotonicMs))
  let open = true

  const expectOpen = (): void => {
    if (!open) throw wrongState()
  }

  let signer: ReturnType<typeof headKey> | undefined
  let forwarded: AuditHead | undefined

  /** Takes milliseconds. */
  const head = (state = writer.state): AuditHead => {
    signer ??= headKey(seed) // made when it is needed: that takes a twentieth of a start
    return signHead({ ...headOf(state, blocks), time: options.time() }, signer)
  }

  const view = { blocks, report, state: () => writer.state, expectOpen }

  async function* exported(ending: AuditHead, uses: number): AsyncGenerator<Uint8Array> {
    const end = writer.beginExport()
    try {
      yield* exportLog(view, ending)
      writer.noteExported(uses)
    } finally {
      end()
    }
  }

  const forwarding: AuditForwarding = {
    get newest() {
      return open ? (writer.synced?.sequence ?? 0) : 0
    },
    get confirmed() {
      return writer.state.confirmed
    },
    get unconfirmedShare() {
      return open ? unconfirmedShare(writer.state, blocks) : 0
    },
    // A server that does not answer has lines read again and again: damage would be reported each time.
    since: (sequence) => readSince({ ...view, report: () => {} }, sequence + 1, forwarding.newest),
    head() {
      expectOpen()
      const state = writer.synced ?? writer.state
      if (forwarded?.sequence !== state.sequence) forwarded = head(state)
      return forwarded
    },
    confirm(sequence, uses) {
      expectOpen()
      writer.confirm(sequence, uses)
    },
  }

  return {
    record: (event, kind, user = null) => (open ? record(event, kind, user) : undefined),
    expectRoom: writer.expectRoom,
    expectBudget(user) {
      if (!changes.take(user))
        throw new CofferError('tooManyAttempts', 'Too many changes by one user, wait ten seconds')
    },
    flush: () => writer.write(true),
    async page(query) {
      expectOpen()
      writer.tryWrite()
      return { ...(await readPage(view, query)), head: head() }
    },
    export() {
      expectOpen()
      writer.tryWrite()
      return exported(head(), writer.state.rings.use.count)
    },
    head: () => head(),
    forwarding,
    get settings() {
      return { lines: linesOf(writer.state), refuseUses: writer.state.refuseUses }
    },
    get unexportedShare() {
      return writer.unexportedShare
    },
    growthBytes: (lines = linesOf(writer.state)) => growthBytes(writer.state, lines, LINES_DEFAULT),
    configure(settings) {
      expectOpen()
      writer.configure(settings)
    },
    close() {
      if (!open) return
      writer.close()
      open = false
      blocks.close()
      wipe(seed)
      if (signer !== undefined) wipe(signer.secretKey)
    },
  }
}

const linesOf = ({ rings }: LogState): AuditSettings['lines'] => ({
  change: rings.change.lines,
  refusal: rings.refusal.lines,
  use: rings.use.lines,
})

/** Lines as they are asked for, within the budgets of those who cause them; what is left out is counted. */
function createRecorder(writer: Writer, budgets: ReturnType<typeof createBudgets>) {
  let skipped = 0
  return (event: AuditEvent, kind: AuditLineKind, user: string | null): Promise<void> | undefined => {
    const { isFull } = writer
    // Of what began while there was room, what was done is kept, what was refused is not.
    if (kind === 'refusal' ? isFull || !budgets.take(user) : isFull && event.result >= 400) {
      skipped++
      return undefined
    }
    const whole = skipped === 0 ? event : { ...event, skipped: skipped + (event.skipped ?? 0) }
    skipped = 0
    return writer.add(kind, (sequence) => lineText(sequence, kind, whole))
  }
}
