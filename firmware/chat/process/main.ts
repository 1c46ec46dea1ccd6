/** Entry point of the chat process, which the boot manager starts in addition to the firmware. */

import { Socket } from 'node:net'
import { CHANNEL_DESCRIPTOR, LINK_DESCRIPTOR, openChannel } from '../../channel/channel.ts'
import type { ToEveryProcess } from '../../channel/protocol.ts'
import { type FromChat, readToChat, type ToChat } from '../link/link.ts'
import { obey } from './service.ts'

const EXIT_UNSUPERVISED = 2

try {
  const socketOf = (fd: number) => new Socket({ fd, readable: true, writable: true })
  const channel = openChannel<ToEveryProcess, { type: 'pong' }>(socketOf(CHANNEL_DESCRIPTOR), readOrder)
  const link = openChannel<ToChat, FromChat>(socketOf(LINK_DESCRIPTOR), readToChat)
  obey(channel, link, new URL(import.meta.url))
} catch (error) {
  // The descriptor is missing or not a socket.
  if (!(error instanceof Error && 'code' in error)) throw error
  console.error('The chat does not run by itself; the boot manager starts it: make run')
  process.exitCode = EXIT_UNSUPERVISED
}

function readOrder(value: unknown): ToEveryProcess | null {
  const { type } = (value ?? {}) as { type?: unknown }
  return type === 'ping' || type === 'stop' ? { type } : null
}
