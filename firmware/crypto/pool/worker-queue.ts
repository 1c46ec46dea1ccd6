/** One queue of the crypto pool: bounded, in front of worker threads that are replaced when they die. */

import { Worker } from '../../base/confinement.ts'
import { CofferError, unavailable } from '../../base/error.ts'
import { MIB, memoryFor } from '../../base/memory.ts'
import { wipe } from '../../base/secret.ts'
import type { KeyHandle, KeyPair } from '../types.ts'
import { Packer, Unpacker } from './message-encoding.ts'
import {
  bytesIn,
  type FromWorker,
  packRequest,
  type Replies,
  type Reply,
  type Request,
  type Task,
  type ToWorker,
  unpackReply,
  type WorkerStart,
  wipeTask,
} from './messages.ts'

export interface LaneOptions {
  name: string
  threads: number
  /** Waiting and running jobs; one more is `busy`. */
  jobsMax: number
  entry: URL
  /** Raised by the pool before `forgetAll` and `close`. */
  epoch: SharedArrayBuffer
  /** Whether its workers sign, and warm up for that. */
  signs?: boolean
  /** Called when a worker that signs has tried every algorithm, with those that are wrong. */
  onTested?: (wrong: readonly string[]) => void
  /** Whether its threads start with a job only. */
  startsLate?: boolean
  /** How far its threads stand back behind the others, as of nice(1). */
  nice?: number
}

type Result = Uint8Array | KeyPair

interface Job {
  task: Task
  key: KeyHandle | undefined
  weight: number
  /** That count in the bound on those of all jobs. */
  bytes: number
  resolve: (result: Result) => void
  reject: (error: CofferError) => void
  /** Its caller has been refused already; a late result is wiped. */
  dropped: boolean
}

interface Thread {
  worker: Worker
  ready: boolean
  startedAtMs: number
  running: Map<number, Job>
  load: number
  /** Keys open in the worker, least recently used first. */
  opened: Map<number, true>
  /** Requests that leave together. */
  outbox: Request[]
  /** What ended it. */
  failure: unknown
}

// Enough short jobs ahead to hide the way to the worker and back, few enough that a slow one delays little.
const LOAD_MAX = 16
const HEAVY_WEIGHT = 8 // an RSA operation, a message of a megabyte, all that derive and search do: two of them ahead
const HEAVY_BYTES = MIB
const BYTES_MAX = memoryFor(1 / 3, 64 * MIB, 256 * MIB) // four of the largest messages the API takes, or one on a small device
const SMALL_BYTES = 16 * 1024 // of each message do not count there, so that large ones keep no small one out
const JOIN_MS = 0.5 // to wake a second thread is worth it for no less
const OPERATION_MS_START = 1 // until some have been measured
const OPERATION_MS_WEIGHT = 0.2 // of the newest measurement
const OPENED_MAX = 256 // per worker; opening one again costs one read of the store
const HEAP_MIB_MAX = 128 // tables of every curve take under 20; a runaway worker dies instead of the appliance
const NURSERY_MIB = 6 // what a signature leaves behind is collected in a tenth of a millisecond, however often
const STABLE_MS = 10_000 // a worker that lived shorter is replaced only after a pause
const PAUSE_MS = 1_000
const CLOSE_MS = 500 // to end an operation and wipe; one that takes longer, with the largest primes, is ended without

export class WorkerQueue {
  readonly #options: LaneOptions
  readonly #epoch: Int32Array
  readonly #threads = new Set<Thread>()
  /** Threads that take no more jobs, until they have ended. */
  readonly #ending = new Map<Thread, Promise<void>>()
  #queue: Job[] = []
  #jobs = 0
  #bytes = 0
  #nextId = 1
  /** How long an operation takes, smoothed. */
  #operationMs = OPERATION_MS_START
  #pausedUntilMs = 0
  #pause: NodeJS.Timeout | undefined
  #departure: NodeJS.Immediate | undefined
  #closed = false

  constructor(options: LaneOptions) {
    this.#options = options
    this.#epoch = new Int32Array(options.epoch)
  }

  /** Starts every thread now instead of with its first job. */
  start(): void {
    while (this.#threads.size < this.#options.threads) this.#spawn()
  }

  /** Takes over the task's byte arrays. */
  run(task: Task, key?: KeyHandle): Promise<Result> {
    const taskBytes = bytesIn(task)
    const bytes = Math.max(0, taskBytes - SMALL_BYTES)
    const refusal = this.#refusal(bytes)
    if (refusal !== undefined) {
      wipeTask(task)
      return Promise.reject(refusal)
    }
    const heavy = !this.#options.signs || key?.type === 'RSA' || taskBytes >= HEAVY_BYTES
    const weight = heavy ? HEAVY_WEIGHT : 1
    this.#jobs++
    this.#bytes += bytes
    return new Promise((resolve, reject) => {
      this.#queue.push({ task, key, weight, bytes, resolve, reject, dropped: false })
      this.#dispatch()
    })
  }

  forget(ref: number): void {
    this.#dropQueued((job) => job.key?.ref === ref, new CofferError('notFound', 'The key no longer exists'))
    for (const thread of this.#threads) {
      if (thread.opened.delete(ref)) tell(thread, { forget: ref })
    }
  }

  /**
   * Refuses everything that waits or runs. Each worker wipes its keys as soon as its current operation ends, and ends itself,
   * for only the operating system gets all of a thread's memory back. Those that replace them start then, or with the next job.
   */
  forgetAll(): void {
    this.#endAll().then(() => {
      if (!this.#closed && !this.#options.startsLate) this.start()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#pause)
    await this.#endAll()
  }

  async #endAll(): Promise<void> {
    const error = unavailable()
    this.#dropQueued(() => true, error)
    const threads = [...this.#threads]
    this.#threads.clear()
    for (const thread of threads) this.#ending.set(thread, end(thread))
    for (const thread of this.#ending.keys()) for (const job of thread.running.values()) drop(job, error)
    await Promise.all(this.#ending.values())
  }

  #refusal(bytes: number): CofferError | undefined {
    if (this.#closed) return unavailable()
    if (this.#jobs >= this.#options.jobsMax || (bytes > 0 && this.#bytes + bytes > BYTES_MAX)) {
      return new CofferError('busy', 'Too many operations are waiting')
    }
    return undefined
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const thread = this.#thread()
      if (thread === undefined) return
      this.#send(thread, this.#queue.shift()!)
    }
  }

  /** One that will soon be done with what it has, else the one with the least to do, unless all have enough. */
  #thread(): Thread | undefined {
    let freest: Thread | undefined
    for (const thread of this.#threads) {
      if (this.#isSoonFree(thread)) return thread
      if (freest === undefined || thread.load < freest.load) freest = thread
    }
    if (freest?.load === 0 || this.#threads.size === this.#options.threads || this.#isPaused()) {
      return freest !== undefined && freest.load < LOAD_MAX ? freest : undefined
    }
    return this.#spawn()
  }

  #isSoonFree({ load, running }: Thread): boolean {
    const isAllShort = load === running.size
    return isAllShort && load > 0 && load < LOAD_MAX && load * this.#operationMs < JOIN_MS
  }

  #send(thread: Thread, job: Job): void {
    const id = this.#nextId++
    const request: Request = { id, epoch: Atomics.load(this.#epoch, 0), task: job.task }
    try {
      if (job.key !== undefined) openIn(thread, job.key, request)
    } catch (error) {
      this.#settle(job)
      wipeTask(job.task)
      job.reject(error instanceof CofferError ? error : new CofferError('internal', 'The key cannot be read', error))
      return
    }
    thread.running.set(id, job)
    thread.load += job.weight
    thread.outbox.push(request)
    this.#departure ??= setImmediate(() => this.#departAll())
  }

  /** What came in one turn of the event loop leaves in one message: waking a worker costs as much as a short operation. */
  #departAll(): void {
    this.#departure = undefined
    for (const thread of this.#threads) depart(thread)
  }

  #receive(thread: Thread, message: FromWorker): void {
    if (message === 'ready') thread.ready = true
    else if ('wrong' in message) this.#options.onTested?.(message.wrong)
    else this.#concludeAll(thread, message)
  }

  #concludeAll(thread: Thread, message: Replies): void {
    if (message.isFaulty) this.#replace(thread)
    const replies = new Unpacker(message)
    let count = 0
    for (; !replies.isEmpty; count++) this.#conclude(thread, unpackReply(replies))
    this.#operationMs += OPERATION_MS_WEIGHT * (message.tookMs / count - this.#operationMs)
    this.#dispatch()
  }

  #conclude(thread: Thread, reply: Reply): void {
    const job = thread.running.get(reply.id)!
    thread.running.delete(reply.id)
    thread.load -= job.weight
    this.#settle(job)
    if ('result' in reply) {
      if (job.dropped) wipeResult(reply.result)
      else job.resolve(reply.result)
    } else {
      if (reply.unopened && !job.dropped) thread.opened.delete(job.key!.ref)
      if (!job.dropped) job.reject(new CofferError(reply.code, reply.message))
    }
  }

  #spawn(): Thread {
    const { name, entry, epoch, signs = false, nice = 0 } = this.#options
    const worker = new Worker(entry, {
      name: `crypto ${name}`,
      workerData: { epoch, warm: signs, nice } satisfies WorkerStart,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX, maxYoungGenerationSizeMb: NURSERY_MIB },
    })
    const thread: Thread = {
      worker,
      ready: false,
      startedAtMs: performance.now(),
      running: new Map(),
      load: 0,
      opened: new Map(),
      outbox: [],
      failure: undefined,
    }
    this.#threads.add(thread)
    worker.on('message', (message: FromWorker) => this.#receive(thread, message))
    // 'exit' follows. Of a cause the log shows kind, code and place: its text may quote numbers.
    worker.on('error', (error) => (thread.failure = error))
    worker.on('exit', () => this.#bury(thread))
    return thread
  }

  /** What a dead worker was doing fails; the rest of the queue goes to its replacement. */
  #bury(thread: Thread): void {
    const isReplaced = !this.#threads.delete(thread)
    this.#ending.delete(thread)
    const error = new CofferError('internal', 'A crypto worker stopped', thread.failure)
    for (const job of thread.running.values()) {
      this.#settle(job)
      drop(job, error)
    }
    for (const request of thread.outbox) {
      wipeTask(request.task)
      wipe(request.open?.private)
    }
    if (this.#closed || isReplaced) return
    if (!thread.ready && this.#threads.size === 0) this.#dropQueued(() => true, error)
    this.#succeed(thread)
  }

  /** What it has been given is still answered, for each signature is checked. */
  #replace(thread: Thread): void {
    if (!this.#threads.delete(thread)) return
    depart(thread)
    this.#ending.set(thread, end(thread))
    this.#succeed(thread)
  }

  /** Starts another thread in its place, now or after a pause. */
  #succeed({ startedAtMs }: Thread): void {
    if (performance.now() - startedAtMs < STABLE_MS) this.#pauseStarts()
    if (!this.#isPaused()) this.#spawn()
    this.#dispatch()
  }

  #isPaused(): boolean {
    return performance.now() < this.#pausedUntilMs
  }

  #pauseStarts(): void {
    this.#pausedUntilMs = performance.now() + PAUSE_MS
    clearTimeout(this.#pause)
    this.#pause = setTimeout(() => {
      this.#pausedUntilMs = 0
      this.start()
      this.#dispatch()
    }, PAUSE_MS)
  }

  #settle(job: Job): void {
    this.#jobs--
    this.#bytes -= job.bytes
  }

  #dropQueued(selects: (job: Job) => boolean, error: CofferError): void {
    const dropped = this.#queue.filter(selects)
    if (dropped.length === 0) return
    this.#queue = this.#queue.filter((job) => !selects(job))
    for (const job of dropped) {
      this.#settle(job)
      wipeTask(job.task)
      drop(job, error)
    }
  }
}

function drop(job: Job, error: CofferError): void {
  if (job.dropped) return
  job.dropped = true
  job.reject(error)
}

/** Adds the key's private bytes to the request unless the worker has the key open, and names one to wipe when it is full. */
function openIn(thread: Thread, key: KeyHandle, request: Request): void {
  if (!thread.opened.delete(key.ref)) {
    request.open = { type: key.type, private: key.load() }
    if (thread.opened.size >= OPENED_MAX) {
      const oldest = thread.opened.keys().next().value!
      thread.opened.delete(oldest)
      request.evict = oldest
    }
  }
  thread.opened.set(key.ref, true)
}

function depart({ worker, outbox }: Thread): void {
  if (outbox.length === 0) return
  const packer = new Packer()
  for (const request of outbox.splice(0)) packRequest(packer, request)
  const [batch, moved] = packer.close()
  worker.postMessage(batch satisfies ToWorker, moved)
}

/** In order with the requests before it. */
function tell(thread: Thread, message: ToWorker): void {
  depart(thread)
  thread.worker.postMessage(message)
}

async function end({ worker }: Thread): Promise<void> {
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  worker.postMessage('close' satisfies ToWorker)
  const late = setTimeout(() => worker.terminate(), CLOSE_MS)
  await exited
  clearTimeout(late)
}

const wipeResult = (result: Result): void => {
  const secret = result instanceof Uint8Array ? result : result.private
  wipe(secret)
}
