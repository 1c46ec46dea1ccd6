/** Long work in batches that take about the same time each: the next is as large as the last ones were quick. */

const GROWTH_MAX = 1.5 // of one batch over the last, which may have been quick by chance

export interface BatchLimits {
  /** What a batch may take, in which nothing else is served. */
  targetMs: number
  /** Also when it takes longer: where the disk is what is slow, smaller batches take hardly less. */
  sizeMin: number
  sizeMax: number
}

export class BatchSizer {
  readonly #limits: BatchLimits
  readonly #nowMs: () => number
  #size: number
  #startedMs: number | null = null

  /** Begins with the smallest batch. `nowMs` must never jump. */
  constructor(limits: BatchLimits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits
    this.#nowMs = nowMs
    this.#size = limits.sizeMin
  }

  /** Of the next batch. */
  get size(): number {
    return Math.floor(this.#size)
  }

  /** The batch is being worked on, not only waiting; of several calls the first one counts. */
  start(): void {
    this.#startedMs ??= this.#nowMs()
  }

  /** The batch is done. One that did not start tells nothing. */
  end(): void {
    if (this.#startedMs === null) return
    const tookMs = this.#nowMs() - this.#startedMs
    this.#startedMs = null
    const { targetMs, sizeMin, sizeMax } = this.#limits
    const growth = Math.min(GROWTH_MAX, targetMs / Math.max(tookMs, Number.MIN_VALUE))
    this.#size = Math.max(sizeMin, Math.min(sizeMax, this.#size * growth))
  }
}
