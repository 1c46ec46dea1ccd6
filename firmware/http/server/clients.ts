/** What is known of the client at the other end of each connection, and which clients have kept it open for too long. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ListenerLimits } from './limits.ts'

const SWEEPS = 4 // in the shortest time a connection may stand still

export interface Client {
  unanswered: Set<ServerResponse>
  /** When the last one was answered, or the connection began. */
  idleSinceMs: number
  /** A timer of its own runs until the request at hand has come in whole and is answered. */
  isTimed: boolean
  last: IncomingMessage | undefined
  /** The parser gave up on it. */
  broken: boolean
  /** An answer has said that it is the last of the connection. */
  isOver: boolean
  /** Somebody has logged in on it. */
  isUser: boolean
  /** The last answer, to be sent when all others are. */
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

/** Ends connections that are idle or stand still for longer than they may. */
export interface Watch {
  /** Watches a connection from now on until it is closed. */
  add(socket: Socket): void
  /** A request has come in whole and is answered. */
  answered(socket: Socket): void
  /** To be called when Node's timer for a socket has run out. */
  timedOut(socket: Socket): void
  stop(): void
}

const isIdle = ({ unanswered, last }: Client): boolean => unanswered.size === 0 && last?.complete !== false

/** One sweep for all: timers that were set and cleared with each request would be a twentieth of its work. */
export function watchClients({ stallMs, keepAliveMs }: Pick<ListenerLimits, 'stallMs' | 'keepAliveMs'>): Watch {
  const sockets = new Set<Socket>()

  function sweep(): void {
    for (const socket of sockets) {
      setTimed(socket, !isIdle(clientOf(socket)))
      if (!isExpired(socket)) continue
      // What has come while this thread was busy is read in the same turn, but after the timers.
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
      // A client whose request is being worked on is not to blame.
      if (current !== undefined && !current.headersSent) socket.setTimeout(stallMs)
      else socket.destroy()
    },
    stop: () => clearInterval(sweeping),
  }
}
