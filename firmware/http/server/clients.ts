/** State of the client of each connection; ends connections that stay idle or stalled for too long. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ListenerLimits } from './limits.ts'

const SWEEPS = 4 // per shortest time limit

export interface Client {
  unanswered: Set<ServerResponse>
  /** Time of the last answer, or of the connection's start. */
  idleSinceMs: number
  /** True while the socket's stall timer runs: until the request is complete and answered. */
  isTimed: boolean
  /** Number of requests so far. */
  requests: number
  /** The newest request, until it is complete and answered. */
  last: IncomingMessage | undefined
  broken: boolean
  isOver: boolean
  isUser: boolean
  /** Sends the last answer after all others. */
  whenAnswered: (() => void) | undefined
}

const clients = new WeakMap<Duplex, Client>()

export function clientOf(socket: Duplex): Client {
  let client = clients.get(socket)
  if (client === undefined) {
    client = {
      unanswered: new Set(),
      idleSinceMs: performance.now(),
      isTimed: false,
      requests: 0,
      last: undefined,
      broken: false,
      isOver: false,
      isUser: false,
      whenAnswered: undefined,
    }
    clients.set(socket, client)
  }
  return client
}

export interface Watch {
  add(socket: Socket): void
  answered(socket: Socket): void
  /** Call when Node's timer of a socket expires. */
  timedOut(socket: Socket): void
  stop(): void
}

const isIdle = ({ unanswered, last }: Client): boolean => unanswered.size === 0 && last?.complete !== false

/** One sweep for all connections. Timers set and cleared per request would cost a twentieth of its time. */
export function watchClients({ stallMs, keepAliveMs }: Pick<ListenerLimits, 'stallMs' | 'keepAliveMs'>): Watch {
  const sockets = new Set<Socket>()

  function sweep(): void {
    for (const socket of sockets) {
      setTimed(socket, !isIdle(clientOf(socket)))
      if (!isExpired(socket)) continue
      // Data that arrived while this thread was busy is read in the same turn, but after the timers.
      const { bytesRead } = socket
      setImmediate(() => {
        if (isExpired(socket) && socket.bytesRead === bytesRead) socket.destroy()
      })
    }
  }

  function isExpired(socket: Socket): boolean {
    const client = clientOf(socket)
    return isIdle(client) && performance.now() - client.idleSinceMs > keepAliveMs
  }

  function setTimed(socket: Socket, isTimed: boolean): void {
    const client = clientOf(socket)
    if (client.isTimed === isTimed) return
    client.isTimed = isTimed
    socket.setTimeout(isTimed ? stallMs : 0)
  }

  const sweeping = setInterval(sweep, Math.min(stallMs, keepAliveMs) / SWEEPS).unref()
  return {
    add: (socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    },
    answered: (socket) => setTimed(socket, false),
    timedOut: (socket) => {
      const [current] = clientOf(socket).unanswered
      // The delay is the server's while it processes the request.
      if (current !== undefined && !current.headersSent) socket.setTimeout(stallMs)
      else socket.destroy()
    },
    stop: () => clearInterval(sweeping),
  }
}
