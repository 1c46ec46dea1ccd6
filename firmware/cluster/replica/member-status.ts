/**
 * How a node stands with the others of its cluster: whether it has what they have, what keeps it from that, and what a change is refused
 * with meanwhile.
 */

import { CofferError, wrongState } from '../../base/error.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { IntegrityError } from './integrity-error.ts'
import { SyncFailure } from './sync-failure.ts'
import type { ReplicaTimeouts } from './timeouts.ts'

export type ReplicaState =
  | 'starting' // has not got what the others have
  | 'following'
  | 'isolated' // the cluster does not answer
  | 'refused' // what it holds is not to be believed

interface MemberStatusOptions {
  contact: Heartbeat
  nowMs: () => number
  timeouts: ReplicaTimeouts
  /** The copy matches the head of its last change. */
  isWhole: () => boolean
}

interface MemberStatus {
  readonly state: ReplicaState
  readonly syncFailure: SyncFailure
  readonly refusal: IntegrityError | null
  /** It has never had what the others have. */
  readonly isStarting: boolean
  /** It cannot take what the others have, and this lasts. */
  readonly isStuck: boolean
  /** Without a vote it is told nothing by the others, and changes nothing. */
  isLearner: boolean
  /** Ends when it has got what the others had when it began; throws what ended it before. */
  readonly caughtUp: Promise<void>
  /** Ends then, too, or when that will not be any time soon. */
  readonly decided: Promise<void>
  changeRefusal(): CofferError | null
  /** It has what the others have; a learner, what its own member has. */
  noteCaughtUp(): void
  /** The others do not answer, or it cannot take what they have: after a while it is not waited for. */
  noteDelay(): void
  refuse(refusal: IntegrityError): void
  close(): void
}

export function createMemberStatus({ contact, nowMs, timeouts, isWhole }: MemberStatusOptions): MemberStatus {
  const syncFailure = new SyncFailure(nowMs)
  const caughtUp = Promise.withResolvers<void>()
  const decided = Promise.withResolvers<void>()
  const beganMs = nowMs()
  let refusal: IntegrityError | null = null
  let isStarting = true
  let isLearner = false
  caughtUp.promise.catch(() => {})
  decided.promise.catch(() => {})

  const isStuck = (): boolean => syncFailure.lastedMs > timeouts.barrierMsMax

  return {
    get state() {
      if (refusal !== null) return 'refused'
      if (isStarting) return 'starting'
      return contact.isThere ? 'following' : 'isolated'
    },
    syncFailure,
    get refusal() {
      return refusal
    },
    get isStarting() {
      return isStarting
    },
    get isStuck() {
      return isStuck()
    },
    get isLearner() {
      return isLearner
    },
    set isLearner(is) {
      isLearner = is
    },
    caughtUp: caughtUp.promise,
    decided: decided.promise,
    changeRefusal() {
      if (refusal !== null) return new CofferError('storage', refusal.message)
      if (isLearner)
        return new CofferError('busy', 'This node has no vote yet: it changes nothing before it is promoted')
      if (isStuck()) return syncFailure.refusal
      if (isStarting || !isWhole()) return notCaughtUp()
      return contact.isThere ? null : noQuorum()
    },
    noteCaughtUp() {
      syncFailure.end()
      decided.resolve()
      if (isLearner) return
      isStarting = false
      caughtUp.resolve()
    },
    noteDelay() {
      if (nowMs() - beganMs >= timeouts.openingMsMax) decided.resolve()
    },
    refuse(found) {
      refusal = found
      caughtUp.reject(found)
      decided.resolve()
    },
    close() {
      caughtUp.reject(wrongState())
      decided.reject(wrongState())
    },
  }
}

export const notCaughtUp = (): CofferError =>
  new CofferError('busy', 'This node has not got yet what the others have, try again')

export const noQuorum = (): CofferError =>
  new CofferError('busy', 'The cluster does not answer: nothing can be changed at present')
