/** Runs slow and secret operations in worker threads. */

import { availableParallelism, totalmem } from 'node:os'
import { copyTransient as copy } from '../../base/secret.ts'
import type { CryptoPool, KeyHandle, KeyPair } from '../types.ts'
import type { Task } from './messages.ts'
import { createWorkerQueue, type WorkerQueue } from './worker-queue.ts'

interface PoolOptions {
  /** Number of threads that use keys. Default: one per core, limited by memory. */
  workers?: number
  /** The script of a worker thread: worker.ts or its bundle. */
  entry: URL
  /** Starts threads with `start` or the first job instead of at once, while the caller needs the cores for more urgent work. */
  startLater?: boolean
}

export interface StartedPool extends CryptoPool {
  /** Starts and warms up the threads that `startLater` has deferred. */
  start(): void
  /** Overwrites the garbage of one thread after the other, except of one with a search under way: base/garbage.ts. */
  overwriteGarbage(): Promise<void>
}

/** One request for each of the 2000 connections that load generators open: some seconds of RSA-4096 signatures on two cores. */
const USE_JOBS_MAX = 2048

const BYTES_PER_THREAD = 128 * 1024 * 1024 // of system memory; a thread itself takes about twenty megabytes

const SEARCH_NICE = 5 // a third of the weight of the other threads: sched(7)

/**
 * Three queues, none of which can delay another one for longer than the scheduler's time slice:
 * - `use` signs, decrypts and runs all operations that take milliseconds. It has one thread per core, and only these hold opened
 * keys.
 * - `derive` runs scrypt, a tenth to half a second each, one at a time for the complete appliance (contract section 7.1).
 * - `search` searches RSA primes and checks imported ones, seconds to minutes. Its thread starts on demand and ends soon after.
 * If the `use` threads shared these jobs instead, two cores would leave one thread for both derivations and prime searches, and
 * one RSA key of 8192 bits would block all sign-ins. Threads beyond the number of cores cost only memory while idle. During a
 * search, the operating system gives it the idle time, or a third of the share of another thread.
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
    decrypt: (key, mode, encrypted, iv, associatedData, context) =>
      bytesOf(
        use,
        { do: 'decrypt', ref: key.ref, mode, message: copy(encrypted), ...copied({ iv, associatedData, context }) },
        key,
      ),
    encrypt: (key, mode, message, iv, associatedData, context) =>
      bytesOf(
        use,
        {
          do: 'encrypt',
          ref: key.ref,
          mode,
          message: copy(message),
          iv: copy(iv),
          ...copied({ associatedData, context }),
        },
        key,
      ),
    encryptRsa: (publicKey, message) => bytesOf(use, { do: 'encryptRsa', publicKey, message: copy(message) }),
    verify: async (type, publicKey, mode, message, signature) => {
      const task = { do: 'verify', type, publicKey, mode, message: copy(message), signature: copy(signature) } as const
      return (await bytesOf(use, task))[0] === 1
    },
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
    overwriteGarbage: async () => {
      for (const queue of queues) await queue.overwriteGarbage()
    },
    close: async () => {
      Atomics.add(new Int32Array(epoch), 0, 1)
      await Promise.all(queues.map((queue) => queue.close()))
    },
  }
}

const copied = <Names extends string>(arrays: Readonly<Record<Names, Uint8Array | undefined>>) =>
  Object.fromEntries(
    (Object.entries(arrays) as [Names, Uint8Array | undefined][]).map(([name, bytes]) => [name, bytes && copy(bytes)]),
  ) as Record<Names, Uint8Array | undefined>

const threadsFor = (memoryBytes: number): number =>
  Math.min(availableParallelism(), Math.floor(memoryBytes / BYTES_PER_THREAD))
