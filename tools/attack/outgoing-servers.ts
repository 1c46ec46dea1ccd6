/** Hostile servers on this computer, for outgoing-attacks.ts: of names, a proxy with https behind it, mail and logs. */

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv6, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createSecureContext, TLSSocket } from 'node:tls'
import { groupsOfIPv6 } from '../../firmware/base/ip-address.ts'
import type { TlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import type { Ending } from '../../test/support/process.ts'

/** Handles a connection to a server. */
export type Behavior = (socket: Duplex) => void

const PIECE = 'x'.repeat(65_536)
const SLOW_MS = 1000

export const says =
  (text: string | Uint8Array): Behavior =>
  (socket) =>
    void socket.resume().end(text)

export const silent: Behavior = (socket) => void socket.resume()

/** Writes the piece again and again, as fast as it is taken. */
export const endless =
  (head: string, piece = PIECE): Behavior =>
  (socket) => {
    const go = () => {
      while (!socket.destroyed && socket.write(piece)) {}
    }
    socket.resume().on('drain', go).write(head)
    go()
  }

/** Writes a byte a second. */
export const slow =
  (head: string): Behavior =>
  (socket) => {
    socket.resume().write(head)
    const timer = setInterval(() => socket.write('x'), SLOW_MS)
    socket.on('close', () => clearInterval(timer))
  }

/** Behaves so within TLS, once the client has said something. */
export const secured =
  ({ key, cert }: TlsIdentity, behave: Behavior): Behavior =>
  (socket) => {
    const secureContext = createSecureContext({ key: Buffer.from(key), cert })
    const secure = new TLSSocket(socket as Socket, { isServer: true, secureContext })
    secure.on('error', () => {}).once('data', () => behave(secure))
  }

/** A server of TCP, whose behavior alone ends connections; with null of all addresses of this computer. Returns its port. */
export async function serve(t: Ending, behave: Behavior, host: string | null = '127.0.0.1'): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    behave(socket)
  })
  server.listen({ port: 0, ...(host !== null && { host }) })
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A proxy that connects to nobody. Hosts behave as they are listed: `behind` it, or else in the place of its answer. */
export const proxyTo =
  (behind: ReadonlyMap<string, Behavior>, instead: ReadonlyMap<string, Behavior>): Behavior =>
  (socket) => {
    socket.once('data', (bytes: Buffer) => {
      const [, host = ''] = /^CONNECT ([^:]+):/.exec(bytes.toString('latin1')) ?? []
      const behave = behind.get(host)
      if (behave === undefined) return (instead.get(host) ?? silent)(socket)
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      behave(socket)
    })
  }

const [HEADER_BYTES, IPV4, IPV6] = [12, 1, 28] // RFC 1035 section 4.1.1, RFC 3596

/** A server of names that has these addresses for them, and nothing for others. Returns its port. */
export async function serveNames(t: Ending, names: ReadonlyMap<string, readonly string[]>): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  socket.on('message', (query, { port, address }) => socket.send(answerTo(query, names), port, address))
  t.after(() => socket.close())
  return socket.address().port
}

function answerTo(query: Buffer, names: ReadonlyMap<string, readonly string[]>): Buffer {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = query.readUInt16BE(at + 1)
  const records = (names.get(labels.join('.').toLowerCase()) ?? [])
    .filter((address) => type === (isIPv6(address) ? IPV6 : IPV4))
    .map((address) => recordOf(type, address))
  const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, records.length, 0, 0, 0, 0])
  return Buffer.concat([header, query.subarray(HEADER_BYTES, at + 5), ...records])
}

/** RFC 1035 section 4.1.3; its name is that of the question. */
function recordOf(type: number, address: string): Buffer {
  const bytes = isIPv6(address)
    ? Buffer.from(
        groupsOfIPv6(address)
          .map((group) => group.padStart(4, '0'))
          .join(''),
        'hex',
      )
    : Buffer.from(address.split('.').map(Number))
  return Buffer.concat([Buffer.from([0xc0, HEADER_BYTES, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length]), bytes])
}
