/**
 * A node's copy of the records of a cluster. etcd is the order of changes: each is one transaction that was made on the head it was
 * decided on, and brings the next one. This node adopts one after the other, and relies on none that does not come to what its head
 * says. What it reads it reads from its own copy.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { defined } from '../../base/defined.ts'
import { CofferError, UnknownOutcome } from '../../base/error.ts'
import { assertAuthorized, runDetached } from '../../base/request-authorization.ts'
import type { Random } from '../../crypto/random.ts'
import type { Head } from '../../store/head.ts'
import type { Decision, Row } from '../../store/store.ts'
import type { VaultCopy } from '../../store/vault-copy.ts'
import { EtcdError } from '../etcd/error.ts'
import type { Etcd, KeyValue } from '../etcd/etcd.ts'
import { createApplier, expectHead, expectNotOlder } from './applier.ts'
import { createBarrier } from './barrier.ts'
import { createHeadSealer, newChangeId } from './head.ts'
import { Heartbeat, newestHead } from './heartbeat.ts'
import { IntegrityError } from './integrity-error.ts'
import { PREFIX } from './keyspace.ts'
import { createMemberStatus, noQuorum, notCaughtUp, type ReplicaState } from './member-status.ts'
import type { PositionRow } from './position.ts'
import { createProposals } from './proposals.ts'
import { makeCurrent, removeObsolete, writeReplacement } from './replacement.ts'
import { REPLICA_TIMEOUTS, type ReplicaTimeouts } from './timeouts.ts'

const FIGURES_MS_MAX = 500
/** A learner is told of no change, and reads all after each: that much longer it then does not. */
const LEARNER_REST = 10

interface ReplicaOptions {
  etcd: Etcd
  domainKey: Uint8Array
  /** Makes the store a copy whose changes are made here. */
  replicate(change: <T>(decide: () => Decision<T>) => Promise<T>): VaultCopy
  /** This node's name in the heads of its changes. */
  member: string
  random: Random
  /** Must never jump. */
  nowMs?: () => number
  timeouts?: ReplicaTimeouts
  /** Contact with the cluster from before. */
  contact?: Heartbeat
  position: PositionRow
  /** For a node that has nothing yet: the cluster's head when it was registered. */
  least?: Head | null
  /** It follows no more. */
  onRefusal(refusal: IntegrityError): void
  /** Something failed that will be tried again. */
  onTrouble(what: string): void
  /** Called after each look at whether the cluster answers. */
  onBeat?(): void
}

export interface Replica {
  readonly state: ReplicaState
  /** Since the cluster answered last; 0 while it answers. */
  readonly lostMs: number
  /** Since this node had what the others have: they do not answer, or it cannot take it. 0 while it has. */
  readonly behindMs: number
  /** Why it is not, although the others answer; it tries again. Null if nothing is wrong. */
  readonly syncFailure: string | null
  /** Why nothing is followed any more, or null. */
  readonly refusal: string | null
  /** How often another node was faster. */
  readonly conflicts: number
  /** The number of the change that was adopted last. */
  readonly n: number
  /** Figures of this node's etcd; null if it does not answer. */
  figures(): Promise<{ members: number; databaseBytes: number; isLeader: boolean } | null>
  /** Ends when this node has got what the others had when it began; throws what ended it before. */
  caughtUp(): Promise<void>
  /**
   * Ends when what lies here may be used: it is what the others had, or that does not come or is refused, and there is a copy of
   * before. Throws `busy` or `storage` where there is none, or this software cannot know what it means.
   */
  usable(): Promise<void>
  /**
   * True when this node has adopted whatever was done before the call; false, at once, while the cluster does not answer, or what it
   * has cannot be taken.
   */
  barrier(): Promise<boolean>
  /** Call when all that lies here was looked at: what is damaged is replaced by what the others have. */
  repair(): void
  /**
   * Puts these records in the place of all, on every node: replacement.ts. Ends when this node has them. Throws `unavailable` where
   * another domain key has sealed them, `invalid` for damaged ones, `busy`; only with the last it is not known whether it was done. While
   * they are written, the caller may lose the right to do so: then it throws that refusal.
   */
  replaceAll(rows: Iterable<{ collection: string; row: Row }>): Promise<void>
  close(): void
}

export function startReplica(options: ReplicaOptions): Replica {
  const { etcd, domainKey, member, random, position: row, least = null } = options
  const { timeouts = REPLICA_TIMEOUTS, nowMs = () => performance.now() } = options
  const contact = options.contact ?? new Heartbeat(nowMs)
  const heads = createHeadSealer(domainKey, random)
  const closing = new AbortController()
  /** Ends the watch, or the rest of a learner, to begin it anew. */
  let watching = new AbortController()
  let behindSinceMs: number | null = null
  let clearing = Promise.resolve()
  let isReplacing = false

  const isRunning = (): boolean => !closing.signal.aborted && standing.refusal === null
  const revision = (): number => adoption.position?.revision ?? 0
  const pause = (ms: number, { signal } = closing): Promise<void> => wait(ms, undefined, { signal }).catch(() => {})

  const copy = options.replicate((decide) => proposals.add(decide))
  const standing = createMemberStatus({ contact, nowMs, timeouts, isWhole: () => adoption.isWhole })
  const barrier = createBarrier({ etcd, timeoutMs: timeouts.barrierMsMax, revision, isRunning })
  const proposals = createProposals({
    ...{ etcd, random, nowMs, timeouts, copy },
    sealHead: (head, id) => heads.seal({ generation: defined(adoption.position).generation, id, member, head }),
    position: () => defined(adoption.position),
    refusal: standing.changeRefusal,
    onFailure: repair,
    adopted: (revision) => barrier.adopted(revision, timeouts.heartbeatMsMax),
  })
  const adoption = createApplier({
    ...{ etcd, copy, heads, row, least, isWanted: isRunning },
    proposal: () => proposals.current,
    onAdopted(adopted) {
      standing.syncFailure.end()
      proposals.note(adopted)
      barrier.release()
    },
  })

  async function run(): Promise<void> {
    while (isRunning()) {
      try {
        await follow()
      } catch (error) {
        if (!isRunning()) return
        fail(error)
      }
      await pause(standing.syncFailure.pauseMs(timeouts.retryMs, timeouts.retryMsMax))
    }
  }

  /** Ends by throwing, but for a learner: that takes what its own member has by now, and rests. */
  async function follow(): Promise<void> {
    const found = await newestHead(etcd)
    contact.note(true)
    const { isLearner } = found
    standing.isLearner = isLearner
    const entry = expectHead(found.entry)
    if (isLearner && entry.revision < revision()) return // its member was killed, and has less than before
    const beganMs = nowMs()
    await adoption.catchUp(entry, found.revision, isLearner)
    if (!isRunning()) return
    watching = new AbortController()
    if (isLearner) {
      standing.noteCaughtUp()
      return pause(LEARNER_REST * (nowMs() - beganMs), watching)
    }
    if (revision() >= entry.revision) start()
    for await (const came of etcd.watch(PREFIX, revision() + 1, watching.signal)) {
      if (!isRunning()) return
      adoption.adopt(came)
      if (came.revision >= entry.revision) start()
    }
  }

  function start(): void {
    if (standing.isStarting) clearUp()
    standing.noteCaughtUp()
  }

  /** Whether the cluster answers, and whether what it says fits what was adopted. */
  async function beat(): Promise<void> {
    while (isRunning()) {
      try {
        const known = revision()
        const { entry, isLearner } = await newestHead(etcd, timeouts.heartbeatMsMax)
        contact.note(true)
        // Of a member that was killed, and does not know yet that it has a vote, it is what that had before.
        if (!isLearner) judge(entry, known)
      } catch (error) {
        if (!isRunning()) return
        if (error instanceof EtcdError) lose()
        else fail(error)
      }
      if (isRunning()) options.onBeat?.()
      await pause(timeouts.heartbeatMs)
    }
  }

  function judge(entry: KeyValue | null, known: number): void {
    if (standing.isLearner) watching.abort() // it was promoted
    if (!standing.isStarting) expectNotOlder(entry, known)
    noteStall(entry)
  }

  function noteStall(entry: KeyValue | null): void {
    if (standing.isStarting || entry === null || entry.revision <= revision()) behindSinceMs = null
    else {
      behindSinceMs ??= nowMs()
      if (nowMs() - behindSinceMs < timeouts.stalledMs) return
      behindSinceMs = null
      watching.abort()
    }
  }

  function lose(): void {
    contact.note(false)
    proposals.refuse(noQuorum())
    if (!adoption.isReading) standing.noteDelay() // a slow node that reads much is late with its own questions
  }

  function fail(error: unknown): void {
    const code = error instanceof EtcdError ? error.code : null
    if (error instanceof IntegrityError) refuse(error)
    else if (code === 'compacted') adoption.mustReadAll()
    else if (code !== 'unavailable') retry(error)
  }

  /** It is told once, however often it is tried. What this software fails over again and again it cannot follow. */
  function retry(error: unknown): void {
    const { syncFailure } = standing
    const isNew = syncFailure.note(error)
    const what = defined(syncFailure.what)
    if (isNew) options.onTrouble(what)
    standing.noteDelay()
    if (syncFailure.isHopeless) refuse(new IntegrityError(`this node cannot apply them (${what})`, error))
  }

  function refuse(refusal: IntegrityError): void {
    if (standing.refusal !== null) return
    standing.refuse(refusal)
    watching.abort()
    proposals.giveUp(defined(standing.changeRefusal()))
    barrier.release()
    options.onRefusal(refusal)
  }

  function repair(): void {
    if (copy.isDamaged) watching.abort()
  }

  function clearUp(): void {
    clearing = runDetached(() => removeObsolete(etcd, () => defined(adoption.position).generation))
  }

  void runDetached(run)
  void runDetached(beat)
  return {
    get state() {
      return standing.state
    },
    get lostMs() {
      return contact.lostMs
    },
    get behindMs() {
      return Math.max(contact.lostMs, standing.syncFailure.lastedMs)
    },
    get syncFailure() {
      return standing.syncFailure.what
    },
    get refusal() {
      return standing.refusal?.message ?? null
    },
    get conflicts() {
      return proposals.conflicts
    },
    get n() {
      return adoption.n
    },
    async figures() {
      try {
        const [{ databaseBytes, leader, memberId }, members] = await Promise.all([
          etcd.status(FIGURES_MS_MAX),
          etcd.members(FIGURES_MS_MAX),
        ])
        return { members: members.length, databaseBytes, isLeader: leader === memberId }
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error
        return null
      }
    },
    caughtUp: () => standing.caughtUp,
    async usable() {
      await standing.decided
      const { distrust } = copy
      if (distrust !== null && !isRunning()) throw new CofferError('storage', distrust)
      if (adoption.position === null || adoption.isPartial || distrust !== null || standing.refusal?.isOutdated)
        throw standing.changeRefusal() ?? notCaughtUp()
    },
    async barrier() {
      if (standing.state !== 'following' || standing.isStuck) return false
      try {
        return await barrier.adopted(await barrier.newest(), timeouts.barrierMsMax)
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error
        return false
      }
    },
    repair,
    async replaceAll(rows) {
      const why = isReplacing ? new CofferError('busy', 'All records are being replaced') : standing.changeRefusal()
      if (why !== null) throw why
      isReplacing = true
      try {
        await clearing // it would take what is written now for what was left behind
        const replacement = await writeReplacement({ etcd, copy, random }, rows)
        const { generation, head } = replacement
        const id = newChangeId(random)
        const endMs = nowMs() + timeouts.replacedMsMax
        let madeOn = 0
        while (isRunning() && nowMs() < endMs) {
          if (revision() !== madeOn) assertAuthorized() // on the same it may have been made already
          madeOn = revision()
          const next = { n: Math.max(adoption.n, head.n) + 1, sets: head.sets }
          const value = heads.seal({ generation, id, member, head: next })
          await makeCurrent(etcd, replacement, value, defined(adoption.position), timeouts.resendMs)
          const newest = await barrier.newest().catch(() => 0)
          await barrier.adopted(newest, endMs - nowMs())
          if (defined(adoption.position).generation === generation) return
          await pause(timeouts.retryMs)
        }
      } finally {
        isReplacing = false
        clearUp()
      }
      throw new UnknownOutcome()
    },
    close() {
      closing.abort()
      watching.abort()
      proposals.close()
      barrier.release()
      standing.close()
      heads.close()
    },
  }
}
