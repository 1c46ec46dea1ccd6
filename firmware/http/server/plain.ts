/** Clients that speak plain HTTP to the TLS port: they get 400, with the address that they meant. */

import type { Socket } from 'node:net'
import { jsonReply } from '../reply.ts'
import type { ListenerLimits } from './limits.ts'
import type { OnceOptions } from './redirect.ts'
import { createOnceServer, secureUri } from './redirect.ts'

interface DetectorOptions extends Pick<OnceOptions, 'now'> {
  limits: ListenerLimits
  /** Called for each answer to a client of plain HTTP. */
  onPlain: (asked: { method: string; target: string }, status: number) => void
  shakeHands: (socket: Socket) => void
}

/**
 * Takes a new connection: TLS begins with a record of type 22 (RFC 8446 section 5.1), which is no letter, and a method of
 * HTTP with a letter.
 */
export function createPlainHttpDetector({
  limits,
  now,
  onPlain,
  shakeHands,
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

  return (socket) => {
    const deadline = setTimeout(() => socket.destroy(), limits.handshakeMs)
    const done = () => clearTimeout(deadline)
    socket.once('close', done)
    socket.once('readable', () => {
      const first: Buffer | null = socket.read()
      if (first === null) {
        socket.destroy() // it has closed its side
        return
      }
      socket.unshift(first)
      if (isLetter(first[0]!))
        plain.emit('connection', socket) // which has no longer for its headers
      else {
        done()
        socket.off('close', done)
        socket.off('error', ignore)
        shakeHands(socket)
      }
    })
    socket.on('error', ignore) // the client may be gone
  }
}

const ignore = (): void => {}

const isLetter = (byte: number): boolean => (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a)
