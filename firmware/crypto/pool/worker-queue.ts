/** One bounded queue of the crypto pool, fair among users. It replaces worker threads that die. */

import { CofferError, wrongState } from '../../base/error.ts'
import { MIB, memoryFor } from '../../base/memory.ts'
import { requestingUser } from '../../base/request-authorization.ts'
import { wipe } from '../../base/secret.ts'
import type { KeyHandle } from '../types.ts'
import { Unpacker } from './message-encoding.ts'
import { bytesIn, type PoolReply, type Replies, type Task, unpackReply, wipeTask } from './messages.ts'
import { createWaitingJobs } from './waiting-jobs.ts'
import {
  depart,
  drop,
  forgetKey,
  give,
  type Job,
  type JobResult,
  overwriteGarbage,
  type Thread,
  take,
  wipeOutbox,
} from './worker-thread.ts'
import { createThreads, type ThreadsOptions } from './worker-threads.ts'

interface WorkerQueueOptions extends ThreadsOptions {
  /**
   * Limit of waiting and running jobs. In a full queue the newest waiting job of the user with most of them is refused with `busy`, be it
   * the one that comes.
   */
  jobsMax: number
  /** Called with the failed algorithms after a signing worker has tested all of them. */
  onTested?: (wrong: readonly string[]) => void
  /** True if threads start with a job and end after a while without one, since each takes about twenty megabytes. */
  startsLate?: boolean
}

export interface WorkerQueue {
  /** Starts all threads now instead of with the first job. */
  start(): void
  /** Takes ownership of the task's byte arrays. */
  run(task: Task, key?: KeyHandle): Promise<JobResult>
  forget(ref: number): void
  /**
   * Refuses all waiting and running jobs. Each worker wipes its keys after its current operation and ends, since only the
   * operating system reclaims all memory of a thread. Replacements start then, or with the next job.
   */
  forgetAll(): void
  /**
   * Overwrites the garbage of one thread after the other, once all have ended that `forgetAll` ends: base/garbage.ts. A busy thread is
   * waited for until a time limit, or passed over if it starts late.
   */
  overwriteGarbage(): Promise<void>
  close(): Promise<void>
}

const HEAVY_WEIGHT = 8 // for RSA, messages of a megabyte, derivations and searches: a worker gets two of them ahead
const HEAVY_BYTES = MIB
const BYTES_MAX = memoryFor(1 / 3, 64 * MIB, 256 * MIB) // four of the largest messages of the API, or one on a small device
const SMALL_BYTES = 16 * 1024 // not counted in each message, so that large messages do not keep out small ones
const OPERATION_MS_START = 1 // until some operations have been measured
const OPERATION_MS_WEIGHT = 0.2 // weight of the latest measurement
const OVERWRITING_MS_MAX = 2000 // of each thread; most take a tenth of a second after their jobs
const IDLE_MS_MAX = 10_000 // for threads that start late; starting one again takes a tenth of a second

export function createWorkerQueue(options: WorkerQueueOptions): WorkerQueue {
  const epoch = new Int32Array(options.epoch)
  const waiting = createWaitingJobs()
  let jobs = 0
  let bytes = 0
  let nextId = 1
  /** Smoothed duration of an operation. */
  let operationMs = OPERATION_MS_START
  let _departure: NodeJS.Immediate | undefined
  let idle: NodeJS.Timeout | undefined
  let isClosed = false
  /** Resolves when threads have started anew after the last `forgetAll`. */
  let restarted: Promise<void> = Promise.resolve()

  const threads = createThreads(options, {
    onMessage: (thread, message) => {
      if (message === 'ready') thread.ready = true
      else if ('wrong' in message) options.onTested?.(message.wrong)
      else concludeAll(thread, message)
    },
    onLost: bury,
    onFree: dispatch,
  })

  function run(task: Task, key?: KeyHandle): Promise<JobResult> {
    const taskBytes = bytesIn(task)
    const counted = Math.max(0, taskBytes - SMALL_BYTES)
    const user = requestingUser()
    const refusal = refusalOf(user, counted)
    if (refusal !== undefined) {
      wipeTask(task)
      return Promise.reject(refusal)
    }
    const heavy = !options.signs || key?.type === 'RSA' || taskBytes >= HEAVY_BYTES
    const weight = heavy ? HEAVY_WEIGHT : 1
    jobs++
    bytes += counted
    clearTimeout(idle)
    return new Promise((resolve, reject) => {
      waiting.add({ task, key, user, weight, bytes: counted, resolve, reject, dropped: false })
      dispatch()
    })
  }

  /** Refuses jobs of other users instead if they make room. */
  function refusalOf(user: string, more: number): CofferError | undefined {
    if (isClosed) return wrongState()
    const missing = {
      jobs: Math.max(0, jobs + 1 - options.jobsMax),
      bytes: more === 0 ? 0 : Math.max(0, bytes + more - BYTES_MAX),
    }
    if (missing.jobs === 0 && missing.bytes === 0) return undefined
    const refused = waiting.makeRoom(user, missing, more)
    if (refused === null) return tooMany()
    for (const job of refused) refuse(job, tooMany())
    return undefined
  }

  function dispatch(): void {
    while (waiting.size > 0) {
      const thread = threads.free(operationMs)
      const job = thread && waiting.next()
      if (thread === undefined || job === undefined) return
      send(thread, job)
    }
  }

  function send(thread: Thread, job: Job): void {
    try {
      give(thread, job, nextId++, Atomics.load(epoch, 0))
    } catch (error) {
      settle(job)
      wipeTask(job.task)
      job.reject(error instanceof CofferError ? error : new CofferError('internal', 'The key cannot be read', error))
      return
    }
    _departure ??= setImmediate(departAll)
  }

  /** Sends all jobs of one turn of the event loop in one message, since waking a worker costs as much as a short operation. */
  function departAll(): void {
    _departure = undefined
    for (const thread of threads.all()) depart(thread)
  }

  function concludeAll(thread: Thread, message: Replies): void {
    if (message.isFaulty) threads.replace(thread)
    const replies = new Unpacker(message)
    let count = 0
    for (; !replies.isEmpty; count++) conclude(thread, unpackReply(replies))
    operationMs += OPERATION_MS_WEIGHT * (message.tookMs / count - operationMs)
    dispatch()
  }

  function conclude(thread: Thread, reply: PoolReply): void {
    const job = take(thread, reply.id)
    settle(job)
    if ('result' in reply) {
      if (job.dropped) wipeResult(reply.result)
      else job.resolve(reply.result)
    } else {
      if (reply.unopened && !job.dropped && job.key !== undefined) thread.opened.delete(job.key.ref)
      if (!job.dropped) job.reject(new CofferError(reply.code, reply.message))
    }
  }

  /** Fails the jobs of a dead worker. Its replacement, if any, takes the rest of the queue. */
  function bury(thread: Thread, isHopeless: boolean): void {
    const error = new CofferError('internal', 'A crypto worker stopped', thread.failure)
    for (const job of thread.running.values()) {
      settle(job)
      drop(job, error)
    }
    wipeOutbox(thread)
    if (isHopeless) dropQueued(() => true, error)
  }

  function settle(job: Job): void {
    jobs--
    bytes -= job.bytes
    if (options.startsLate && jobs === 0) idle = setTimeout(() => threads.endAll(), IDLE_MS_MAX).unref()
  }

  function dropQueued(selects: (job: Job) => boolean, error: CofferError): void {
    for (const job of waiting.remove(selects)) refuse(job, error)
  }

  function refuse(job: Job, error: CofferError): void {
    settle(job)
    wipeTask(job.task)
    drop(job, error)
  }

  function endAll(end: () => Promise<void>): Promise<void> {
    const error = wrongState()
    dropQueued(() => true, error)
    const ended = end()
    for (const thread of threads.ending()) for (const job of thread.running.values()) drop(job, error)
    return ended
  }

  return {
    start: threads.start,
    run,
    forget(ref) {
      dropQueued((job) => job.key?.ref === ref, new CofferError('notFound', 'The key no longer exists'))
      for (const thread of threads.all()) forgetKey(thread, ref)
    },
    forgetAll() {
      restarted = endAll(threads.endAll).then(() => {
        if (!isClosed && !options.startsLate) threads.start()
      })
    },
    async overwriteGarbage() {
      await restarted
      for (const thread of threads.all()) {
        if (options.startsLate && thread.running.size > 0) continue // its jobs take minutes, and it ends soon after them
        await new Promise<void>((resolve) => {
          const late = setTimeout(resolve, OVERWRITING_MS_MAX)
          overwriteGarbage(thread).then(() => {
            clearTimeout(late)
            dispatch()
            resolve()
          })
        })
      }
    },
    close() {
      isClosed = true
      clearTimeout(idle)
      return endAll(threads.close)
    },
  }
}

const tooMany = () => new CofferError('busy', 'Too many operations are waiting')

const wipeResult = (result: JobResult): void => {
  const secret = result instanceof Uint8Array ? result : result.private
  wipe(secret)
}
