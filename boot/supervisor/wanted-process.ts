/** A process that runs while the firmware wants one, such as the chat, and is restarted like the firmware. */

import type { ChildProcess } from 'node:child_process'
import type { ProcessWish } from '../../firmware/channel/protocol.ts'
import { type FirmwareCommand, launch } from './firmware-process.ts'
import { type ProcessTimeouts, supervise } from './supervise.ts'

export interface WantedProcessOptions {
  /** Name in log lines, such as `chat`. */
  name: string
  /** Called at each start; an exception counts as a crash. */
  command: () => FirmwareCommand
  /** Inherited by the process, see directory-lock.ts. */
  lock: number | null
  onLaunch: (process: ChildProcess) => void
  /** Called after several crashes in a row. The process is still restarted, after increasing delays. */
  onDown: (problem: string) => void
  onLines: (lines: string[]) => void
  timeouts?: ProcessTimeouts
}

export interface WantedProcess {
  /** The last wish counts. `fresh` restarts a running process. */
  want(wish: ProcessWish): void
  /** Resolves when the process has stopped; false if it had to be killed. */
  stop(): Promise<boolean>
}

/**
 * After this number of crashes in a row the process counts as failed. It is still restarted: a request that crashes it must not
 * disable it until an administrator acts.
 */
const CRASHES_TOLD = 3

export function createWantedProcess(options: WantedProcessOptions): WantedProcess {
  const { name, lock, onLaunch, onDown, onLines, timeouts } = options
  let wish: ProcessWish | null = null
  let following: Promise<void> | null = null

  const running = supervise<{ type: 'pong' }, never>({
    name,
    launch: () => {
      const process = launch(options.command(), lock)
      onLaunch(process)
      return process
    },
    read: (value) => ((value as { type?: unknown } | null)?.type === 'pong' ? { type: 'pong' } : null),
    onMessage: () => {},
    onCrash: (explanation, what, { inARow }) => {
      onLines([explanation])
      if (inARow >= CRASHES_TOLD) onDown(`it ${what} ${inARow} times in a row`)
    },
    onLines,
    ...(timeouts !== undefined && { timeouts }),
  })

  /** Processes wishes one at a time; skips those that were superseded. */
  const follow = async () => {
    await null // lets `following` be set first
    while (wish !== null) {
      const next = wish
      wish = null
      if (next !== 'running') await running.stop()
      if (next !== 'none' && wish === null) running.startOrRetry()
    }
    following = null
  }

  const want = (next: ProcessWish) => {
    // The process to end has not ended yet.
    const isEnding = wish === 'fresh' || wish === 'none'
    wish = next === 'running' && isEnding ? 'fresh' : next
    following ??= follow()
  }

  return {
    want,
    stop: async () => {
      wish = null
      await following
      return running.stop()
    },
  }
}
