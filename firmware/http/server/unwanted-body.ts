/**
 * Discards the rest of a body whose request is already answered, within bounds, so that the client can finish sending and read the answer.
 * Closing the connection while the client sends would destroy the answer: RFC 9112 section 9.6.
 */

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ListenerLimits } from './limits.ts'

const CHECK_MS = 100

const expectedBytes = new WeakMap<IncomingMessage, number>()

/** Sets the largest body of the endpoint. This much is discarded if it is more than `drainBytesMax`. */
export function expectBody(incoming: IncomingMessage, bytesMax: number): void {
  expectedBytes.set(incoming, bytesMax)
}

export function watchDrain(incoming: IncomingMessage, limits: ListenerLimits): void {
  const { socket } = incoming
  const { drainMs, drainBytesPerSecondMin } = limits
  const bytesMax = Math.max(limits.drainBytesMax, expectedBytes.get(incoming) ?? 0)
  const started = performance.now()
  const startBytes = socket.bytesRead
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - started
    const bytes = socket.bytesRead - startBytes
    const isSlow = elapsedMs > drainMs && (bytes / elapsedMs) * 1000 < drainBytesPerSecondMin
    if (incoming.complete || socket.destroyed) clearInterval(timer)
    else if (isSlow || bytes > bytesMax) socket.destroy()
  }, CHECK_MS)
  incoming.on('error', () => {}) // the client may disconnect
}

/** When Node ends the connection after an answer, only the server's side is closed until the body of `last()` is complete. */
export function closeAfterBody(socket: Socket, last: () => IncomingMessage | undefined): void {
  const { destroySoon } = socket
  socket.destroySoon = () => {
    const incoming = last()
    if (incoming === undefined || incoming.complete) return destroySoon.call(socket)
    incoming.once('end', () => destroySoon.call(socket))
    socket.end()
  }
}
