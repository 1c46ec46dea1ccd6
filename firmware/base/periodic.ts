import { describe } from './error.ts'
import type { Log } from './log.ts'

export interface PeriodicTask {
  /** Runs now, or joins the current run. Rejects if the run fails. */
  now(): Promise<void>
  /** The current run sees it through `isOpen`. */
  stop(): void
}

interface PeriodicOptions {
  run: (isOpen: () => boolean) => Promise<void>
  /** From the end of a run to the start of the next. */
  intervalMs: number
  /** The subject of log lines: `failure: error`. */
  failure: string
  /** The source of log lines. */
  source: Parameters<Log['error']>[0]
  log: Pick<Log, 'error'>
}

const AFTER_FAILURE_MS = 60_000 // each failure is a line of the log

export function startPeriodic({ run, intervalMs, failure, source, log }: PeriodicOptions): PeriodicTask {
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
  const waitLonger = (error: unknown): void => {
    if (isStopped) return // the store may have been closed meanwhile
    log.error(source, `${failure}: ${describe(error)}`)
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
