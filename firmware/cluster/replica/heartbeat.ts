/** Whether the cluster answers, and since when it does not. */

import { EtcdError } from '../etcd/error.ts'
import type { Etcd, ReadResult } from '../etcd/etcd.ts'
import { HEAD_KEY } from './keyspace.ts'

/**
 * The newest head that there is. A member that has no vote yet is not told that: there it is the newest that has come to it, as long as
 * it hears of a leader. Throws EtcdError.
 */
export async function newestHead(etcd: Etcd, timeoutMs?: number): Promise<ReadResult & { isLearner: boolean }> {
  const within = timeoutMs === undefined ? {} : { timeoutMs }
  try {
    return { ...(await etcd.get(HEAD_KEY, within)), isLearner: false }
  } catch (error) {
    if (!(error instanceof EtcdError && error.code === 'learner')) throw error
  }
  const { leader } = await etcd.status(timeoutMs)
  if (leader === '0') throw new EtcdError('unavailable', 'This member hears of no leader')
  return { ...(await etcd.get(HEAD_KEY, { ...within, isLocal: true })), isLearner: true }
}

export class Heartbeat {
  readonly #nowMs: () => number
  #lastMs: number
  #isThere = true

  /** `nowMs` must never jump. `lostMs`: since the last answer before, which counts once there is none. */
  constructor(nowMs: () => number, lostMs = 0) {
    this.#nowMs = nowMs
    this.#lastMs = nowMs() - lostMs
  }

  get isThere(): boolean {
    return this.#isThere
  }

  /** Since the last answer, 0 while there are answers. */
  get lostMs(): number {
    return this.#isThere ? 0 : this.#nowMs() - this.#lastMs
  }

  note(isThere: boolean): void {
    if (isThere) this.#lastMs = this.#nowMs()
    this.#isThere = isThere
  }
}
