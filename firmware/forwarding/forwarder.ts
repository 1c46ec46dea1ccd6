/**
 * Forwards the audit log and the system log to a log server over TLS. Syslog has no acknowledgment, so each batch has a connection
 * of its own, whose orderly end confirms it; all that is not confirmed is sent again. Contract section 7.6.
 */

import type { AuditForwarding } from '../audit/audit-log.ts'
import { CofferError } from '../base/error.ts'
import type { Log } from '../base/log.ts'
import type { SyslogSettings } from '../configuration/syslog.ts'
import { certificateNameOf, type TlsIdentity } from '../crypto/tls/identity.ts'
import { OutgoingError } from '../outgoing/error.ts'
import type { SyslogAnswer, SyslogJob } from '../outgoing/link.ts'
import { type Batch, type BatchEnd, NOTHING, readBatch } from './batch.ts'
import type { LogQueue } from './log-queue.ts'
import { createSequence } from './messages.ts'

const GATHER_MS = 2000 // a line arrives soon, and a connection is worth its handshake
const RETRY_MS = [1000, 2000, 5000, 10_000]
const BATCHES_MAX = 4 // at a time: the memory for them and the pipe is bounded
const SHARE_MIN = 1 / 16 // of a full batch: a line of 4 kbit/s carries so much within a job
const JOB_MS_MAX = 120_000 // a name, a connection, a megabyte over a slow line, and the server's end
const LAST_MS_MAX = 60_000 // for what the former server still gets
const FAILURES_REPORTED = 2 // in a row: one connection is lost with each lock

export interface Forwarder {
  view(): ForwardingView
  /** Batches that a server has confirmed since the start. */
  readonly confirmations: number
  close(): Promise<void>
}

interface ForwardingView {
  state: 'off' | 'connected' | 'waiting'
  /** Number of the newest audit line that was confirmed. */
  confirmed: number
  /** Lines that are not confirmed. */
  waiting: number
  /** Why the server does not confirm. */
  problem?: string
}

interface ForwarderOptions {
  settings: () => SyslogSettings
  /** Called on each change of the settings. */
  onChange: (listener: () => void) => void
  /** The client's; undefined until it has one. */
  identity: () => TlsIdentity | undefined
  /** The port's, whose name the messages have. */
  portIdentity: () => TlsIdentity
  deviceId: string
  /** Undefined while there is no store. */
  audit: () => AuditForwarding | undefined
  queue: LogQueue
  log: Log
  now: () => number
  send: (job: Omit<SyslogJob, 'do'>, signal: AbortSignal) => Promise<SyslogAnswer>
}

interface SentBatch {
  batch: Batch
  outcome: Promise<SyslogAnswer | OutgoingError>
}

const takesEntries = ({ server, send }: SyslogSettings): boolean => server !== null && send !== 'audit'

export function createForwarder(options: ForwarderOptions): Forwarder {
  const { settings, identity, audit, queue, log, now, send } = options
  const closing = new AbortController()
  const nextId = createSequence()
  let target = settings()
  let failures = 0
  let problem: string | undefined
  let hasConfirmed = false
  let confirmations = 0
  let endsTls = false // the server has ended TLS in answer, so that an end of TCP alone is not its own
  let isWarned = false
  let share = 1
  let wake = Promise.withResolvers<void>()

  const changed = (): void => {
    queue.enable(takesEntries(settings())) // `target` gets first what waits
    wake.resolve()
    wake = Promise.withResolvers()
  }
  options.onChange(changed)
  changed()
  if (!takesEntries(target)) queue.clear()
  const running = run()

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      if (target.server === null && settings().server === null) {
        await wake.promise
        continue
      }
      // After a change, too: its line in the audit log is on the disk by then.
      await pause(failures === 0 ? GATHER_MS : (RETRY_MS[failures - 1] ?? RETRY_MS.at(-1) ?? 0))
      if (settings() !== target) await switchTarget()
      while (!closing.signal.aborted && settings() === target && (await forward())) {}
    }
  }

  /** The former server gets what was written until now, with the change itself. */
  async function switchTarget(): Promise<void> {
    const end = audit()?.newest ?? 0
    const limit = AbortSignal.any([closing.signal, AbortSignal.timeout(LAST_MS_MAX)])
    const lastEntry = queue.newest
    const progress = () => (audit()?.confirmed ?? end) + queue.confirmed
    const waits = () =>
      (target.send !== 'log' && (audit()?.confirmed ?? end) < end) ||
      (takesEntries(target) && queue.confirmed < lastEntry)
    for (let before = -1; failures === 0 && waits() && progress() > before; ) {
      before = progress()
      await forward(limit)
    }
    target = settings()
    if (!takesEntries(target)) queue.clear()
    failures = 0
    problem = undefined
    hasConfirmed = false
    endsTls = false
    isWarned = false
    share = 1
  }

  /** Returns true if more waits. */
  async function forward(signal = closing.signal): Promise<boolean> {
    if (target.server === null || signal.aborted) return false
    try {
      return await sendBatches(signal)
    } catch (error) {
      if (!(error instanceof CofferError)) throw error
      fail(error) // the log was closed, or the disk cannot be read
      return false
    }
  }

  /** Sends up to `BATCHES_MAX` batches at once, each with a connection of its own. Returns true if more waits. */
  async function sendBatches(signal: AbortSignal): Promise<boolean> {
    const sources = { audit: audit(), queue, hostname: hostname(), nextId, now, share }
    const sent: SentBatch[] = []
    let unread: CofferError | undefined
    let from: BatchEnd = { ...NOTHING, sequence: sources.audit?.confirmed ?? 0, entry: queue.confirmed }
    try {
      while (sent.length < (share < 1 ? 1 : BATCHES_MAX)) {
        const batch = await readBatch(sources, target.send, from)
        if (batch === null) break
        sent.push({ batch, outcome: deliver(batch, signal) })
        from = batch.end
        if (!batch.isFull) break
      }
    } catch (error) {
      if (!(error instanceof CofferError)) throw error
      unread = error // what was sent counts
    }
    const failure = await confirmInOrder(sent)
    if (closing.signal.aborted) return false
    if (failure !== null) share = Math.max(SHARE_MIN, share / 2)
    const problem = failure ?? unread
    if (problem !== undefined) {
      fail(problem)
      return false
    }
    if (sent.length === 0) return false
    share = Math.min(1, share * 2)
    succeed()
    return sent.at(-1)?.batch.isFull === true
  }

  /** Waits for all, and returns the first failure, behind which nothing counts. */
  async function confirmInOrder(sent: readonly SentBatch[]): Promise<OutgoingError | null> {
    let failure: OutgoingError | null = null
    for (const { batch, outcome } of sent) {
      const answer = await outcome
      failure ??= answer instanceof OutgoingError ? answer : forgedEnd(answer)
      if (failure === null && !(answer instanceof OutgoingError)) confirm(batch.end, answer)
    }
    return failure
  }

  function forgedEnd({ isAuthenticated }: SyslogAnswer): OutgoingError | null {
    endsTls ||= isAuthenticated
    return endsTls && !isAuthenticated
      ? new OutgoingError('it ended the connection without close_notify, which it sent before', false)
      : null
  }

  async function deliver({ frames }: Batch, signal: AbortSignal): Promise<SyslogAnswer | OutgoingError> {
    const { server, port, fingerprints } = target
    const job = { host: server ?? '', port, fingerprints, identity: clientIdentity(), frames, timeoutMs: JOB_MS_MAX }
    try {
      return await send(job, signal)
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      return error
    }
  }

  function clientIdentity(): SyslogJob['identity'] {
    const client = identity()
    return client === undefined ? null : { key: client.key, certificates: new TextEncoder().encode(client.cert) }
  }

  function confirm({ sequence, uses, firstUse, entry, lost }: BatchEnd, { isAuthenticated }: SyslogAnswer): void {
    const lines = audit()
    const exported = isAuthenticated && uses > 0 ? { first: firstUse, last: uses } : null
    if (lines !== undefined && sequence > lines.confirmed) lines.confirm(sequence, exported)
    if (!isAuthenticated && !isWarned) warnOfEnd()
    queue.confirm(entry)
    confirmations++
    if (lost > 0) log.warning('general', `${lost} lines of the audit log were lost before the log server took them`)
  }

  function warnOfEnd(): void {
    isWarned = true
    log.warning('general', `${target.server} ends connections without close_notify: its lines do not count as exported`)
  }

  function fail({ message }: Error): void {
    failures++
    if (failures < FAILURES_REPORTED) return
    if (problem === undefined) log.warning('general', `Cannot forward the log to ${target.server}: ${message}`)
    problem = message
  }

  function succeed(): void {
    if (problem !== undefined) log.info('general', `the log is forwarded to ${target.server} again`)
    failures = 0
    problem = undefined
    hasConfirmed = true
  }

  const hostname = (): string => certificateNameOf(options.portIdentity()) ?? options.deviceId

  async function pause(ms: number): Promise<void> {
    const over = Promise.withResolvers<void>()
    const end = () => over.resolve()
    const timer = setTimeout(end, ms).unref()
    closing.signal.addEventListener('abort', end)
    await over.promise
    clearTimeout(timer)
    closing.signal.removeEventListener('abort', end)
  }

  return {
    view() {
      const { server, send: selection } = settings()
      const { newest, confirmed } = audit() ?? { newest: 0, confirmed: 0 }
      const isCurrent = settings() === target
      const isConnected = isCurrent && hasConfirmed && failures === 0
      const state = server === null ? 'off' : isConnected ? 'connected' : 'waiting'
      const waiting = (selection === 'log' ? 0 : Math.max(0, newest - confirmed)) + queue.length
      return {
        state,
        confirmed,
        waiting: server === null ? 0 : waiting,
        ...(isCurrent && problem !== undefined && { problem: `Cannot forward: ${problem}` }),
      }
    },
    get confirmations() {
      return confirmations
    },
    async close() {
      closing.abort()
      wake.resolve()
      await running
    },
  }
}
