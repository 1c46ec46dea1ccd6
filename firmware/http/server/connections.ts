/**
 * Which connections there is room for. While there is enough, anybody may have as many as he likes: a load balancer is one
 * address. When it is scarce, whoever comes anew gets the place of the oldest unauthenticated one from the prefix that holds
 * most. A connection on which somebody has logged in is never given up for another.
 */

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { prefixOf } from '../../base/login-limiter.ts'

/** Of one prefix; the others are for everybody else, even if it holds them with users' connections. */
const PREFIX_SHARE = 7 / 8

/** For the redirecting port, the store with its temporary files, workers, syslog, and what ends but is not closed yet. */
const DESCRIPTORS_KEPT = 512

const CHECKED_FROM = 64 // so many fit in any case; to ask for the limit takes milliseconds

type Standing = 'handshake' | 'anonymous' | 'user'

export interface Connections {
  /** False when there is no place for it; may end another one. */
  admit(socket: Socket): boolean
  /** Its handshake is done; `socket` is the same connection with TLS. `onUser` is called when somebody logs in on it. */
  secured(socket: Socket, onUser: () => void): void
  /** Ends them all. */
  destroy(): void
  readonly size: number
}

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
}

export function createConnections(connectionsMax: number): Connections {
  const prefixes = new Map<string, Prefix>()
  const held = new Map<string, Held>() // by the client's address and port
  let max: number | undefined

  const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`

  function admit(socket: Socket): boolean {
    const name = prefixOf((socket.remoteAddress ?? '').replace(/^::ffff:/, ''))
    const by = { handshake: new Set<Held>(), anonymous: new Set<Held>(), user: new Set<Held>() }
    const prefix = prefixes.get(name) ?? { name, size: 0, by }
    if (held.size >= Math.min(connectionsMax, CHECKED_FROM)) {
      max ??= Math.min(connectionsMax, descriptorsMax() - DESCRIPTORS_KEPT)
      if (prefix.size >= Math.ceil(max * PREFIX_SHARE) && !makeRoom([prefix])) return false
      if (held.size >= max && !makeRoom([...prefixes.values()])) return false
    }
    const one: Held = { name: nameOf(socket), socket, prefix, standing: 'handshake' }
    prefixes.set(name, prefix)
    prefix.size++
    prefix.by.handshake.add(one)
    held.set(one.name, one)
    socket.once('close', () => drop(one))
    return true
  }

  /** False when all that could be given up is users'. */
  function makeRoom(among: readonly Prefix[]): boolean {
    for (const standing of ['handshake', 'anonymous'] as const) {
      const largest = among.reduce((a, b) => (b.by[standing].size > a.by[standing].size ? b : a))
      const [oldest] = largest.by[standing]
      if (oldest === undefined) continue
      oldest.socket.destroy()
      drop(oldest)
      return true
    }
    return false
  }

  /** Without effect the second time. */
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

  return {
    admit,
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
    get size() {
      return held.size
    },
  }
}

const onLogin = new WeakMap<Duplex, () => void>()

/** Somebody has logged in on this connection. */
export function markAuthenticated(socket: Duplex): void {
  const notify = onLogin.get(socket)
  if (notify === undefined) return
  onLogin.delete(socket)
  notify()
}

/** Files and sockets that the process may have open: getrlimit(2). */
function descriptorsMax(): number {
  Object.assign(process.report, { excludeNetwork: true, excludeEnv: true })
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft: number | string } } }
  const soft = report.userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY
}
