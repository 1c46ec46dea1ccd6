/** Keeps a process running: starts it, restarts it with back-off after a crash, and stops it within a time limit. */

import type { ChildProcess } from 'node:child_process'
import { splitLines } from '../terminal/lines.ts'

/** Waiting times; tests shorten them. */
export interface RestartTimeouts {
  /** Delay after the first crash; doubled after each further one. */
  restartMs: number
  restartMsMax: number
  /** After this time a process has recovered: the next crash counts as the first. */
  steadyMs: number
  /** Time to end by itself after a request; then SIGKILL. */
  stopMsMax: number
}

const CRASHES_ALARMING = 5 // from this number on, the message reports a persistent problem
const LAST_LINES_MS = 1000 // time to read its last output

export interface RunningOptions {
  /** Name in log lines, such as `firmware`. */
  name: string
  /** Called at each start. The process must lead a process group of its own. */
  launch: () => ChildProcess
  /** Called with each process. If it throws, the process is killed, which counts as a crash. */
  onLaunch?: (process: ChildProcess) => void
  askToEnd: (process: ChildProcess) => void
  /** Called after a crash, with the number of crashes in a row. The process is restarted unless `isLast`. */
  onCrash: (explanation: string, what: string, crash: Crash) => void
  /** Called after a crash. Returns the reason as a predicate, to replace the exit code. */
  explainEnd?: () => string | null
  onLines: (lines: string[]) => void
  /** Called after each crash. Returns a reason against a restart, or null. */
  obstacle?: () => string | null
  timeouts: RestartTimeouts
}

interface Crash {
  inARow: number
  isLast: boolean
}

export interface RunningProcess {
  /** Has no effect while it runs or is about to start. Throws if the launch fails; a restart counts that as a crash. */
  start(): void
  /** As `start`, but counts a failed launch as a crash. */
  startOrRetry(): void
  /** Resolves when it has stopped: true if it ended by itself, false if it had to be killed. */
  stop(): Promise<boolean>
}

export function keepRunning(options: RunningOptions): RunningProcess {
  const { name, launch, onLaunch, timeouts, obstacle = () => null } = options
  let child: ChildProcess | null = null
  let restart: NodeJS.Timeout | undefined
  let stopping = false
  let crashes = 0

  const start = () => {
    clearTimeout(restart)
    if (child !== null) return
    stopping = false
    const startedAt = performance.now()
    const process = launch()
    child = process
    for (const stream of [process.stdout, process.stderr]) {
      if (stream === null) continue
      const lines = splitLines(options.onLines)
      stream.on('data', lines.write)
      stream.on('end', lines.end)
    }
    let failure = ''
    process.on('error', (error: NodeJS.ErrnoException) => {
      failure = unstarted(error)
    })
    try {
      onLaunch?.(process)
    } catch (error) {
      failure = unstarted(error)
      process.kill('SIGKILL')
    }
    process.on('exit', () => endRest(process))
    process.on('close', (code, signal) => {
      child = null
      if (stopping) return
      if (performance.now() - startedAt >= timeouts.steadyMs) crashes = 0
      crashed(failure || options.explainEnd?.() || `ended with ${signal ?? `exit code ${code}`}`)
    })
  }

  const startOrRetry = () => {
    try {
      start()
    } catch (error) {
      crashed(unstarted(error))
    }
  }

  const crashed = (what: string) => {
    crashes++
    const against = obstacle()
    const crash: Crash = { inARow: crashes, isLast: against !== null }
    const delayMs = Math.min(timeouts.restartMs * 2 ** (crashes - 1), timeouts.restartMsMax)
    const often = crashes >= CRASHES_ALARMING ? ` ${crashes} times in a row; the lines above may say why` : ''
    const next = against === null ? `It is started again in ${delayMs / 1000} s` : `It is not started again: ${against}`
    if (crash.isLast) crashes = 0
    else restart = setTimeout(startOrRetry, delayMs)
    options.onCrash(`The ${name} ${what}${often}. ${next}.`, what, crash)
  }

  const stop = async (): Promise<boolean> => {
    stopping = true
    crashes = 0
    clearTimeout(restart)
    const process = child
    if (process === null) return true
    let killed = false
    const closed = new Promise((resolve) => process.once('close', resolve))
    options.askToEnd(process)
    const impatience = setTimeout(() => {
      killed = true
      process.kill('SIGKILL')
    }, timeouts.stopMsMax)
    await closed
    clearTimeout(impatience)
    return !killed
  }

  return { start, startOrRetry, stop }
}

const unstarted = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  return `could not be started (${code ?? message})`
}

/** Ends its process group. Processes that have left the group may survive and hold the pipes open, so these are closed after a while. */
function endRest(ended: ChildProcess): void {
  try {
    if (ended.pid !== undefined) process.kill(-ended.pid, 'SIGKILL')
  } catch {} // the group is empty
  const timeouts = setTimeout(() => {
    for (const stream of ended.stdio) stream?.destroy()
  }, LAST_LINES_MS)
  ended.once('close', () => clearTimeout(timeouts))
}
