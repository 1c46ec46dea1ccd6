/** Why a node lacks what the others have, from the first failure until it has caught up. */

import { CofferError, describe } from '../../base/error.ts'
import { EtcdError } from '../etcd/error.ts'

/** A disk may get room again, and etcd may answer; what this software fails over it most likely fails over again. */
const FAULTS_MAX = 8

export class SyncFailure {
  readonly #nowMs: () => number
  #what: string | null = null
  #sinceMs = 0
  #tries = 0
  #faults = 0
  #error: unknown

  /** `nowMs` must never jump. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Null where there is none. */
  get what(): string | null {
    return this.#what
  }

  get lastedMs(): number {
    return this.#what === null ? 0 : this.#nowMs() - this.#sinceMs
  }

  /** It has failed too often, and not for want of a disk or of the others. */
  get isHopeless(): boolean {
    return this.#faults >= FAULTS_MAX
  }

  /** The error that changes are refused with meanwhile. */
  get refusal(): CofferError {
    if (this.#error instanceof CofferError) return this.#error
    return new CofferError('busy', 'This node cannot get what the others have at present')
  }

  /** Doubled with each failure. */
  pauseMs(firstMs: number, mostMs: number): number {
    return Math.min(mostMs, firstMs * 2 ** Math.max(0, this.#tries - 1))
  }

  /** True where it is not the one of before. */
  note(error: unknown): boolean {
    const what = describe(error)
    const isNew = what !== this.#what
    if (this.#what === null) this.#sinceMs = this.#nowMs()
    this.#what = what
    this.#error = error
    this.#tries++
    if (!(error instanceof CofferError || error instanceof EtcdError)) this.#faults++
    return isNew
  }

  end(): void {
    this.#what = null
    this.#error = undefined
    this.#tries = 0
    this.#faults = 0
  }
}
