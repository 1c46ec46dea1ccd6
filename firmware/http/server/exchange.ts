/** One HTTP request as the pipeline sees it, whether it came through a socket or, in tests, as a plain Request. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { Context } from 'hono'
import { markAuthenticated } from './connections.ts'
import { expectBody } from './unwanted-body.ts'

/** What the listener passes along with a request; absent in tests without sockets. */
export interface Connection {
  incoming?: IncomingMessage
  outgoing?: ServerResponse
}

export interface Exchange {
  method: string
  /** Path and query exactly as sent. */
  target: string
  /** IP address of the client; `''` without a socket. */
  address: string
  /** Several lines of one name are joined by `, `. */
  header(name: string): string | undefined
  /** Asks a waiting client to go on (`expect: 100-continue`), then gives the body. To be called once. */
  openBody(): Readable
  /** The largest body that the endpoint takes: of one that is refused so much is discarded. */
  expectBody(bytesMax: number): void
  /** Somebody has logged in: the connection is a user's from now on. */
  markAuthenticated(): void
  /** Aborted when the client has gone before it had the whole answer. Nothing is made for requests that never ask for it. */
  signal(): AbortSignal
  /** Cuts the connection, because an answer that began cannot be finished. */
  cut(): void
}

export function exchangeOf(
  context: Pick<Context<{ Bindings: Connection }>, 'env'> & { req: { raw: Request } },
): Exchange {
  const { incoming, outgoing } = context.env ?? {}
  const request = context.req.raw
  if (incoming === undefined) {
    return {
      method: request.method,
      target: request.url.slice(request.url.indexOf('/', request.url.indexOf('//') + 2)),
      address: '',
      header: (name) => request.headers.get(name) ?? undefined,
      openBody: () => (request.body === null ? Readable.from([]) : Readable.fromWeb(request.body as ReadableStream)),
      expectBody: () => {},
      markAuthenticated: () => {},
      signal: () => request.signal,
      cut: () => {},
    }
  }
  let signal: AbortSignal | undefined
  return {
    method: request.method,
    target: originForm(incoming.url ?? ''),
    address: addressOf(incoming),
    header: (name) => {
      const value = incoming.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    openBody: () => {
      if (incoming.headers.expect !== undefined) outgoing?.writeContinue()
      return incoming
    },
    expectBody: (bytesMax) => expectBody(incoming, bytesMax),
    markAuthenticated: () => markAuthenticated(incoming.socket),
    signal: () => (signal ??= signalOf(outgoing)),
    cut: () => void outgoing?.destroy(),
  }
}

function signalOf(outgoing: ServerResponse | undefined): AbortSignal {
  const controller = new AbortController()
  const judge = (): void => {
    if (!outgoing?.writableFinished) controller.abort()
  }
  if (outgoing?.closed) judge()
  else outgoing?.once('close', judge)
  return controller.signal
}

/** `https://host/path` as `/path`: RFC 9112 section 3.2.2 asks servers to take both. */
const originForm = (target: string): string =>
  target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')

/** Without the prefix of an IPv4 address on an IPv6 socket. */
export const addressOf = (incoming: IncomingMessage): string =>
  (incoming.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
