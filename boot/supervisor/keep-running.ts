/** Keeps a process running: starts it, restarts it with back-off when it ends unasked, and stops it within a bounded time. */

import type { ChildProcess } from 'node:child_process'
import { splitLines } from '../terminal/lines.ts'

/** How we wait; tests shorten it. */
export interface RestartTimeouts {
  /** After the first crash; doubled with each further one. */
  restartMs: number
  restartMsMax: number
  /** What ran this long has recovered: the next crash counts as the first again. */
  steadyMs: number
  /** To end by itself once it is asked to; then SIGKILL. */
  stopMsMax: number
}

const CRASHES_ALARMING = 5 // from here on the line says that this does not look like bad luck
const LAST_LINES_MS = 1000 // for what it wrote before it ended

export interface RunningOptions {
  /** As our lines call it: `firmware`. */
  name: string
  /** Called at each start; it leads a process group of its own. */
  launch: () => ChildProcess
  /** Called with each process. One for which it throws is killed, and has crashed. */
  onLaunch?: (process: ChildProcess) => void
  askToEnd: (process: ChildProcess) => void
  /** It ended unasked, for so many times in a row; it comes back by itself unless `isLast`. */
  onCrash: (explanation: string, what: string, crash: Crash) => void
  /** Asked when it has ended unasked: the reason as a predicate, instead of its exit code. */
  explainEnd?: () => string | null
  /** Lines that it printed. */
  onLines: (lines: string[]) => void
  /** What keeps it from being started again, asked after each crash. */
  obstacle?: () => string | null
  timeouts: RestartTimeouts
}

interface Crash {
  inARow: number
  isLast: boolean
}

export interface RunningProcess {
  /** Without effect while it runs, or is about to. Throws what keeps it from being launched; a restart takes that for a crash. */
  start(): void
  /** The same, but takes that for a crash as a restart does. */
  startOrRetry(): void
  /** Resolves when it does not run: true when it ended by itself, false when it had to be killed. */
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
    for (const stream of [process.stdout!, process.stderr!]) {
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

/** What it started itself ends with it. What has left its group lives on, and holds its pipes open: we wait for it no longer. */
function endRest(ended: ChildProcess): void {
  try {
    process.kill(-ended.pid!, 'SIGKILL')
  } catch {} // nothing of it is left
  const timeouts = setTimeout(() => {
    for (const stream of ended.stdio) stream?.destroy()
  }, LAST_LINES_MS)
  ended.once('close', () => clearTimeout(timeouts))
}
