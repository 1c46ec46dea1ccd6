/** The plain HTTP port redirects every request to the TLS port. Contract section 1.1. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createShare, type Log } from '../../base/log.ts'
import { emptyReply, type Reply } from '../reply.ts'
import { LISTENER_LIMITS, type ListenerLimits } from './limits.ts'
import { loggedPath, withoutSecrets } from './logged-path.ts'
import { answerRaw, parserErrorReply, targetOfUnknownMethod } from './raw.ts'

interface RedirectOptions {
  host: string
  /** 0 lets the system choose. */
  port: number
  tlsPort: number
  log: Log
  /** The appliance's clock, for `date`. */
  now: () => number
  limits?: Partial<ListenerLimits>
  /** Answer to a pending challenge of a certificate authority (RFC 8555 section 8.3); undefined for an unknown token. */
  authorizationOf?: (token: string) => string | undefined
  /** Requests for its host without a port, or with port 80, are redirected to it. */
  chatOrigin?: () => string | null
}

interface Redirect {
  readonly port: number
  close(): Promise<void>
}

const CONNECTIONS_MAX = 256 // each is answered once and closed
const HEADER_BYTES_MAX = 16 * 1024
const HTTP_PORT = 80
const TLS_PORT = 443 // default port, left out of URIs
const CHALLENGE = /^\/\.well-known\/acme-challenge\/([A-Za-z0-9_-]+)$/

export async function listenRedirect(options: RedirectOptions): Promise<Redirect> {
  const { log, now, tlsPort } = options
  const limits = { ...LISTENER_LIMITS, ...options.limits }
  const sockets = new Set<Socket>()
  const anonymous = createShare(log)
  const server = createOnceServer({
    limits,
    now,
    reply: ({ method, target, host, socket }) => {
      const token = method === 'GET' ? CHALLENGE.exec(target)?.[1] : undefined
      const authorization = token === undefined ? undefined : options.authorizationOf?.(token)
      if (authorization !== undefined) return challengeReply(authorization)
      anonymous.lines()?.info('access', `redirected ${method} ${loggedPath(target, withoutSecrets)}`)
      const { name, port = HTTP_PORT, path } = readUri(target, host)
      const origin = options.chatOrigin?.() ?? null
      // 302 is not cached: an Administrator may move the chat.
      if (port === HTTP_PORT && isAt(origin, name)) return emptyReply(302, { location: `${origin}${path}` })
      return emptyReply(301, { location: secureUri(target, host, socket, tlsPort) })
    },
  })
  server.maxConnections = CONNECTIONS_MAX
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })

  server.listen(options.port, options.host)
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function challengeReply(authorization: string): Reply {
  const headers = { 'content-type': 'application/octet-stream', 'content-length': `${authorization.length}` }
  return { status: 200, headers, body: authorization }
}

interface Asked {
  method: string
  target: string
  host: string | undefined
  socket: Socket
}

export interface OnceOptions {
  limits: ListenerLimits
  now: () => number
  reply: (asked: Asked) => Reply
}

/** Closes each connection after one answer, so that clients do not continue in plain text. */
export function createOnceServer({ limits, now, reply }: OnceOptions): Server {
  const answered = new WeakSet<Duplex>()

  const server = createServer({
    requireHostHeader: false,
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: limits.headersMs,
    requestTimeout: 0, // bodies are not read
    connectionsCheckingInterval: Math.ceil(limits.headersMs / 4),
  })
  server.timeout = limits.stallMs

  const answer = (socket: Duplex, make: () => Reply) => {
    if (answered.has(socket)) return
    answered.add(socket)
    if (socket.writable) answerRaw(socket, make(), { date: new Date(now()).toUTCString() })
    else socket.destroy()
  }
  const answerTo = (socket: Socket, method: string, target: string, host: string | undefined) =>
    answer(socket, () => reply({ method, target, host, socket }))

  const onRequest = (incoming: IncomingMessage) => {
    incoming.resume() // reads on, so that a client that is still sending gets the answer
    const { socket, method = '', url = '', headers } = incoming
    answerTo(socket, method, url, headers.host)
  }
  for (const event of ['request', 'checkContinue', 'checkExpectation', 'upgrade'] as const) server.on(event, onRequest)
  server.on('connect', ({ method = '', headers, socket }: IncomingMessage) =>
    answerTo(socket, method, '/', headers.host),
  )
  server.on('clientError', (error, socket) => {
    const target = targetOfUnknownMethod(error)
    if (target !== null) return answerTo(socket as Socket, 'of an unknown method', target, undefined)
    const reply = parserErrorReply(error)
    if (reply === null) socket.destroy()
    else answer(socket, () => reply)
  })
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => {}) // the client may have disconnected
  })
  return server
}

/** A name, an IPv4 address or a bracketed IPv6 address, with an optional port: RFC 3986 section 3.2, without user names. */
const HOST = /^([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::(\d{0,5}))?$/
const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/i

/**
 * Returns the request's URI with https. Without a usable host it uses the address at which the client has connected. The port is `tlsPort`;
 * without one it is the port of the host header or of the connection.
 */
export function secureUri(
  target: string,
  hostHeader: string | undefined,
  socket: Socket,
  tlsPort: number | null,
): string {
  const { name, port: namedPort, path } = readUri(target, hostHeader)
  const port = tlsPort ?? namedPort ?? socket.localPort
  return `https://${name ?? hostOf(socket)}${port === TLS_PORT ? '' : `:${port}`}${path}`
}

/** `name` is undefined without a usable host. */
function readUri(target: string, hostHeader: string | undefined) {
  const [, authority = hostHeader, rest = target] = ABSOLUTE.exec(target) ?? []
  const [, named, port] = HOST.exec(authority ?? '') ?? []
  const name = named !== undefined && URL.canParse(`https://${named}`) ? named : undefined
  const path = rest.startsWith('/') ? rest : `/${rest.startsWith('?') ? rest : ''}`
  return { name, port: Number(port) || undefined, path: printable(path) }
}

/** True if `origin` has TLS and this host. */
function isAt(origin: string | null, name: string | undefined): boolean {
  const url = URL.parse(origin ?? '')
  return url?.protocol === 'https:' && url.hostname === name?.toLowerCase().replace(/\.$/, '')
}

function hostOf({ localAddress = '' }: Socket): string {
  const address = localAddress.replace(/^::ffff:/, '').replace(/%.*$/, '')
  return address.includes(':') ? `[${address}]` : address
}

/** Percent-encodes bytes above ASCII, which the parser accepts and headers must not contain. */
const printable = (path: string): string =>
  path.replace(/[^\x21-\x7e]/g, (c) => `%${(c.charCodeAt(0) & 0xff).toString(16).toUpperCase().padStart(2, '0')}`)
