/** Answers plain HTTP on the TLS port with 400 and the https address. */

import type { Socket } from 'node:net'
import { jsonReply } from '../reply.ts'
import { createHandshakes } from './handshakes.ts'
import type { ListenerLimits } from './limits.ts'
import type { OnceOptions } from './redirect.ts'
import { createOnceServer, secureUri } from './redirect.ts'

interface DetectorOptions extends Pick<OnceOptions, 'now'> {
  limits: ListenerLimits
  onPlain: (asked: { method: string; target: string }, status: number) => void
  shakeHands: (socket: Socket) => void
  /** Called when a handshake begins to wait for others, and when it goes on. */
  onQueued: (socket: Socket, isQueued: boolean) => void
}

/** Dispatches a new connection by its first byte: TLS begins with record type 22 (RFC 8446 section 5.1), an HTTP method with a letter. */
export function createPlainHttpDetector({
  limits,
  now,
  onPlain,
  shakeHands,
  onQueued,
}: DetectorOptions): (socket: Socket) => void {
  const plain = createOnceServer({
    limits,
    now,
    reply: ({ method, target, host, socket }) => {
      const reply = jsonReply(400, { message: `This port speaks TLS: ${secureUri(target, host, socket, null)}` })
      onPlain({ method, target }, reply.status)
      return reply
    },
  })

  const shakeHandsSoon = createHandshakes((socket) => {
    onQueued(socket, false)
    socket.off('error', ignore)
    shakeHands(socket)
  })

  return (socket) => {
    socket.once('readable', () => {
      const first: Buffer | null = socket.read()
      if (first === null) {
        socket.destroy() // the client has closed its side
        return
      }
      socket.unshift(first)
      if (isLetter(first.readUInt8(0)))
        plain.emit('connection', socket) // the time for its headers is that of a handshake
      else {
        onQueued(socket, true)
        shakeHandsSoon(socket)
      }
    })
    socket.on('error', ignore) // the client may have disconnected
  }
}

const ignore = (): void => {}

const isLetter = (byte: number): boolean => (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a)
