/** One worker thread as the pool sees it: what it does, which keys it has open, and what is on its way to it. */

import { Worker } from '../../base/confinement.ts'
import type { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import type { KeyHandle, KeyPair } from '../types.ts'
import { Packer } from './message-encoding.ts'
import { type PoolRequest, packRequest, type Task, type ToWorker, type WorkerStart, wipeTask } from './messages.ts'

export type JobResult = Uint8Array | KeyPair

export interface Job {
  task: Task
  key: KeyHandle | undefined
  weight: number
  /** That count in the bound on those of all jobs. */
  bytes: number
  resolve: (result: JobResult) => void
  reject: (error: CofferError) => void
  /** Its caller has been refused already; a late result is wiped. */
  dropped: boolean
}

export interface Thread {
  worker: Worker
  ready: boolean
  /** Of one that signs: how far it is with each engine's first, slow calls, which it runs while it has nothing to do, and tests. */
  warmUp: 'due' | 'under way' | 'done'
  startedAtMs: number
  running: Map<number, Job>
  load: number
  /** Keys open in the worker, least recently used first. */
  opened: Map<number, true>
  /** Requests that leave together. */
  outbox: PoolRequest[]
  /** What ended it. */
  failure: unknown
}

const OPENED_MAX = 256 // per worker; opening one again costs one read of the store
const HEAP_MIB_MAX = 128 // tables of every curve take under 20; a runaway worker dies instead of the appliance
const NURSERY_MIB = 3 // what a signature leaves behind is collected in a tenth of a millisecond, and stays in a core's cache
const CLOSE_MS = 500 // to end an operation and wipe; one that takes longer, with the largest primes, is ended without

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
    failure: undefined,
  }
  // 'exit' follows. Of a cause the log shows kind, code and place: its text may quote numbers.
  worker.on('error', (error) => (thread.failure = error))
  return thread
}

export function warmUp(thread: Thread): void {
  thread.warmUp = 'under way'
  thread.worker.postMessage('warm up' satisfies ToWorker)
}

/** Puts the job into the outbox. Throws what reading the key throws; nothing has been given then. */
export function give(thread: Thread, job: Job, id: number, epoch: number): void {
  const request: PoolRequest = { id, epoch, task: job.task }
  if (job.key !== undefined) openIn(thread, job.key, request)
  thread.running.set(id, job)
  thread.load += job.weight
  thread.outbox.push(request)
}

/** Adds the key's private bytes to the request unless the worker has the key open, and names one to wipe when it is full. */
function openIn(thread: Thread, key: KeyHandle, request: PoolRequest): void {
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

export function depart({ worker, outbox }: Thread): void {
  if (outbox.length === 0) return
  const packer = new Packer()
  for (const request of outbox.splice(0)) packRequest(packer, request)
  const [batch, moved] = packer.close()
  worker.postMessage(batch satisfies ToWorker, moved)
}

/** The worker wipes that key, after the requests before. */
export function forgetKey(thread: Thread, ref: number): void {
  if (!thread.opened.delete(ref)) return
  depart(thread)
  thread.worker.postMessage({ forget: ref } satisfies ToWorker)
}

/** The job it has been done with. */
export function take(thread: Thread, id: number): Job {
  const job = thread.running.get(id)!
  thread.running.delete(id)
  thread.load -= job.weight
  return job
}

/** What was still on its way to one that has ended. */
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

/** It wipes its keys as soon as its current operation ends, and ends itself. */
export async function end({ worker }: Thread): Promise<void> {
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  worker.postMessage('close' satisfies ToWorker)
  const late = setTimeout(() => worker.terminate(), CLOSE_MS)
  await exited
  clearTimeout(late)
}
