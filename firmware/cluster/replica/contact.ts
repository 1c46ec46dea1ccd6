/** Whether the cluster answers, and since when it does not. */

export type ReplicaState =
  | 'starting' // has not got what the others have
  | 'following'
  | 'isolated' // the cluster does not answer
  | 'refused' // what it holds is not to be believed

export class Contact {
  readonly #nowMs: () => number
  #lastMs: number
  #isThere = true

  /** `nowMs` must never jump. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
    this.#lastMs = nowMs()
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
