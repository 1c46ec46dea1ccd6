/**
 * Changes that this node wants: decided on what it has, proposed as one transaction on the head they were decided on, and done once
 * this node has adopted it. Where another node was faster they are decided again. What etcd does not answer is proposed again, the
 * same: what it compares lets it happen once. The caller of a change has an answer after `outcomeMsMax` in every case.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { defined } from '../../base/defined.ts'
import { CofferError, UnknownOutcome, wrongState } from '../../base/error.ts'
import { runDetached } from '../../base/request-authorization.ts'
import type { Random } from '../../crypto/random.ts'
import { BATCH_MAX, type WaitingChange, waitingFor } from '../../store/change-queue.ts'
import type { Head } from '../../store/head.ts'
import type { Decision } from '../../store/store.ts'
import type { ChangeDraft, Step, VaultCopy } from '../../store/vault-copy.ts'
import { EtcdError } from '../etcd/error.ts'
import type { Etcd, Write } from '../etcd/etcd.ts'
import { newChangeId } from './head.ts'
import { HEAD_KEY, recordKey } from './keyspace.ts'
import { noQuorum } from './member-status.ts'
import type { ReplicaTimeouts } from './timeouts.ts'

const LOSSES_PATIENT = 2 // from then on a pause lets others be first
const PAUSE_MS_MAX = 16

/** The adopted change; null for many at once. */
export interface Adopted {
  id: string
  revision: number
  isAlone: boolean
}

interface ProposalsOptions {
  etcd: Etcd
  copy: VaultCopy
  random: Random
  nowMs: () => number
  timeouts: ReplicaTimeouts
  sealHead(head: Head, id: string): Uint8Array
  /** Generation of the records, and the revision of the head that was adopted last. */
  position(): { generation: string; revision: number }
  /** The error that changes are refused with at present. */
  refusal(): CofferError | null
  /** Nothing could be decided on what lies here. */
  onFailure(): void
  /** Ends when that revision was adopted, true, or it took too long. */
  adopted(revision: number): Promise<boolean>
}

type Fate = 'done' | 'lost' | 'unknown'

/** A transaction on its way. */
export interface Proposal {
  readonly id: string
  readonly draft: ChangeDraft
  /** Writes to etcd beside the head. */
  readonly writes: readonly Write[]
}

interface Proposals {
  /** Settles within `outcomeMsMax`. */
  add<T>(decide: () => Decision<T>): Promise<T>
  readonly current: Proposal | null
  /** Decides the outcome of proposals by the adopted change. */
  note(adopted: Adopted): void
  /** Refuses waiting changes; proposals under way keep their time. */
  refuse(error: CofferError): void
  /** The same, and nobody will tell what became of what is on its way. */
  giveUp(error: CofferError): void
  /** How often another node was faster. */
  readonly conflicts: number
  close(): void
}

export function createProposals(options: ProposalsOptions): Proposals {
  const { etcd, copy, random, nowMs, timeouts, sealHead, position, refusal, onFailure, adopted } = options
  const waiting: WaitingChange[] = []
  /** Changes that wait or are proposed, without an answer yet. */
  const unanswered = new Set<WaitingChange>()
  let current: (Proposal & { revision: number; decide: (fate: Fate) => void }) | null = null
  let isRunning = false
  let isOpen = true
  let conflicts = 0
  let losses = 0
  /** Number of changes that are proposed together at most. */
  let togetherMax = BATCH_MAX

  const whyNot = (): CofferError | null => (isOpen ? refusal() : wrongState())

  async function run(): Promise<void> {
    if (isRunning) return
    isRunning = true
    try {
      while (waiting.length > 0) {
        await nextTurn()
        const why = whyNot()
        if (why === null) await makeNext()
        else refuse(why)
      }
    } finally {
      isRunning = false
    }
  }

  function refuse(error: CofferError): void {
    for (const { reject } of waiting.splice(0)) reject(error)
  }

  function giveUp(error: CofferError): void {
    refuse(error)
    current?.decide('unknown')
  }

  async function makeNext(): Promise<void> {
    const batch = waiting.slice(0, togetherMax)
    const draft = attempt(batch)
    if (draft === null) return
    const entries = waiting.splice(0, draft.outcomes.length)
    try {
      const fate = draft.steps.length === 0 ? await confirm() : await propose(draft)
      if (fate === 'done') settle(entries, draft)
      else if (fate === 'lost') await comeBack(entries)
      else for (const { reject } of entries) reject(new UnknownOutcome())
    } catch (error) {
      if (error instanceof EtcdError && error.code === 'tooLarge' && entries.length > 1) splitUp(entries)
      else for (const { reject } of entries) reject(storageError(error))
    }
  }

  /** Proposes the changes again, half as many at a time: at last each is made or refused by itself. */
  function splitUp(entries: readonly WaitingChange[]): void {
    togetherMax = Math.ceil(entries.length / 2)
    waiting.unshift(...entries.filter((entry) => unanswered.has(entry)))
  }

  /** Null where the disk failed, or what lies on it is damaged; who waits hears of it. */
  function attempt(batch: readonly WaitingChange[]): ChangeDraft | null {
    try {
      return copy.draft(batch.map(({ decide }) => decide))
    } catch (error) {
      waiting.splice(0, batch.length)
      for (const { reject } of batch) reject(error)
      onFailure()
      return null
    }
  }

  /** Who changes nothing, or is refused, was still decided on what may be old. */
  async function confirm(): Promise<Fate> {
    const { revision } = position()
    const { entry } = await asked(() => etcd.get(HEAD_KEY, { timeoutMs: timeouts.outcomeMsMax }))
    if (entry !== null && entry.revision > revision) {
      await adopted(entry.revision)
      return 'lost'
    }
    const why = refusal()
    if (why !== null) throw why
    return 'done'
  }

  async function propose(draft: ChangeDraft): Promise<Fate> {
    const { promise, resolve } = Promise.withResolvers<Fate>()
    const { generation, revision } = position()
    const id = newChangeId(random)
    const writes = writesOf(draft.steps, generation)
    current = { id, draft, writes, revision, decide: resolve }
    const head = { key: HEAD_KEY, value: sealHead(draft.head, id) }
    const giveUp = new AbortController()
    try {
      return await Promise.race([promise, send(revision, [...writes, head], giveUp.signal)])
    } finally {
      giveUp.abort()
      current = null
    }
  }

  /** Until the time is over, or the signal aborts: it is adopted, or another one. */
  async function send(revision: number, writes: readonly Write[], signal: AbortSignal): Promise<Fate> {
    const endMs = nowMs() + timeouts.outcomeMsMax
    let isSent = false // and may be done
    while (!signal.aborted && nowMs() < endMs) {
      const beganMs = nowMs()
      try {
        await etcd.changeIf(HEAD_KEY, revision, writes, timeouts.resendMs)
        await pause(endMs - nowMs(), signal)
      } catch (error) {
        if (!isSent && isRefusal(error)) throw error
        isSent = true
        if (nowMs() - beganMs < timeouts.resendPauseMs) await pause(timeouts.resendPauseMs, signal)
      }
    }
    return 'unknown'
  }

  function settle(entries: readonly WaitingChange[], { outcomes }: ChangeDraft): void {
    losses = 0
    togetherMax = Math.min(BATCH_MAX, 2 * togetherMax)
    for (const [at, outcome] of outcomes.entries()) {
      const entry = defined(entries[at])
      if (outcome instanceof Error) entry.reject(outcome)
      else entry.resolve(outcome.result)
    }
  }

  /** A change that still waits was certainly not made. */
  function endWaiting(entry: WaitingChange): void {
    const at = waiting.indexOf(entry)
    if (at !== -1) waiting.splice(at, 1)
    entry.reject(at === -1 ? new UnknownOutcome() : notDone())
  }

  async function comeBack(entries: readonly WaitingChange[]): Promise<void> {
    conflicts++
    losses++
    waiting.unshift(...entries.filter((entry) => unanswered.has(entry)))
    if (losses >= LOSSES_PATIENT) await wait((PAUSE_MS_MAX * (random(1)[0] ?? 0)) / 256)
  }

  return {
    add<T>(decide: () => Decision<T>): Promise<T> {
      const why = whyNot()
      if (why !== null) return Promise.reject(why)
      const { waiting: entry, promise } = waitingFor(decide)
      const timer = setTimeout(endWaiting, timeouts.outcomeMsMax, entry)
      const end = (): void => {
        clearTimeout(timer)
        unanswered.delete(entry)
      }
      promise.then(end, end)
      waiting.push(entry)
      unanswered.add(entry)
      void runDetached(run)
      return promise
    },
    get current() {
      return current
    },
    note({ id, revision, isAlone }) {
      if (current === null) return
      if (id === current.id) current.decide('done')
      else if (revision > current.revision) current.decide(isAlone ? 'lost' : 'unknown')
    },
    refuse,
    giveUp,
    get conflicts() {
      return conflicts
    },
    close() {
      isOpen = false
      giveUp(wrongState())
    },
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  wait(Math.max(0, ms), undefined, { signal }).catch(() => {})

/** etcd takes each key once: what a slot held in between is nobody's business. */
function writesOf(steps: readonly Step[], generation: string): Write[] {
  const last = new Map(steps.map(({ collection, slot, sealed }) => [recordKey(generation, collection, slot), sealed]))
  return [...last].map(([key, value]) => ({ key, value }))
}

const notDone = (): CofferError => new CofferError('busy', 'The cluster takes too long: this was not done, try again')

const isRefusal = (error: unknown): boolean =>
  !(error instanceof EtcdError) || ['full', 'tooLarge', 'refused'].includes(error.code)

function storageError(error: unknown): unknown {
  if (!(error instanceof EtcdError)) return error
  if (error.code === 'full')
    return new CofferError('busy', 'The database of the cluster is full: nothing can be changed until there is room')
  if (error.code === 'tooLarge')
    return new CofferError(
      'invalid',
      'This is more than a cluster changes at once, 1.5 MiB: delete old versions of the key',
    )
  return new CofferError('storage', 'The cluster refused the change', error)
}

async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof EtcdError) throw noQuorum()
    throw error
  }
}
