/** The way to a TPM: one command out, one response back, and nothing in between. */

import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import { wipe } from '../../firmware/base/secret.ts'

export interface Transport {
  /** Sends a whole command and waits for the whole response. Throws when the way is broken. */
  transmit(command: Uint8Array): Uint8Array
  close(): void
}

export const RESPONSE_BYTES_MAX = 4096 // TPM2_PT_MAX_RESPONSE_SIZE of every TPM for PCs, and the kernel's buffer

/**
 * The kernel's device: it executes a command while it is written, and gives the response to one read. Through
 * /dev/tpmrm0 the kernel keeps our objects and sessions apart from those of others, and drops them when it is closed.
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
