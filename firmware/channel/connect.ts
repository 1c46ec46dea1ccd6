/** The firmware's end of the channel. */

import { Socket } from 'node:net'
import { CHANNEL_DESCRIPTOR, type FramedChannel, openChannel } from './channel.ts'
import type { ToBoot, ToFirmware } from './protocol.ts'
import { readToFirmware } from './to-firmware.ts'

export type BootChannel = FramedChannel<ToFirmware, ToBoot>

/** Null when no boot manager has started us, or one that speaks over a channel of Node's. */
export function connect(): BootChannel | null {
  if (process.send !== undefined) return null
  try {
    return openChannel(new Socket({ fd: CHANNEL_DESCRIPTOR, readable: true, writable: true }), readToFirmware)
  } catch {
    return null // no descriptor, or no socket
  }
}
