/** Attacks by servers that outgoing connections reach, and by names that lead elsewhere. Contract section 4.7. */

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { createConnector } from '../../firmware/outgoing/connect.ts'
import { OutgoingError } from '../../firmware/outgoing/error.ts'
import { exchange } from '../../firmware/outgoing/http.ts'
import { systemNetwork } from '../../firmware/outgoing/resolve.ts'
import type { Outcome } from './target.ts'

interface OutgoingAttack {
  name: string
  run(): Promise<Outcome>
}

const PUBLIC = '203.0.113.9' // RFC 5737: stands for a server elsewhere
const TIMEOUT_MS = 10_000
const MEMORY_BYTES_MAX = 64 * 1024 * 1024

const SETTINGS = {
  onHost: true,
  resolvers: [],
  proxy: null,
  proxyExcept: [],
  authorities: new Uint8Array(0),
  publicAuthorities: true,
} as const

interface Attempt {
  connections: number
  status: number | null
  problem: string
  lastedMs: number
}

/** One request to a name with these addresses. What would reach the public one reaches `port` of this computer. */
async function attempt(addresses: readonly string[], port: number): Promise<Attempt> {
  let connections = 0
  const { own } = systemNetwork(SETTINGS)
  const connector = createConnector(SETTINGS, {
    own,
    resolve: async () => addresses,
    connect: () => {
      connections++
      return connect(port, '127.0.0.1')
    },
  })
  const body = new Uint8Array(0)
  const url = 'http://hooks.example.org/'
  const job = { do: 'http', method: 'GET', url, headers: {}, body, answerHeaders: [], timeoutMs: TIMEOUT_MS } as const
  const began = performance.now()
  const since = () => performance.now() - began
  try {
    const { status } = await exchange(connector, job, new AbortController().signal)
    return { connections, status, problem: '', lastedMs: since() }
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error
    return { connections, status: null, problem: error.message, lastedMs: since() }
  }
}

const disguised = (name: string, addresses: () => readonly string[]): OutgoingAttack => ({
  name: `outgoing: a name that leads to ${name}`,
  run: async () => {
    const { connections, problem } = await attempt(addresses(), 1)
    return { held: connections === 0 && problem.includes('nothing is sent to'), figures: `${connections} connections` }
  },
})

const ownAddresses = (): string[] => [...systemNetwork(SETTINGS).own()]

/** A server that answers each connection in its own way; one request is sent to it. */
const answered = (
  name: string,
  serve: (socket: Socket) => void,
  isHeld: (attempt: Attempt) => boolean,
): OutgoingAttack => ({
  name: `outgoing: ${name}`,
  run: async () => {
    const sockets = new Set<Socket>()
    const server: Server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      serve(socket)
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const before = process.memoryUsage().rss
    try {
      const outcome = await attempt([PUBLIC], (server.address() as AddressInfo).port)
      const grown = process.memoryUsage().rss - before
      const figures = `${outcome.problem || `status ${outcome.status}`}, ${(outcome.lastedMs / 1000).toFixed(1)} s, ${(grown / 2 ** 20).toFixed(0)} MiB`
      return { held: isHeld(outcome) && grown < MEMORY_BYTES_MAX, figures }
    } finally {
      for (const socket of sockets) socket.destroy()
      server.close()
    }
  },
})

/** Writes a piece again and again, as fast as it is taken. */
const endless = (socket: Socket, head: string, piece: string): void => {
  socket.write(head)
  const go = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', go)
  go()
}

/** Writes a byte a second. */
const slow = (socket: Socket, head: string): void => {
  socket.write(head)
  const timer = setInterval(() => socket.write('x'), 1000)
  socket.on('close', () => clearInterval(timer))
}

const HEAD = 'HTTP/1.1 200 OK\r\n'
const isRefused = ({ status }: Attempt): boolean => status === null
const inTime = (outcome: Attempt): boolean => isRefused(outcome) && outcome.lastedMs < 2 * TIMEOUT_MS

export const OUTGOING_ATTACKS: readonly OutgoingAttack[] = [
  disguised('loopback', () => ['127.0.0.1']),
  disguised('the credentials of a cloud', () => ['169.254.169.254']),
  disguised('this computer', ownAddresses),
  disguised('a good address and a bad one', () => [PUBLIC, '127.0.0.1']),
  disguised('an IPv4 address inside IPv6', () => ['::ffff:127.0.0.1']),
  answered(
    'a redirect to loopback',
    (socket) => socket.end('HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n'),
    ({ status, connections }) => status === 302 && connections === 1,
  ),
  answered('an answer without end', (socket) => endless(socket, `${HEAD}\r\n`, 'x'.repeat(65_536)), inTime),
  answered('headers without end', (socket) => endless(socket, HEAD, `a: ${'x'.repeat(65_536)}\r\n`), inTime),
  answered(
    'chunks without end',
    (socket) => endless(socket, `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, '1\r\nx\r\n'.repeat(10_000)),
    inTime,
  ),
  answered('an answer of one byte a second', (socket) => slow(socket, `${HEAD}\r\n`), inTime),
  answered('headers of one byte a second', (socket) => slow(socket, HEAD), inTime),
  answered('silence', () => {}, inTime),
  answered('what is no HTTP', (socket) => socket.end('\x16\x03\x01\x00\x05hello'), isRefused),
]
