/** The firmware's supervision: what starts it, and what it is told first. */

import type { ChildProcess } from 'node:child_process'
import { wipe } from '../../firmware/base/secret.ts'
import type { ToBoot, ToFirmware } from '../../firmware/channel/protocol.ts'
import { readMessage } from '../../firmware/channel/to-boot.ts'
import { type Early, type FirmwareCommand, launch, reuse } from './firmware-process.ts'
import { type ProcessTimeouts, supervise } from './supervise.ts'

export type { ProcessTimeouts } from './supervise.ts'

interface SupervisorOptions {
  /** Asked at each start. */
  command: () => FirmwareCommand
  /** Inherited by the firmware, see directory-lock.ts. */
  lock: number | null
  /** Taken for the first start, if it is what that asks for. */
  early?: Early | null
  /** Called with each process before it is sent anything. */
  onLaunch?: (process: ChildProcess) => void
  /** The first message; its secrets are wiped once it is sent. */
  startMessage: () => Extract<ToFirmware, { type: 'start' }>
  onMessage: (message: ToBoot) => void
  /** The firmware ended unasked; it comes back by itself. */
  onCrash: (explanation: string, what: string) => void
  /** Lines that the firmware printed, or that tell of it. */
  onLines: (lines: string[]) => void
  timeouts?: ProcessTimeouts
}

export interface Supervisor {
  start(): void
  /** Without effect while no firmware runs. */
  send(message: ToFirmware): void
  /** Hands over a passphrase and wipes it. */
  unlock(passphrase: Uint8Array): void
  /** Resolves when no firmware runs: true when it ended by itself, false when it had to be killed. */
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
