/**
 * Network between the members of an etcd cluster: forwards their messages, at once or later, or drops those from one to another.
 * Their connections are HTTP, of which each begins with who made it; over TLS that is told otherwise.
 */

import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

/** As rafthttp of etcd sends it with every request. */
const FROM = /^x-server-from: ([0-9a-f]+)\r$/im
const HEAD_BYTES_MAX = 16_384

export type Place = { path: string } | { host: string; port: number }

type MakerOf = (client: Socket) => string | undefined

export interface Partition {
  /** Listens where others look for a member, and passes on to where it is. */
  forward(member: string, from: Place, to: Place): void
  /** The id that etcd has given to a member. */
  identify(member: string, id: string): void
  drop(from: string, to: string): void
  /** From now on what `from` says comes to `to` so much later. */
  delay(from: string, to: string, ms: number): void
  /** Everybody hears everybody again, at once; connections that have lost something end. */
  heal(): void
  close(): void
}

export function createPartition(makerOf?: MakerOf): Partition {
  const servers: Server[] = []
  const sockets = new Set<Socket>()
  const broken = new Set<Socket>()
  const names = new Map<string, string>()
  const dropped = new Set<string>()
  const delays = new Map<string, number>()

  const hold = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }

  function passing(client: Socket, out: Socket, fromTo: () => string): (chunk: Buffer) => void {
    let waiting = 0
    let last = Promise.resolve()
    return (chunk) => {
      const ms = delays.get(fromTo()) ?? 0
      if (dropped.has(fromTo())) broken.add(client)
      else if (ms === 0 && waiting === 0) out.write(chunk)
      else {
        waiting++
        const due = wait(ms)
        last = last
          .then(() => due)
          .then(() => {
            waiting--
            if (out.writable) out.write(chunk)
          })
      }
    }
  }

  function join(client: Socket, server: Socket, member: string): void {
    let heard = ''
    let id: string | undefined
    const known = makerOf?.(client)
    const maker = (): string | undefined => known ?? names.get(id ?? '') // who it is may be told later than it connects
    const toMember = passing(client, server, () => `${maker()} ${member}`)
    client.on('data', (chunk) => {
      if (id === undefined && heard.length < HEAD_BYTES_MAX) {
        heard += chunk.toString('latin1')
        id = FROM.exec(heard)?.[1]
      }
      toMember(chunk)
    })
    server.on(
      'data',
      passing(client, client, () => `${member} ${maker()}`),
    )
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
  }

  return {
    forward(member, from, to) {
      const server = createServer((client) => join(hold(client), hold(createConnection(to)), member))
      server.listen(from)
      servers.push(server)
    },
    identify: (member, id) => void names.set(id, member),
    drop: (from, to) => void dropped.add(`${from} ${to}`),
    delay: (from, to, ms) => void delays.set(`${from} ${to}`, ms),
    heal() {
      dropped.clear()
      delays.clear()
      for (const socket of broken) socket.destroy()
      broken.clear()
    },
    close() {
      for (const server of servers) server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
