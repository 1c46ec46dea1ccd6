/** Transport to a TPM: one command, then one response. */

import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import { wipe } from '../../firmware/base/secret.ts'

export interface Transport {
  /** Sends a complete command and waits for the complete response. Throws if the connection is broken. */
  transmit(command: Uint8Array): Uint8Array
  close(): void
}

export const RESPONSE_BYTES_MAX = 4096 // TPM2_PT_MAX_RESPONSE_SIZE of every TPM for PCs, and the size of the kernel's buffer

/**
 * The kernel's device. It executes a command during the write, and one read returns the response. With /dev/tpmrm0 the kernel
 * isolates objects and sessions from those of other programs, and drops them on close.
 */
export function openTpmDevice(path: string): Transport {
  const device = openSync(path, constants.O_RDWR)
  const buffer = new Uint8Array(RESPONSE_BYTES_MAX)
  return {
    transmit: (command) => {
      try {
        writeSync(device, command)
        return buffer.slice(0, readSync(device, buffer))
      } finally {
        wipe(buffer)
      }
    },
    close: () => closeSync(device),
  }
}
