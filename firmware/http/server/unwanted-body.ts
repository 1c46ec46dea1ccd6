/**
 * A request that was answered before its body had come: the rest is discarded, within bounds, so that the client can
 * finish and read its answer. Closing the connection of a client that still sends destroys the answer: RFC 9112
 * section 9.6.
 */

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ListenerLimits } from './limits.ts'

const CHECK_MS = 100

const expectedBytes = new WeakMap<IncomingMessage, number>()

/** The largest body that the endpoint takes, where that is more than `drainBytesMax`: so much of it is discarded. */
export function expectBody(incoming: IncomingMessage, bytesMax: number): void {
  expectedBytes.set(incoming, bytesMax)
}

/** Watches while Node discards the rest. */
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
  incoming.on('error', () => {}) // the client may give up
}

/** Has Node, when it ends the connection after an answer, end our side of it only, until the body of `last()` is in. */
export function closeAfterBody(socket: Socket, last: () => IncomingMessage | undefined): void {
  const { destroySoon } = socket
  socket.destroySoon = () => {
    const incoming = last()
    if (incoming === undefined || incoming.complete) return destroySoon.call(socket)
    incoming.once('end', () => destroySoon.call(socket))
    socket.end()
  }
}
