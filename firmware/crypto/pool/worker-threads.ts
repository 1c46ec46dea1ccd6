/** Threads of one queue: started on demand, replaced when they die or become faulty, ended by a lock. */

import { runDetached } from '../../base/request-authorization.ts'
import type { FromWorker } from './messages.ts'
import { depart, end, LOAD_MAX, startThread, type Thread, warmUp } from './worker-thread.ts'

export interface ThreadsOptions {
  name: string
  threads: number
  entry: URL
  /** Incremented by the pool before `forgetAll` and `close`. */
  epoch: SharedArrayBuffer
  /** True if the workers sign. These warm up, one at a time. */
  signs?: boolean
  /** Niceness of the threads, as in nice(1). */
  nice?: number
}

interface ThreadsListeners {
  onMessage: (thread: Thread, message: FromWorker) => void
  /** The thread has ended with its running jobs. `isHopeless` is true if it never started and there is no other thread. */
  onLost: (thread: Thread, isHopeless: boolean) => void
  onFree: () => void
}

export interface Threads {
  all(): Iterable<Thread>
  /** Threads that take no more jobs and have not ended yet. */
  ending(): Iterable<Thread>
  start(): void
  /** Returns a thread for a job; undefined if all are busy. `operationMs` is the duration of an operation. */
  free(operationMs: number): Thread | undefined
  /** Replaces a faulty thread. Its pending jobs are still answered, since each signature is verified. */
  replace(thread: Thread): void
  /** Ends all threads without replacing them. Resolves when all have ended. */
  endAll(): Promise<void>
  /** As `endAll`; no thread starts afterwards. */
  close(): Promise<void>
}

const JOIN_MS = 0.5 // waking a second thread is not worth it for less
const STABLE_MS = 10_000 // a worker that ends earlier is replaced only after a pause
const PAUSE_MS = 1_000

export function createThreads(options: ThreadsOptions, { onMessage, onLost, onFree }: ThreadsListeners): Threads {
  const { name, entry, epoch, signs = false, nice = 0 } = options
  const threads = new Set<Thread>()
  const ending = new Map<Thread, Promise<void>>()
  let pausedUntilMs = 0
  let pause: NodeJS.Timeout | undefined
  let isClosed = false

  function start(): void {
    while (threads.size < options.threads) spawn()
  }

  /** Bound to no request: a thread outlives the one that needs it first, and would keep its credentials and body in memory. */
  const spawn = (): Thread => runDetached(spawnThread)

  function spawnThread(): Thread {
    const thread = startThread(name, entry, { epoch, nice })
    threads.add(thread)
    warmUpNext()
    thread.worker.on('message', (message: FromWorker) => {
      onMessage(thread, message)
      if (typeof message === 'string' || !('wrong' in message)) return
      thread.warmUp = 'done'
      warmUpNext()
    })
    thread.worker.on('exit', () => bury(thread))
    return thread
  }

  /** Warms up one thread at a time: two would take twice as much of the processor, and the second thread is needed later. */
  function warmUpNext(): void {
    const all = [...threads]
    if (!signs || all.some((thread) => thread.warmUp === 'under way')) return
    const next = all.find((thread) => thread.warmUp === 'due')
    if (next !== undefined) warmUp(next)
  }

  function bury(thread: Thread): void {
    const isReplaced = !threads.delete(thread)
    ending.delete(thread)
    const isSucceeded = !isClosed && !isReplaced
    onLost(thread, isSucceeded && !thread.ready && threads.size === 0)
    if (isSucceeded) succeed(thread)
  }

  function succeed({ startedAtMs }: Thread): void {
    if (performance.now() - startedAtMs < STABLE_MS) pauseStarts()
    if (!isPaused()) spawn()
    onFree()
  }

  const isPaused = (): boolean => performance.now() < pausedUntilMs

  function pauseStarts(): void {
    pausedUntilMs = performance.now() + PAUSE_MS
    clearTimeout(pause)
    pause = setTimeout(() => {
      pausedUntilMs = 0
      start()
      onFree()
    }, PAUSE_MS)
  }

  async function endAll(): Promise<void> {
    for (const thread of threads) ending.set(thread, end(thread))
    threads.clear()
    await Promise.all(ending.values())
  }

  return {
    all: () => threads,
    ending: () => ending.keys(),
    start,
    /** Prefers a thread that will be free soon, else the one with the least load, unless all are busy. */
    free(operationMs) {
      let freest: Thread | undefined
      for (const thread of threads) {
        if (isSoonFree(thread, operationMs)) return thread
        if (freest === undefined || thread.load < freest.load) freest = thread
      }
      if (freest?.load === 0 || threads.size === options.threads || isPaused()) {
        return freest !== undefined && freest.load < LOAD_MAX ? freest : undefined
      }
      return spawn()
    },
    replace(thread) {
      if (!threads.delete(thread)) return
      depart(thread)
      ending.set(thread, end(thread))
      succeed(thread)
    },
    endAll,
    close() {
      isClosed = true
      clearTimeout(pause)
      return endAll()
    },
  }
}

function isSoonFree({ load, running }: Thread, operationMs: number): boolean {
  const isAllShort = load === running.size
  return isAllShort && load > 0 && load < LOAD_MAX && load * operationMs < JOIN_MS
}
