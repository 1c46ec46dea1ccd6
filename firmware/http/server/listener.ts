/** The TLS port: HTTP/1.1 (RFC 9112) over TLS 1.2 and 1.3, bounded against slow and hostile clients. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { createSecureContext, type TLSSocket } from 'node:tls'
import type { Log } from '../../base/log.ts'
import { contextOptions } from '../../crypto/tls/context.ts'
import type { TlsIdentity } from '../../crypto/tls/identity.ts'
import { createAnswerClass } from './answer.ts'
import { clientOf, watchClients } from './clients.ts'
import { createCommonHeaders } from './common-headers.ts'
import { createConnections } from './connections.ts'
import { LISTENER_LIMITS, type ListenerLimits } from './limits.ts'
import { createListMethod } from './list-method.ts'
import { keepNoParsers } from './parser-buffer.ts'
import { createPlainHttpDetector } from './plain.ts'
import { type App, createRequests } from './requests.ts'
import { createTraffic, type Traffic } from './traffic.ts'
import { createUnsentWatch } from './unsent.ts'
import { closeAfterBody } from './unwanted-body.ts'

export interface ListenerOptions {
  app: App
  host: string
  /** 0 lets the system choose. */
  port: number
  identity: () => TlsIdentity
  log: Log
  /** The appliance's clock, for `date`. */
  now: () => number
  traffic?: Traffic
  limits?: Partial<ListenerLimits>
  withoutSecrets?: (path: string) => string
  /** Identity for a challenge of a certificate authority for this server name (RFC 8737). Other handshakes get the listener's own. */
  challengeFor?: (serverName: string) => TlsIdentity | undefined
}

export interface Listener {
  readonly address: string
  readonly port: number
  /** New connections use the current identity; open ones keep theirs. */
  renewIdentity(): void
  close(): Promise<void>
}

const PROTOCOLS = ['http/1.1', 'http/1.0'] // some monitoring clients offer only 1.0
const CHALLENGE_PROTOCOL = 'acme-tls/1'
const HEADER_BYTES_MAX = 16 * 1024
const EXPIRY_CHECKS = 4 // per `headersMs`
const TICKET_KEY_BYTES = 48
const TIMER_MS_MAX = 2 ** 31 - 1

export async function listenTls(options: ListenerOptions): Promise<Listener> {
  const { app, log, now, withoutSecrets, traffic = createTraffic() } = options
  const limits = { ...LISTENER_LIMITS, ...options.limits }
  const commonHeaders = createCommonHeaders(now)
  const connections = createConnections(limits)
  let closing = false

  keepNoParsers()
  const server = createServer({
    ...contextOptions(options.identity()),
    allowHalfOpen: true,
    ALPNCallback: selectProtocol(options.challengeFor),
    handshakeTimeout: TIMER_MS_MAX, // see connections.ts
    ServerResponse: createAnswerClass({
      commonHeaders,
      keepAliveMs: limits.keepAliveMs,
      isClosing: () => closing,
      watchUnsent: createUnsentWatch(limits.unsentBytesMax),
    }),
    requireHostHeader: false, // checked in requests.ts, which answers with a body
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: limits.headersMs,
    requestTimeout: 0, // bodies have a minimum rate instead
    keepAliveTimeout: 0, // see clients.ts
    connectionsCheckingInterval: Math.ceil(limits.headersMs / EXPIRY_CHECKS),
  })
  // Undocumented but stable option: a client may half-close after its last request and still gets the answer.
  Object.assign(server, { httpAllowHalfOpen: true })

  const watch = watchClients(limits)
  const listMethod = createListMethod(server, HEADER_BYTES_MAX)
  const requests = createRequests({ app, log, traffic, limits, commonHeaders, watch, listMethod, withoutSecrets })
  server.on('request', requests.onRequest)
  server.on('checkContinue', requests.onRequest)
  server.on('checkExpectation', requests.onRequest) // RFC 9110 section 10.1.1 lets servers ignore unknown expectations
  server.on('connect', requests.onConnect)
  server.on('clientError', (error, socket) => void requests.onParserError(error, socket))
  server.on('timeout', watch.timedOut)
  const shakeHands = detach(server, 'connection')
  const handleConnection = createPlainHttpDetector({
    ...{ limits, now, shakeHands, onPlain: requests.onPlain, onQueued: connections.queued },
  })
  server.on('connection', (socket: Socket) => {
    if (connections.admit(socket)) handleConnection(socket)
    else socket.destroy()
  })
  const serve = detach(server, 'secureConnection')
  server.on('secureConnection', (socket) => {
    if (socket.alpnProtocol === CHALLENGE_PROTOCOL) return socket.destroySoon() // RFC 8737 section 3: no request follows
    serve(socket) // first: it gives the socket its parser
    const client = clientOf(socket)
    listMethod.watch(socket)
    connections.secured(socket, () => {
      client.isUser = true
    })
    closeAfterBody(socket, () => client.last)
    watch.add(socket)
  })

  server.listen(options.port, options.host)
  await once(server, 'listening')
  const { address, port } = server.address() as AddressInfo

  return {
    address,
    port,
    renewIdentity: () => {
      server.setSecureContext(contextOptions(options.identity()))
      server.setTicketKeys(randomBytes(TICKET_KEY_BYTES)) // resumed sessions would keep the old certificate
    },
    close: async () => {
      closing = true
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeIdleConnections()
      const cut = setTimeout(() => connections.destroy(), limits.closeMs)
      await closed
      watch.stop()
      connections.stop()
      clearTimeout(cut)
    },
  }
}

/** Detaches Node's own handler and returns it. The caller decides which connections start TLS, and which carry requests. */
function detach(server: Server, event: 'connection' | 'secureConnection'): (socket: Socket) => void {
  const [handler] = server.listeners(event) as [(socket: Socket) => void]
  server.off(event, handler)
  return (socket) => handler.call(server, socket)
}

interface Offer {
  servername: string
  protocols: string[]
}

/** The first of ours that the client offers; undefined ends the handshake. The challenge's certificate is for that handshake alone. */
function selectProtocol(challengeFor: ListenerOptions['challengeFor']) {
  return function (this: TLSSocket, { servername, protocols }: Offer): string | undefined {
    const isChallenge = protocols.length === 1 && protocols[0] === CHALLENGE_PROTOCOL
    const identity = isChallenge ? challengeFor?.(`${servername}`.toLowerCase()) : undefined
    if (identity === undefined) return PROTOCOLS.find((protocol) => protocols.includes(protocol))
    this.setKeyCert(createSecureContext(contextOptions(identity)))
    return CHALLENGE_PROTOCOL
  }
}
