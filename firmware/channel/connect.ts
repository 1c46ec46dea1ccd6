/** The ends of the channel, and of the pipe to the firmware, in the processes that the boot manager starts. */

import { Socket } from 'node:net'
import { CHANNEL_DESCRIPTOR, type FramedChannel, LINK_DESCRIPTOR, openChannel } from './channel.ts'
import type { ToBoot, ToEveryProcess, ToFirmware } from './protocol.ts'
import { readToFirmware } from './to-firmware.ts'

export type BootChannel = FramedChannel<ToFirmware, ToBoot>

/** Null when no boot manager has started us, or one that speaks over a channel of Node's. */
export function connect(): BootChannel | null {
  if (process.send !== undefined) return null
  try {
    return openChannel(socketOf(CHANNEL_DESCRIPTOR), readToFirmware)
  } catch {
    return null // no descriptor, or no socket
  }
}

interface JoinedEnds<In, Out extends object> {
  channel: FramedChannel<ToEveryProcess, { type: 'pong' }>
  link: FramedChannel<In, Out>
}

/** The ends of a process beside the firmware; null if no boot manager has started it. `read` parses a message of the firmware. */
export function connectJoined<In, Out extends object>(read: (value: unknown) => In | null): JoinedEnds<In, Out> | null {
  try {
    const channel = openChannel<ToEveryProcess, { type: 'pong' }>(socketOf(CHANNEL_DESCRIPTOR), readOrder)
    return { channel, link: openChannel<In, Out>(socketOf(LINK_DESCRIPTOR), read) }
  } catch (error) {
    // The descriptor is missing or not a socket.
    if (!(error instanceof Error && 'code' in error)) throw error
    return null
  }
}

const socketOf = (fd: number): Socket => new Socket({ fd, readable: true, writable: true })

function readOrder(value: unknown): ToEveryProcess | null {
  const { type } = (value ?? {}) as { type?: unknown }
  return type === 'ping' || type === 'stop' ? { type } : null
}
