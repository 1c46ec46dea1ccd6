/** From one run of the firmware to the next, or to the end: everything that runs is stopped in order first. */

import type { Next } from './platform.ts'
import type { Terminal } from './terminal/terminal.ts'

/** True when it ended by itself, false when it had to be killed. */
type Stop = () => Promise<boolean>

interface RestartSequenceOptions {
  terminal: Pick<Terminal, 'print' | 'release'>
  endTrial: () => void
  stopChat: Stop
  stopFirmware: Stop
  stopEtcd: Stop
  startFirmware: () => void
}

export interface RestartSequence {
  /** Does this between two runs of the firmware. */
  change(action: () => Promise<Next>): Promise<void>
  /** Ends the process; with 1 where the firmware had to be killed. */
  end(exitCode: number): Promise<void>
  readonly isChanging: boolean
  readonly isEnding: boolean
}

export function createRestartSequence(options: RestartSequenceOptions): RestartSequence {
  const { terminal, endTrial, stopChat, stopFirmware, stopEtcd, startFirmware } = options
  let isChanging = false
  let isEnding = false

  async function change(action: () => Promise<Next>): Promise<void> {
    if (isChanging) return
    isChanging = true
    endTrial()
    await stopChat() // while the firmware still takes its last lines
    await stopFirmware()
    await stopEtcd() // which has the last counts of the firmware
    if (isEnding) return
    const next = await action()
    isChanging = false
    if (next === 'start') startFirmware()
    else end(next.exitCode)
  }

  async function end(exitCode: number): Promise<void> {
    if (isEnding) return
    isEnding = true
    endTrial()
    terminal.release()
    if (!(await stopChat())) terminal.print('The chat did not stop in time and was killed.')
    const isClean = await stopFirmware()
    if (!isClean) terminal.print('The firmware did not stop in time and was killed.')
    if (!(await stopEtcd())) terminal.print("The cluster's etcd did not stop in time and was killed.")
    process.exit(isClean ? exitCode : 1)
  }

  return {
    change,
    end,
    get isChanging() {
      return isChanging
    },
    get isEnding() {
      return isEnding
    },
  }
}
