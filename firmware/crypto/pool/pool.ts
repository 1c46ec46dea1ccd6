/** Slow and secret operations in worker threads, behind the `CryptoPool` interface. */

import { availableParallelism, totalmem } from 'node:os'
import { copyTransient as copy } from '../../base/secret.ts'
import type { CryptoPool, KeyHandle, KeyPair } from '../types.ts'
import type { Task } from './messages.ts'
import { createWorkerQueue, type WorkerQueue } from './worker-queue.ts'

interface PoolOptions {
  /** Threads that use keys; default: one per core, as far as there is memory for them. */
  workers?: number
  /** The file that serves in a worker thread: worker.ts, or its bundle. */
  entry: URL
  /** Threads start with `start` or with their first job: whoever makes the pool has more urgent work for the cores. */
  startLater?: boolean
}

interface StartedPool extends CryptoPool {
  /** Starts the threads that start with the pool if not told otherwise, and their warming up. */
  start(): void
}

/** A request each of the 2000 connections that load generators keep; of RSA-4096 signatures, some seconds of two cores. */
const USE_JOBS_MAX = 2048

const BYTES_PER_THREAD = 128 * 1024 * 1024 // of the computer's memory; a thread itself takes some twenty megabytes

const SEARCH_NICE = 5 // a third of the weight of the other threads: sched(7)

/**
 * Three queues, none of which can hold up another for longer than the scheduler's time slice:
 * - `use` signs, decrypts and makes everything that takes milliseconds; one thread per core; only these hold opened keys;
 * - `derive` runs scrypt, a tenth to half a second each, one after the other appliance-wide (contract 7.1);
 * - `search` looks for RSA primes and checks imported ones, seconds to minutes; its thread starts when it is needed, and does not
 *   stay for long.
 * With a fixed share of the `use` threads instead, two cores would leave one for both derivations and prime searches,
 * and one RSA key of 8192 bits would keep everybody from logging in. The threads beyond the number of cores cost memory
 * only while idle; while a search runs, the operating system gives it what the others leave, or a third of what each of
 * them gets.
 */
export function createPool({ workers = threadsFor(totalmem()), entry, startLater }: PoolOptions): StartedPool {
  const epoch = new SharedArrayBuffer(4)
  const shared = { entry, epoch }
  let wrongBefore: readonly string[] | undefined
  const listeners: ((wrong: readonly string[]) => void)[] = []
  const onTested = (wrong: readonly string[]): void => {
    if (wrong.length > 0) wrongBefore = wrong
    for (const listener of listeners) listener(wrong)
  }
  const use = createWorkerQueue({
    ...shared,
    name: 'use',
    threads: Math.max(1, workers),
    jobsMax: USE_JOBS_MAX,
    signs: true,
    onTested,
  })
  const derive = createWorkerQueue({ ...shared, name: 'derive', threads: 1, jobsMax: 128 })
  const search = createWorkerQueue({
    ...shared,
    name: 'search',
    threads: 1,
    jobsMax: 32,
    startsLate: true,
    nice: SEARCH_NICE,
  })
  const queues = [use, derive, search]
  const start = (): void => {
    use.start()
    derive.start()
  }
  if (!startLater) start()

  const bytesOf = (queue: WorkerQueue, task: Task, key?: KeyHandle): Promise<Uint8Array> =>
    queue.run(task, key) as Promise<Uint8Array>
  const pairOf = (queue: WorkerQueue, task: Task): Promise<KeyPair> => queue.run(task) as Promise<KeyPair>

  // The copies are wiped here or in the worker.
  return {
    start,
    sign: (key, mode, message, context) =>
      bytesOf(use, { do: 'sign', ref: key.ref, mode, message: copy(message), context: context && copy(context) }, key),
    decrypt: (key, mode, encrypted, iv) =>
      bytesOf(use, { do: 'decrypt', ref: key.ref, mode, message: copy(encrypted), iv: iv && copy(iv) }, key),
    encrypt: (key, mode, message, iv) =>
      bytesOf(use, { do: 'encrypt', ref: key.ref, mode, message: copy(message), iv: copy(iv) }, key),
    generate: (type, bits) => pairOf(type === 'RSA' ? search : use, { do: 'generate', type, bits }),
    importRsa: (primeP, primeQ, publicExponent, claims) =>
      pairOf(search, {
        do: 'importRsa',
        primeP: copy(primeP),
        primeQ: copy(primeQ),
        publicExponent: copy(publicExponent),
        ...(claims && {
          privateExponent: copy(claims.privateExponent),
          exponentP: copy(claims.exponentP),
          exponentQ: copy(claims.exponentQ),
          coefficient: copy(claims.coefficient),
        }),
      }),
    importRaw: (type, data, expanded) =>
      pairOf(use, { do: 'import', type, data: copy(data), expanded: expanded && copy(expanded) }),
    scrypt: (passphrase, salt, cost) =>
      bytesOf(derive, { do: 'scrypt', passphrase: copy(passphrase), salt: copy(salt), cost }),
    onTested: (listener) => {
      listeners.push(listener)
      if (wrongBefore !== undefined) listener(wrongBefore)
    },
    forget: (ref) => use.forget(ref),
    forgetAll: () => {
      Atomics.add(new Int32Array(epoch), 0, 1)
      for (const queue of queues) queue.forgetAll()
    },
    close: async () => {
      Atomics.add(new Int32Array(epoch), 0, 1)
      await Promise.all(queues.map((queue) => queue.close()))
    },
  }
}

const threadsFor = (memoryBytes: number): number =>
  Math.min(availableParallelism(), Math.floor(memoryBytes / BYTES_PER_THREAD))
