/**
 * A request that was answered before its body had come: what comes is discarded, within bounds, so that the client can finish
 * and read its answer. A connection that is closed under a client who sends takes the answer from him: RFC 9112 section 9.6.
 */

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ListenerLimits } from './limits.ts'

const CHECK_MS = 100

/** Watches while Node discards the rest. */
export function watchDrain(incoming: IncomingMessage, { drainMs, drainBytesMax }: ListenerLimits): void {
  const { socket } = incoming
  const started = performance.now()
  const startBytes = socket.bytesRead
  const timer = setInterval(() => {
    if (incoming.complete || socket.destroyed) clearInterval(timer)
    else if (performance.now() - started > drainMs || socket.bytesRead - startBytes > drainBytesMax) socket.destroy()
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
