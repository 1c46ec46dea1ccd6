/**
 * Keeps room in the database of this node's etcd. What was replaced stays there until it is compacted, and its file is never smaller than it
 * was until it is defragmented, during which this member does not answer. Once the file is as large as it may be etcd raises an alarm, NOSPACE,
 * and all members refuse whatever would write, until there is room and somebody takes the alarm back.
 * https://etcd.io/docs/v3.6/op-guide/maintenance/
 */

import { setTimeout as wait } from 'node:timers/promises'
import { CofferError, describe } from '../../base/error.ts'
import { EtcdError } from './error.ts'
import type { Etcd, Status } from './etcd.ts'

const LOOK_MS = 5000 // so long one member has for itself while there is an alarm
/** So long nothing was written: then a member that does not answer for seconds is missed by nobody. */
const QUIET_MS = 60_000
/** Rewriting is worth it when less than half of the file is used and it becomes at least this much smaller. */
const WORTH_BYTES = 64 * 1024 * 1024
/** The same once room is wanted. */
const WORTH_BYTES_PRESSING = 1024 * 1024
const DEFRAGMENT_MS_MAX = 600_000 // the largest file on a slow disk
/** Spares some nodes that are behind reading everything anew: etcd itself keeps more, which may be too much for its file. */
const REVISIONS_KEPT = 100
const COMPACT_MS_MIN = 300_000

/** Outside what nodes read: who defragments. It can be written only while there is no alarm. */
const TURN_KEY = '/defragmentation'
/** One who has it for longer has ended meanwhile. */
const TURN_MS_MAX = 2 * DEFRAGMENT_MS_MAX

interface UpkeepOptions {
  etcd: Etcd
  /** Must never jump. */
  nowMs: () => number
  /** The disk that holds the database. Throws an error of the file system. */
  freeBytes: () => number
  /** Once for each problem. */
  onProblem: (what: string) => void
  /** Something was done that has its price. */
  onDone: (what: string) => void
}

export interface Upkeep {
  /** Why nothing can be changed for want of room, as this node's etcd said last; null for nothing. */
  readonly problem: string | null
  /** Does one thing at most, and whatever fails again the next time. */
  look(): Promise<void>
  /** Looks until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

export function createUpkeep({ etcd, nowMs, freeBytes, onProblem, onDone }: UpkeepOptions): Upkeep {
  let problem: string | null = null
  let failure: string | null = null
  let looksAlarmed = 0
  let written = { raftIndex: -1, atMs: 0 }
  let compacted = { revision: 0, atMs: Number.NEGATIVE_INFINITY }
  /** etcd counts what a compaction has left free at the next write, which an alarm keeps from coming. */
  let isCounted = true
  let turn = { revision: 0, seenMs: 0 }

  function note(status: Status): void {
    const { raftIndex, spaceAlarms } = status
    if (raftIndex !== written.raftIndex) written = { raftIndex, atMs: nowMs() }
    looksAlarmed = spaceAlarms.length === 0 ? 0 : looksAlarmed + 1
    const before = problem
    problem = spaceAlarms.length === 0 ? null : problemOf(status)
    if (before === null && problem !== null) onProblem(problem)
    if (before !== null && problem === null) onDone('the database of the cluster has room again')
  }

  /** True where it has. */
  async function compact({ revision, databaseBytesInUse, quotaBytes, spaceAlarms }: Status): Promise<boolean> {
    const isFull = spaceAlarms.length > 0
    if (!isFull && (databaseBytesInUse < quotaBytes / 2 || nowMs() - compacted.atMs < COMPACT_MS_MIN)) return false
    const upTo = isFull ? revision : revision - REVISIONS_KEPT
    if (upTo <= compacted.revision) return false
    await etcd.compact(upTo).catch((error) => {
      if (!(error instanceof EtcdError && error.code === 'compacted')) throw error // another member was faster
    })
    compacted = { revision: upTo, atMs: nowMs() }
    isCounted = !isFull
    return true
  }

  /** True where it has, or will. */
  async function defragment(status: Status): Promise<boolean> {
    const { databaseBytes, databaseBytesInUse, quotaBytes, spaceAlarms } = status
    const free = databaseBytes - databaseBytesInUse
    const isFull = spaceAlarms.length > 0
    const isPressing = isFull || databaseBytes > (3 / 4) * quotaBytes
    const isWorthIt = isPressing
      ? !isCounted || free > Math.max(WORTH_BYTES_PRESSING, databaseBytes / 8)
      : free > Math.max(WORTH_BYTES, databaseBytes / 2) && nowMs() - written.atMs >= QUIET_MS
    if (!isWorthIt) return false
    if (freeBytes() < databaseBytesInUse + WORTH_BYTES_PRESSING)
      throw new CofferError('storage', 'The disk has too little room to write the database of etcd anew')
    if (isFull) {
      if (looksAlarmed > 1 + (await rankOf(status))) await rewrite(status)
      return true
    }
    const taken = await takeTurn(status)
    if (taken === null) return true
    await rewrite(status).finally(() => etcd.changeIf(TURN_KEY, taken, [{ key: TURN_KEY, value: null }]))
    return true
  }

  async function rewrite(status: Status): Promise<void> {
    if (status.leader === status.memberId) await leaveLead(status)
    await etcd.defragment(DEFRAGMENT_MS_MAX)
    isCounted = true
    const { databaseBytes } = await etcd.status()
    onDone(`the database of etcd was defragmented: ${mega(status.databaseBytes)} to ${mega(databaseBytes)} MB`)
  }

  /** Where nobody else can lead, nobody else answers either. */
  async function leaveLead({ memberId }: Status): Promise<void> {
    for (const { id, isLearner } of await etcd.members()) {
      if (id === memberId || isLearner) continue
      const isLed = await etcd.moveLeader(id).then(
        () => true,
        (error) => {
          if (!(error instanceof EtcdError)) throw error
          return false
        },
      )
      if (isLed) return
    }
  }

  /** How many come before this member, who all see the alarm at about the same time: those that do not lead. */
  async function rankOf({ memberId, leader }: Status): Promise<number> {
    const others = (await etcd.members()).filter(({ id, isLearner }) => id !== memberId && !isLearner)
    return memberId === leader ? others.length : others.filter(({ id }) => id !== leader && id < memberId).length
  }

  /** The revision that it is to be given back at, or null while another member has it. */
  async function takeTurn({ memberId }: Status): Promise<number | null> {
    const { entry } = await etcd.get(TURN_KEY)
    const revision = entry?.revision ?? 0
    if (revision !== turn.revision) turn = { revision, seenMs: nowMs() }
    if (entry !== null && nowMs() - turn.seenMs < TURN_MS_MAX) return null
    const value = new TextEncoder().encode(memberId)
    const taken = await etcd.changeIf(TURN_KEY, revision, [{ key: TURN_KEY, value }])
    return taken.isDone ? taken.revision : null
  }

  /** Takes back the alarm of this member, which has done what it can, and of former members. etcd raises it again if there is no room. */
  async function disarm({ memberId, databaseBytes, quotaBytes, spaceAlarms }: Status): Promise<void> {
    if (spaceAlarms.length === 0) return
    const members = new Set((await etcd.members()).map(({ id }) => id))
    for (const id of spaceAlarms)
      if (id === memberId ? databaseBytes < quotaBytes : !members.has(id)) await etcd.disarmSpace(id)
  }

  async function look(): Promise<void> {
    try {
      const status = await etcd.status()
      note(status)
      if (status.isLearner || status.leader === '0') return
      if ((await compact(status)) || (await defragment(status))) return
      await disarm(status)
      failure = null
    } catch (error) {
      if (error instanceof EtcdError && error.code === 'unavailable') return
      const what = describe(error)
      if (what !== failure) onProblem(what)
      failure = what
    }
  }

  return {
    get problem() {
      return problem
    },
    look,
    async run(signal) {
      while (!signal.aborted) {
        await look()
        await wait(LOOK_MS, undefined, { signal, ref: false }).catch(() => {})
      }
    },
  }
}

const mega = (bytes: number): number => Math.round(bytes / 1e6)

function problemOf({ memberId, databaseBytes, spaceAlarms }: Status): string {
  const others = spaceAlarms.filter((id) => id !== memberId)
  const where = [
    ...(spaceAlarms.includes(memberId) ? [`this node's, ${mega(databaseBytes)} MB`] : []),
    ...(others.length > 0 ? [`that of ${others.join(', ')}`] : []),
  ]
  return `Nothing can be changed: the database of etcd is full (NOSPACE), ${where.join(' and ')}`
}
