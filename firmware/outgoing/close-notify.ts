/**
 * Tells the end of TLS, which only the server can write (close_notify: RFC 8446 section 6.1), from that of TCP, which everybody on the
 * path can. Node reports both as `end`.
 */

import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * A stream for TLS over a connected socket: without the end of TCP, so that TLS over it ends with close_notify alone. `onEnd` is called
 * at the end of TCP, once TLS has read all that came before.
 */
export function withoutEnd(socket: Socket, onEnd: () => void): Duplex {
  socket.setTimeout(0)
  const stream = new Duplex({
    read: () => void socket.resume(),
    write: (bytes: Uint8Array, _, done) => void socket.write(bytes, done),
    // A server that ends first has ended the socket both ways; an error of it is an event.
    final: (done) => void socket.end(() => done()),
    destroy(error, done) {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (bytes) => {
    if (!stream.push(bytes)) socket.pause()
  })
  let reading: Promise<void> | undefined
  const readRest = async () => {
    while (stream.readableLength > 0 && !stream.destroyed) await nextTurn()
    await nextTurn()
    onEnd()
  }
  socket.once('end', () => {
    reading = readRest()
  })
  socket.once('error', (error) => stream.destroy(error))
  socket.once('close', async () => {
    await reading
    stream.destroy()
  })
  return stream
}
