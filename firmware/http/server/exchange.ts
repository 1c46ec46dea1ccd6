/** One HTTP request as the pipeline sees it, from a socket or, in tests, from a plain Request. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { Context } from 'hono'
import { markAuthenticated } from './connections.ts'
import { expectBody } from './unwanted-body.ts'

/** Passed by the listener with each request; absent in tests without sockets. */
export interface Connection {
  incoming?: IncomingMessage
  outgoing?: ServerResponse
}

export interface Exchange {
  method: string
  /** Path and query as sent. */
  target: string
  /** IP address of the client; `''` without a socket. */
  address: string
  /** Joins repeated headers with `, `. */
  header(name: string): string | undefined
  /** Answers `expect: 100-continue`, then returns the body. Call once. */
  openBody(): Readable
  /** Sets the largest body of the endpoint. If the body is refused, this much is discarded. */
  expectBody(bytesMax: number): void
  markAuthenticated(): void
  /** Aborts if the client disconnects before it has the complete answer. Created on the first call. */
  signal(): AbortSignal
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

/** Converts `https://host/path` to `/path`. RFC 9112 section 3.2.2 requires servers to accept both. */
const originForm = (target: string): string =>
  target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')

/** Removes the prefix of an IPv4 address on an IPv6 socket. */
export const addressOf = (incoming: IncomingMessage): string =>
  (incoming.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
