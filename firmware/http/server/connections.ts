/**
 * Admits connections. While there is room, an address may have any number, since a load balancer is one address. When room is scarce, a new
 * connection replaces the oldest unauthenticated one from the prefix that has most of them. A connection with an authenticated user is
 * never replaced. Ends a connection whose client takes too long for its handshake.
 */

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { prefixOf } from '../../base/login-limiter.ts'
import type { ListenerLimits } from './limits.ts'

/** Largest share of one prefix. The rest stays for other clients, even if one prefix holds its share with authenticated connections. */
const PREFIX_SHARE = 7 / 8

/** Reserve for the redirecting port, the store with its temporary files, workers, syslog, and sockets that are not closed yet. */
const DESCRIPTORS_KEPT = 512

/** Per `handshakeMs`. A check counts once, however long this thread was busy before it: clients waited for it then. */
const HANDSHAKE_CHECKS = 10

const CHECKED_FROM = 64 // this many always fit; reading the limit takes milliseconds

/** `queued`: the client has sent the first message of its handshake and waits for the server. */
type Standing = 'handshake' | 'queued' | 'anonymous' | 'user'

export interface Connections {
  /** Returns false if there is no room. May end another connection. */
  admit(socket: Socket): boolean
  /** Call when the server lets the handshake of the socket wait, and when it goes on: the time between does not count. */
  queued(socket: Socket, isQueued: boolean): void
  /** Call after the TLS handshake; `socket` is the TLS socket. `onUser` is called when a user authenticates on it. */
  secured(socket: Socket, onUser: () => void): void
  destroy(): void
  /** Ends the checks of handshakes. */
  stop(): void
  readonly size: number
}

type Limits = Pick<ListenerLimits, 'connectionsMax' | 'handshakeMs'>

interface Prefix {
  name: string
  size: number
  /** Oldest first. */
  by: Record<Standing, Set<Held>>
}

interface Held {
  name: string
  socket: Socket
  prefix: Prefix
  standing: Standing
  handshakeChecks: number
}

export function createConnections({ connectionsMax, handshakeMs }: Limits): Connections {
  const prefixes = new Map<string, Prefix>()
  const held = new Map<string, Held>() // by the client's address and port
  let max: number | undefined

  const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`

  function admit(socket: Socket): boolean {
    const name = prefixOf((socket.remoteAddress ?? '').replace(/^::ffff:/, ''))
    const by = {
      ...{ handshake: new Set<Held>(), queued: new Set<Held>() },
      ...{ anonymous: new Set<Held>(), user: new Set<Held>() },
    }
    const prefix = prefixes.get(name) ?? { name, size: 0, by }
    if (held.size >= Math.min(connectionsMax, CHECKED_FROM)) {
      max ??= Math.min(connectionsMax, descriptorsMax() - DESCRIPTORS_KEPT)
      if (prefix.size >= Math.ceil(max * PREFIX_SHARE) && !makeRoom([prefix])) return false
      if (held.size >= max && !makeRoom([...prefixes.values()])) return false
    }
    const one: Held = { name: nameOf(socket), socket, prefix, standing: 'handshake', handshakeChecks: 0 }
    prefixes.set(name, prefix)
    prefix.size++
    prefix.by.handshake.add(one)
    held.set(one.name, one)
    socket.once('close', () => drop(one))
    return true
  }

  function makeRoom(among: readonly Prefix[]): boolean {
    for (const standing of ['handshake', 'queued', 'anonymous'] as const) {
      const largest = among.reduce((a, b) => (b.by[standing].size > a.by[standing].size ? b : a))
      const [oldest] = largest.by[standing]
      if (oldest === undefined) continue
      oldest.socket.destroy()
      drop(oldest)
      return true
    }
    return false
  }

  function checkHandshakes(): void {
    for (const one of held.values()) {
      if (one.standing !== 'handshake' || ++one.handshakeChecks <= HANDSHAKE_CHECKS) continue
      // Data that arrived while this thread was busy is read in the same turn, but after the timers.
      setImmediate(() => {
        if (one.standing === 'handshake') one.socket.destroy()
      })
    }
  }

  function drop(one: Held): void {
    const { prefix, standing, name } = one
    if (!prefix.by[standing].delete(one)) return
    prefix.size--
    if (prefix.size === 0) prefixes.delete(prefix.name)
    held.delete(name)
  }

  function move(one: Held, standing: Standing): void {
    if (!one.prefix.by[one.standing].delete(one)) return
    one.standing = standing
    one.prefix.by[standing].add(one)
  }

  const checking = setInterval(checkHandshakes, handshakeMs / HANDSHAKE_CHECKS).unref()
  return {
    admit,
    queued: (socket, isQueued) => {
      const one = held.get(nameOf(socket))
      if (one !== undefined) move(one, isQueued ? 'queued' : 'handshake')
    },
    secured: (socket, onUser) => {
      const one = held.get(nameOf(socket))
      if (one !== undefined) move(one, 'anonymous')
      onLogin.set(socket, () => {
        if (one !== undefined) move(one, 'user')
        onUser()
      })
    },
    destroy: () => {
      for (const { socket } of held.values()) socket.destroy()
    },
    stop: () => clearInterval(checking),
    get size() {
      return held.size
    },
  }
}

const onLogin = new WeakMap<Duplex, () => void>()

export function markAuthenticated(socket: Duplex): void {
  const notify = onLogin.get(socket)
  if (notify === undefined) return
  onLogin.delete(socket)
  notify()
}

/** Limit of open files and sockets of the process: getrlimit(2). */
function descriptorsMax(): number {
  Object.assign(process.report, { excludeNetwork: true, excludeEnv: true })
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft: number | string } } }
  const soft = report.userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY
}
