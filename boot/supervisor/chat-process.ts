/** The chat's process beside the firmware's: there while the firmware wants one, joined to it, restarted as it is. */

import type { ChildProcess } from 'node:child_process'
import type { ChatWish } from '../../firmware/channel/protocol.ts'
import { type FirmwareCommand, launch } from './firmware-process.ts'
import { type ProcessTimeouts, supervise } from './supervise.ts'

interface SupervisedChatOptions {
  /** Asked at each start; what it throws counts as a crash. */
  command: () => FirmwareCommand
  /** Inherited, see directory-lock.ts. */
  lock: number | null
  /** Called with each process when it begins. */
  onLaunch: (process: ChildProcess) => void
  /** It has crashed several times in a row. It is started again all the same, after a longer and longer wait. */
  onDown: (problem: string) => void
  onLines: (lines: string[]) => void
  timeouts?: ProcessTimeouts
}

export interface SupervisedChat {
  /** The last wish counts; `fresh` ends the one that runs. */
  want(wish: ChatWish): void
  /** Resolves when none runs, with false when one had to be killed. */
  stop(): Promise<boolean>
}

/**
 * From so many crashes in a row on the chat counts as failed. It still comes back by itself: one request that crashes the chat
 * must not take it from everybody until an administrator acts.
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

  /** One wish after the other; those that others have overtaken are passed over. */
  const follow = async () => {
    await null // until `following` is set
    while (wish !== null) {
      const next = wish
      wish = null
      if (next !== 'running') await chat.stop()
      if (next !== 'none' && wish === null) chat.startOrRetry()
    }
    following = null
  }

  const want = (next: ChatWish) => {
    // What was to end has not ended yet.
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
