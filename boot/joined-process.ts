/** A process beside the firmware, such as the chat, and the pipe between the two. */

import type { ChildProcess } from 'node:child_process'
import { linkOf, pipeTo, type ServedProcess } from './supervisor/firmware-process.ts'
import { createRelay } from './supervisor/relay.ts'
import { createWantedProcess, type WantedProcess, type WantedProcessOptions } from './supervisor/wanted-process.ts'

type JoinedProcessOptions = Omit<WantedProcessOptions, 'onLaunch'> & { name: Exclude<ServedProcess, 'firmware'> }

export interface JoinedProcess extends WantedProcess {
  /** Connects the next process to this firmware. A firmware that sends an invalid message is killed. */
  join(firmware: ChildProcess): void
}

export function createJoinedProcess(options: JoinedProcessOptions): JoinedProcess {
  const { name, onLines } = options
  const joint = createRelay(name)
  const wanted = createWantedProcess({ ...options, onLaunch: (process) => joint.joinOther(linkOf(process)) })
  return {
    ...wanted,
    join(firmware) {
      const pipe = pipeTo(name, firmware)
      joint.joinFirmware(pipe, (why) => {
        onLines([`The firmware ${why}. It is killed.`])
        firmware.kill('SIGKILL')
      })
      pipe.on('close', () => wanted.want('none')) // it has its secrets from this firmware
    },
  }
}
