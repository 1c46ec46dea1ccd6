/**
 * What stands between the members of an etcd cluster: passes on what they say, or drops what one says to another. Their connections
 * are HTTP, of which each begins with who made it.
 */

import { createConnection, createServer, type Server, type Socket } from 'node:net'

/** As rafthttp of etcd sends it with every request. */
const FROM = /^x-server-from: ([0-9a-f]+)\r$/im
const HEAD_BYTES_MAX = 16_384

export interface Partition {
  /** Listens where others look for a member, and passes on to where it is. */
  forward(member: string, from: string, to: string): void
  /** The id that etcd has given to a member. */
  identify(member: string, id: string): void
  /** From now on nothing that `from` says comes to `to`. */
  drop(from: string, to: string): void
  /** Everybody hears everybody again; connections that have lost something end. */
  heal(): void
  close(): void
}

export function createPartition(): Partition {
  const servers: Server[] = []
  const sockets = new Set<Socket>()
  const broken = new Set<Socket>()
  const names = new Map<string, string>()
  const dropped = new Set<string>()

  const hold = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }

  /** Both end together. */
  function join(client: Socket, server: Socket, member: string): void {
    let heard = ''
    let id: string | undefined
    const maker = (): string | undefined => names.get(id ?? '') // who it is may be told later than it connects
    const isDropped = (from: string | undefined, to: string | undefined): boolean => {
      if (!dropped.has(`${from} ${to}`)) return false
      broken.add(client)
      return true
    }
    client.on('data', (chunk) => {
      if (id === undefined && heard.length < HEAD_BYTES_MAX) {
        heard += chunk.toString('latin1')
        id = FROM.exec(heard)?.[1]
      }
      if (!isDropped(maker(), member)) server.write(chunk)
    })
    server.on('data', (chunk) => {
      if (!isDropped(member, maker())) client.write(chunk)
    })
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
    heal() {
      dropped.clear()
      for (const socket of broken) socket.destroy()
      broken.clear()
    },
    close() {
      for (const server of servers) server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
