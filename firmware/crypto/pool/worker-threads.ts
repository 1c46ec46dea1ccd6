/** The threads of one queue: started as they are needed, replaced when they die or are found faulty, ended on a lock. */

import type { FromWorker } from './messages.ts'
import { depart, end, startThread, type Thread, warmUp } from './worker-thread.ts'

export interface ThreadsOptions {
  name: string
  threads: number
  entry: URL
  /** Raised by the pool before `forgetAll` and `close`. */
  epoch: SharedArrayBuffer
  /** Whether its workers sign, and warm up for that, one after the other. */
  signs?: boolean
  /** How far its threads stand back behind the others, as of nice(1). */
  nice?: number
}

interface ThreadsListeners {
  onMessage: (thread: Thread, message: FromWorker) => void
  /** It has ended, with all that it was doing. `isHopeless` when it never came up, and there is no other. */
  onLost: (thread: Thread, isHopeless: boolean) => void
  /** There may be one that takes a job. */
  onFree: () => void
}

export interface Threads {
  all(): Iterable<Thread>
  /** They take no more jobs, and have not ended. */
  ending(): Iterable<Thread>
  start(): void
  /** One that takes a job; undefined while all have enough. `operationMs` is how long an operation takes. */
  free(operationMs: number): Thread | undefined
  /** What it has been given is still answered, for each signature is checked. */
  replace(thread: Thread): void
  /** Resolves when all have ended. None takes their place by itself. */
  endAll(): Promise<void>
  /** As `endAll`, for good. */
  close(): Promise<void>
}

// Enough short jobs ahead to hide the way to the worker and back, few enough that a slow one delays little.
const LOAD_MAX = 16
const JOIN_MS = 0.5 // to wake a second thread is worth it for no less
const STABLE_MS = 10_000 // a worker that lived shorter is replaced only after a pause
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

  function spawn(): Thread {
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

  /** Two at a time would take twice as much from whatever else there is to do, and the second thread is needed later. */
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

  /** Starts another thread in its place, now or after a pause. */
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
    /** One that will soon be done with what it has, else the one with the least to do, unless all have enough. */
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
