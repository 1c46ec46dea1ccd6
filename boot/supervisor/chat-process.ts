/** The chat process: started while the firmware wants one, connected to it, and restarted like it. */

import type { ChildProcess } from 'node:child_process'
import type { ChatWish } from '../../firmware/channel/protocol.ts'
import { type FirmwareCommand, launch } from './firmware-process.ts'
import { type ProcessTimeouts, supervise } from './supervise.ts'

interface SupervisedChatOptions {
  /** Called at each start; an exception counts as a crash. */
  command: () => FirmwareCommand
  /** Inherited by the process, see directory-lock.ts. */
  lock: number | null
  onLaunch: (process: ChildProcess) => void
  /** Called after several crashes in a row. The chat is still restarted, after increasing delays. */
  onDown: (problem: string) => void
  onLines: (lines: string[]) => void
  timeouts?: ProcessTimeouts
}

export interface SupervisedChat {
  /** The last wish counts. `fresh` restarts a running chat. */
  want(wish: ChatWish): void
  /** Resolves when the chat has stopped; false if it had to be killed. */
  stop(): Promise<boolean>
}

/**
 * After this number of crashes in a row the chat counts as failed. It is still restarted: a request that crashes the chat must
 * not disable it until an administrator acts.
 */
const CRASHES_TOLD = 3

export function createChatProcess(options: SupervisedChatOptions): SupervisedChat {
  const { lock, onLaunch, onDown, onLines, timeouts } = options
  let wish: ChatWish | null = null
  let following: Promise<void> | null = null

  const chat = supervise<{ type: 'pong' }, never>({
    name: 'chat',
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
      if (next !== 'running') await chat.stop()
      if (next !== 'none' && wish === null) chat.startOrRetry()
    }
    following = null
  }

  const want = (next: ChatWish) => {
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
      return chat.stop()
    },
  }
}
