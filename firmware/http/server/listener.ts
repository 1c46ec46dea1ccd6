/** The TLS port: HTTP/1.1 (RFC 9112) over TLS 1.2 and 1.3, bounded against slow and hostile clients. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { createShare, type Log } from '../../base/log.ts'
import { contextOptions } from '../../crypto/tls/context.ts'
import type { TlsIdentity } from '../../crypto/tls/identity.ts'
import { refusal } from '../errors.ts'
import { type Reply, toResponse } from '../reply.ts'
import { createConnections } from './connections.ts'
import type { Connection } from './exchange.ts'
import { createCommonHeaders } from './headers.ts'
import { LISTENER_LIMITS, type ListenerLimits } from './limits.ts'
import { createPipelining } from './pipelining.ts'
import { createPlainHttpDetector } from './plain.ts'
import { answerRaw, parserErrorReply, targetOfUnknownMethod } from './raw.ts'
import { createTraffic, type Traffic } from './traffic.ts'

export interface ListenerOptions {
  app: { fetch: (request: Request, env: Connection) => Response | Promise<Response> }
  host: string
  /** 0 lets the system choose. */
  port: number
  identity: () => TlsIdentity
  log: Log
  /** The appliance's clock, for `date`. */
  now: () => number
  traffic?: Traffic
  limits?: Partial<ListenerLimits>
}

export interface Listener {
  readonly address: string
  readonly port: number
  /** New connections get the identity of now; those that are open keep theirs. */
  renewIdentity(): void
  /** Takes no more connections, lets running requests finish, then resolves. */
  close(): Promise<void>
}

const HEADER_BYTES_MAX = 16 * 1024
const EXPIRY_CHECKS = 4 // per headersMs
const DRAIN_CHECK_MS = 100
const SWEEPS = 4 // in the shortest time a connection may stand still
const LOGGED_PATH_MAX = 2000

const TICKET_KEY_BYTES = 48

export async function listenTls(options: ListenerOptions): Promise<Listener> {
  const { app, log, now } = options
  const limits = { ...LISTENER_LIMITS, ...options.limits }
  const traffic = options.traffic ?? createTraffic()
  const commonHeaders = createCommonHeaders(now)
  const connections = createConnections(limits.connectionsMax)
  const pipelining = createPipelining(limits)
  const anonymous = createShare(log)
  const secured = new Set<Socket>()
  let closing = false

  /** Puts the common headers on every answer, those Node makes by itself included. */
  class Answer extends ServerResponse {
    #continued = false

    constructor(...parameters: ConstructorParameters<typeof ServerResponse>) {
      super(...parameters)
      this.sendDate = false
    }

    override writeContinue(callback?: () => void): void {
      this.#continued = true
      super.writeContinue(callback)
    }

    override writeHead(status: number, ...rest: unknown[]): this {
      const own = rest.at(-1)
      const headers = typeof own === 'object' && own !== null && !Array.isArray(own) ? own : {}
      // A client that still waits for "100 Continue" may or may not send its body now: nobody could tell what follows.
      const undecided = this.req.headers.expect !== undefined && !this.#continued && !this.req.complete
      if (undecided || closing) this.shouldKeepAlive = false
      const kept = this.shouldKeepAlive && { 'keep-alive': `timeout=${Math.floor(limits.keepAliveMs / 1000)}` }
      return super.writeHead(status, { ...commonHeaders(), ...kept, ...headers })
    }
  }

  const server = createServer({
    ...contextOptions(options.identity()),
    allowHalfOpen: true,
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: limits.handshakeMs,
    ServerResponse: Answer,
    requireHostHeader: false, // refused below, with a body like any other refusal
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: limits.headersMs,
    requestTimeout: 0, // bodies are watched by their pace
    keepAliveTimeout: 0, // see sweep
    connectionsCheckingInterval: Math.ceil(limits.headersMs / EXPIRY_CHECKS),
  })
  // Undocumented but long-lived: a client may close its side after its last request and still get the answer.
  Object.assign(server, { httpAllowHalfOpen: true })

  const toApp = getRequestListener((request, env) => app.fetch(request, env as Connection), {
    hostname: 'localhost', // HTTP/1.0 may leave it out
    autoCleanupIncoming: false, // done here, within limits
    errorHandler: () => toResponse(refusal('invalid', 'The request target or the host is malformed')),
  })

  function onRequest(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const started = performance.now()
    const { socket } = incoming
    const client = clientOf(socket)
    const isAlone = client.unanswered.size === 0
    client.last = incoming
    client.unanswered.add(outgoing)
    const line = `request ${incoming.method} ${pathOf(incoming.url ?? '')}`
    const isLogged = client.isUser
    if (isLogged) log.info('access', line)
    outgoing.on('finish', () => {
      if (!incoming.complete) watchDrain(incoming, limits)
    })
    outgoing.on('close', () => {
      client.unanswered.delete(outgoing)
      client.idleSinceMs = performance.now()
      if (incoming.complete) setTimed(socket, client, false)
      const lines = client.isUser ? log : anonymous.lines()
      if (!isLogged) lines?.info('access', line)
      if (outgoing.headersSent) record(lines, outgoing.statusCode, (performance.now() - started) / 1000)
      pipelining.proceed(socket)
      if (client.unanswered.size === 0) client.whenAnswered?.()
    })
    const answer = (): void => {
      if (incoming.headers.host === undefined && incoming.httpVersion === '1.1') {
        const { status, headers, body } = refusal('invalid', 'The host header is missing')
        outgoing.writeHead(status, headers).end(body)
      } else {
        void toApp(incoming, outgoing)
      }
    }
    // One after another: a client that pipelines and reads nothing has one answer in memory, not all it asked for.
    if (isAlone) answer()
    else pipelining.wait(socket, answer)
  }

  /** The parser gave up: what came before is answered first, then the error, then the connection ends. */
  async function onClientError(error: Error, socket: Duplex): Promise<void> {
    const client = clientOf(socket)
    if (client.broken) return
    client.broken = true
    pipelining.stop(socket as Socket)
    const lines = client.isUser ? log : anonymous.lines()
    const reply = (await unknownMethodReply(error, lines)) ?? parserErrorReply(error)
    const insideBody = client.last !== undefined && !client.last.complete
    const answeredBody = insideBody && client.unanswered.size === 0
    if (reply === null || !socket.writable || answeredBody || (insideBody && client.unanswered.size > 1)) {
      socket.destroy()
      return
    }
    const part = () => {
      answerRaw(socket, reply, commonHeaders())
      record(lines, reply.status, 0)
    }
    if (client.unanswered.size === 0 || insideBody) part()
    else client.whenAnswered = part
  }

  /** The path and the state of the appliance come before the method: contract section 1.7. */
  async function unknownMethodReply(error: Error, lines: Log | undefined): Promise<Reply | null> {
    const target = targetOfUnknownMethod(error)
    if (target === null) return null
    lines?.info('access', `request of an unknown method ${pathOf(target)}`)
    try {
      // The name of the method makes no difference, and `get` would be taken for GET.
      const response = await app.fetch(new Request(`https://localhost${target}`, { method: 'UNKNOWN' }), {})
      return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
    } catch {
      return null
    }
  }

  function record(lines: Log | undefined, status: number, seconds: number): void {
    lines?.info('access', `response ${status} response time ${seconds.toFixed(6)}`)
    traffic.record(status, seconds)
  }

  server.on('request', onRequest)
  server.on('checkContinue', onRequest)
  server.on('checkExpectation', onRequest) // RFC 9110 section 10.1.1 lets a server ignore what it does not know
  server.on('connect', ({ method, socket }: IncomingMessage) => {
    const lines = clientOf(socket).isUser ? log : anonymous.lines()
    lines?.info('access', `request ${method}`)
    pipelining.stop(socket)
    answerRaw(socket, refusal(501, 'Unknown method'), commonHeaders())
    record(lines, 501, 0)
  })
  server.on('clientError', (error, socket) => void onClientError(error, socket))
  server.on('timeout', (socket: Socket) => {
    const [current] = clientOf(socket).unanswered
    // A client whose request is being worked on is not to blame.
    if (current !== undefined && !current.headersSent) socket.setTimeout(limits.stallMs)
    else socket.destroy()
  })
  const [shakeHands] = server.listeners('connection') as [(socket: Socket) => void]
  const handleConnection = createPlainHttpDetector({
    limits,
    now,
    onPlain: ({ method, target }, status) => {
      const lines = anonymous.lines()
      lines?.info('access', `request ${method} ${pathOf(target)} without TLS`)
      record(lines, status, 0)
    },
    shakeHands: (socket) => shakeHands.call(server, socket),
  })
  server.off('connection', shakeHands)
  server.on('connection', (socket: Socket) => {
    if (connections.admit(socket)) handleConnection(socket)
    else socket.destroy()
  })
  server.on('secureConnection', (socket) => {
    const client = clientOf(socket)
    connections.secured(socket, () => {
      client.isUser = true
    })
    secured.add(socket)
    socket.on('close', () => secured.delete(socket))
  })

  /** Timers that were set and cleared with each request would be a twentieth of its work. */
  function sweep(): void {
    const nowMs = performance.now()
    for (const socket of secured) {
      const client = clientOf(socket)
      const isIdle = client.unanswered.size === 0 && client.last?.complete !== false
      setTimed(socket, client, !isIdle)
      if (isIdle && nowMs - client.idleSinceMs > limits.keepAliveMs) socket.destroy()
    }
  }

  function setTimed(socket: Socket, client: Client, isTimed: boolean): void {
    if (client.isTimed === isTimed) return
    client.isTimed = isTimed
    socket.setTimeout(isTimed ? limits.stallMs : 0)
  }
  const sweeping = setInterval(sweep, Math.min(limits.stallMs, limits.keepAliveMs) / SWEEPS).unref()

  server.listen(options.port, options.host)
  await once(server, 'listening')
  const { address, port } = server.address() as AddressInfo

  return {
    address,
    port,
    renewIdentity: () => {
      server.setSecureContext(contextOptions(options.identity()))
      server.setTicketKeys(randomBytes(TICKET_KEY_BYTES)) // a resumed session would not see the new certificate
    },
    close: async () => {
      closing = true
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeIdleConnections()
      const cut = setTimeout(() => connections.destroy(), limits.closeMs)
      await closed
      clearInterval(sweeping)
      clearTimeout(cut)
    },
  }
}

/** A connection: what is known of it beyond the socket. */
interface Client {
  unanswered: Set<ServerResponse>
  /** When the last one was answered, or the connection began. */
  idleSinceMs: number
  /** A timer of its own runs until the request at hand has come in whole and is answered. */
  isTimed: boolean
  last: IncomingMessage | undefined
  /** The parser gave up on it. */
  broken: boolean
  /** Somebody has logged in on it. */
  isUser: boolean
  /** The last answer, to be sent when all others are. */
  whenAnswered: (() => void) | undefined
}

const clients = new WeakMap<Duplex, Client>()

function clientOf(socket: Duplex): Client {
  let client = clients.get(socket)
  if (client === undefined) {
    client = {
      unanswered: new Set(),
      idleSinceMs: performance.now(),
      isTimed: false,
      last: undefined,
      broken: false,
      isUser: false,
      whenAnswered: undefined,
    }
    clients.set(socket, client)
  }
  return client
}

/** Watches while Node discards the rest of a body nobody wants, so that the client can finish, read its answer and go on. */
function watchDrain(incoming: IncomingMessage, { drainMs, drainBytesMax }: ListenerLimits): void {
  const { socket } = incoming
  const started = performance.now()
  const startBytes = socket.bytesRead
  const timer = setInterval(() => {
    if (incoming.complete || socket.destroyed) clearInterval(timer)
    else if (performance.now() - started > drainMs || socket.bytesRead - startBytes > drainBytesMax) socket.destroy()
  }, DRAIN_CHECK_MS)
  incoming.on('error', () => {}) // the client may give up
}

/** Without the query, which may hold a passphrase. */
const pathOf = (target: string): string => target.split('?', 1)[0]!.slice(0, LOGGED_PATH_MAX)
