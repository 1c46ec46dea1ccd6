/** What the chat does by itself again and again: one round after the other, until it is stopped. */

import type { Log } from '../../../base/log.ts'

export interface PeriodicTask {
  /** One now; joins one that goes on. Rejects when the disk refuses. */
  now(): Promise<void>
  /** A round that goes on is told by its `isOpen`. */
  stop(): void
}

interface PeriodicOptions {
  run: (isOpen: () => boolean) => Promise<void>
  /** From the end of one to the next. */
  intervalMs: number
  /** For the log: `... : why`. */
  failure: string
  log: Log
}

const AFTER_FAILURE_MS = 60_000 // each is a line of the log

export function startPeriodic({ run, intervalMs, failure, log }: PeriodicOptions): PeriodicTask {
  let isStopped = false
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout
  const now = (): Promise<void> => {
    running ??= run(() => !isStopped).finally(() => {
      running = undefined
    })
    return running
  }
  const wait = (ms: number): void => {
    if (!isStopped) timer = setTimeout(() => now().then(goOn, waitLonger), ms).unref()
  }
  const goOn = (): void => wait(intervalMs)
  const waitLonger = (error: Error): void => {
    if (isStopped) return // the store may have been closed under it
    log.error('chat', `${failure}: ${error.message}`)
    wait(Math.max(intervalMs, AFTER_FAILURE_MS))
  }
  goOn()
  return {
    now,
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
