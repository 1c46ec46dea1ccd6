/** Supervises the firmware: starts it and sends its first message. */

import type { ChildProcess } from 'node:child_process'
import { wipe } from '../../firmware/base/secret.ts'
import type { ToBoot, ToFirmware } from '../../firmware/channel/protocol.ts'
import { readMessage } from '../../firmware/channel/to-boot.ts'
import { type Early, type FirmwareCommand, launch, reuse } from './firmware-process.ts'
import { type ProcessTimeouts, supervise } from './supervise.ts'

export type { ProcessTimeouts } from './supervise.ts'

interface SupervisorOptions {
  command: () => FirmwareCommand
  /** Inherited by the firmware, see directory-lock.ts. */
  lock: number | null
  /** Used for the first start if its command is the same. */
  early?: Early | null
  /** Called with each process before any message is sent. */
  onLaunch?: (process: ChildProcess) => void
  /** First message; its secrets are wiped after sending. */
  startMessage: () => Extract<ToFirmware, { type: 'start' }>
  onMessage: (message: ToBoot) => void
  /** Called after a crash; the firmware is restarted. */
  onCrash: (explanation: string, what: string) => void
  /** Lines printed by the firmware, or about it. */
  onLines: (lines: string[]) => void
  timeouts?: ProcessTimeouts
}

export interface Supervisor {
  start(): void
  /** Has no effect while no firmware runs. */
  send(message: ToFirmware): void
  /** Sends a passphrase and wipes it. */
  unlock(passphrase: Uint8Array): void
  /** Resolves when the firmware has stopped: true if it ended by itself, false if it had to be killed. */
  stop(): Promise<boolean>
}

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { lock, startMessage, onLaunch = () => {}, onMessage, onCrash, onLines, timeouts } = options
  let early = options.early ?? null
  const firmware = supervise<ToBoot, ToFirmware>({
    name: 'firmware',
    launch: () => {
      const command = options.command()
      const process = reuse(early, command) ?? launch(command, lock)
      early = null
      onLaunch(process)
      return process
    },
    read: readMessage,
    greet: (send) => {
      const message = startMessage()
      send(message)
      wipe(message.deviceKey)
    },
    onMessage,
    onCrash,
    onLines,
    ...(timeouts !== undefined && { timeouts }),
  })
  return {
    ...firmware,
    unlock: (passphrase) => {
      firmware.send({ type: 'unlock', passphrase })
      wipe(passphrase)
    },
  }
}
