/** State of a worker thread in the pool: running jobs, opened keys, and requests to send. */

import { MessageChannel } from 'node:worker_threads'
import { Worker } from '../../base/confinement.ts'
import { defined } from '../../base/defined.ts'
import type { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import type { KeyHandle, KeyPair } from '../types.ts'
import { Packer } from './message-encoding.ts'
import { type PoolRequest, packRequest, type Task, type ToWorker, type WorkerStart, wipeTask } from './messages.ts'

export type JobResult = Uint8Array | KeyPair

export interface Job {
  task: Task
  key: KeyHandle | undefined
  /** Empty for a job of no user. */
  user: string
  weight: number
  /** Bytes that count against the limit of all jobs. */
  bytes: number
  resolve: (result: JobResult) => void
  reject: (error: CofferError) => void
  /** True if the caller has been refused already. A late result is wiped. */
  dropped: boolean
}

export interface Thread {
  worker: Worker
  ready: boolean
  /** State of a signing worker's warm-up and tests, which run while it is idle. */
  warmUp: 'due' | 'under way' | 'done'
  startedAtMs: number
  running: Map<number, Job>
  load: number
  /** References of open keys, least recently used first. */
  opened: Map<number, true>
  outbox: PoolRequest[]
  /** Resolves when the worker has answered the request to overwrite its garbage. */
  overwriting: Promise<void> | undefined
  failure: unknown
}

// Enough short jobs to hide the latency of messages, and few enough that a slow job delays little.
export const LOAD_MAX = 16
const OPENED_MAX = 256 // per worker; reopening a key costs one read of the store
const HEAP_MIB_MAX = 128 // tables of all curves take less than 20; a runaway worker ends instead of the appliance
const NURSERY_MIB = 3 // garbage of a signature is collected in a tenth of a millisecond and fits a core's cache
const CLOSE_MS = 500 // time to finish an operation and wipe; longer ones, with the largest primes, are terminated

export function startThread(name: string, entry: URL, start: WorkerStart): Thread {
  const worker = new Worker(entry, {
    name: `crypto ${name}`,
    workerData: start,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX, maxYoungGenerationSizeMb: NURSERY_MIB },
  })
  const thread: Thread = {
    worker,
    ready: false,
    warmUp: 'due',
    startedAtMs: performance.now(),
    running: new Map(),
    load: 0,
    opened: new Map(),
    outbox: [],
    overwriting: undefined,
    failure: undefined,
  }
  // 'exit' follows. The log shows only type, code and location of a cause: its text may quote secret numbers.
  worker.on('error', (error) => (thread.failure = error))
  return thread
}

export function warmUp(thread: Thread): void {
  thread.warmUp = 'under way'
  thread.worker.postMessage('warm up' satisfies ToWorker)
}

/** Adds the job to the outbox. If reading the key throws, rethrows and adds nothing. */
export function give(thread: Thread, job: Job, id: number, epoch: number): void {
  const request: PoolRequest = { id, epoch, task: job.task }
  if (job.key !== undefined) openIn(thread, job.key, request)
  thread.running.set(id, job)
  thread.load += job.weight
  thread.outbox.push(request)
}

/** Adds the private bytes to the request unless the key is open in the worker. If the worker is full, names a key to wipe. */
function openIn(thread: Thread, key: KeyHandle, request: PoolRequest): void {
  if (!thread.opened.delete(key.ref)) {
    request.open = { type: key.type, private: key.load() }
    if (thread.opened.size >= OPENED_MAX) {
      request.evict = defined(thread.opened.keys().next().value)
      thread.opened.delete(request.evict)
    }
  }
  thread.opened.set(key.ref, true)
}

export function depart({ worker, outbox }: Thread): void {
  if (outbox.length === 0) return
  const packer = new Packer()
  for (const request of outbox.splice(0)) packRequest(packer, request)
  const [batch, moved] = packer.close()
  worker.postMessage(batch satisfies ToWorker, moved)
}

/** Makes the worker wipe the key after all previous requests. */
export function forgetKey(thread: Thread, ref: number): void {
  if (!thread.opened.delete(ref)) return
  depart(thread)
  thread.worker.postMessage({ forget: ref } satisfies ToWorker)
}

/** Resolves when the worker has done so, after its previous requests, or has ended. Calls meanwhile share one request. */
export function overwriteGarbage(thread: Thread): Promise<void> {
  thread.overwriting ??= requestOverwriting(thread)
  return thread.overwriting
}

async function requestOverwriting(thread: Thread): Promise<void> {
  depart(thread)
  thread.load += LOAD_MAX // no more jobs until then: other threads take them
  await overwritten(thread)
  thread.load -= LOAD_MAX
  thread.overwriting = undefined
}

function overwritten({ worker }: Thread): Promise<void> {
  const { port1, port2 } = new MessageChannel()
  worker.postMessage({ overwriteGarbage: port2 } satisfies ToWorker, [port2])
  return new Promise((resolve) => {
    const end = (): void => {
      worker.off('exit', end)
      resolve()
    }
    port1.once('close', end)
    worker.once('exit', end) // a port that came too late is not closed
  })
}

export function take(thread: Thread, id: number): Job {
  const job = defined(thread.running.get(id))
  thread.running.delete(id)
  thread.load -= job.weight
  return job
}

/** Wipes unsent requests of a thread that has ended. */
export function wipeOutbox({ outbox }: Thread): void {
  for (const request of outbox) {
    wipeTask(request.task)
    wipe(request.open?.private)
  }
}

export function drop(job: Job, error: CofferError): void {
  if (job.dropped) return
  job.dropped = true
  job.reject(error)
}

/** Ends the thread. It wipes its keys after its current operation. */
export async function end({ worker }: Thread): Promise<void> {
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  worker.postMessage('close' satisfies ToWorker)
  const late = setTimeout(() => worker.terminate(), CLOSE_MS)
  await exited
  clearTimeout(late)
}
