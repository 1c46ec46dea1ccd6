/** Restart sequence from one run of the firmware to the next, or to the exit. All processes are stopped in order first. */

import type { Next } from './platform.ts'
import type { Terminal } from './terminal/terminal.ts'

/** Resolves to true if the process ended by itself, false if it had to be killed. */
type Stop = () => Promise<boolean>

interface RestartSequenceOptions {
  terminal: Pick<Terminal, 'print' | 'release'>
  endTrial: () => void
  /** Processes beside the firmware, stopped while it still accepts their last messages. */
  stopOthers: readonly { name: string; stop: Stop }[]
  stopFirmware: Stop
  stopEtcd: Stop
  startFirmware: () => void
}

export interface RestartSequence {
  change(action: () => Promise<Next>): Promise<void>
  /** Exits the process, with 1 if the firmware had to be killed. */
  end(exitCode: number): Promise<void>
  readonly isChanging: boolean
  readonly isEnding: boolean
}

export function createRestartSequence(options: RestartSequenceOptions): RestartSequence {
  const { terminal, endTrial, stopOthers, stopFirmware, stopEtcd, startFirmware } = options
  let isChanging = false
  let isEnding = false

  async function change(action: () => Promise<Next>): Promise<void> {
    if (isChanging) return
    isChanging = true
    endTrial()
    await Promise.all(stopOthers.map(({ stop }) => stop()))
    await stopFirmware()
    await stopEtcd() // after the firmware has written its last counters
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
    await Promise.all(
      stopOthers.map(async ({ name, stop }) => {
        if (!(await stop())) terminal.print(`The ${name} did not stop in time and was killed.`)
      }),
    )
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
