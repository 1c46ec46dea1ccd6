/** Logs, answers and counts requests of the TLS port and input that the parser rejects. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { createShare, type Log } from '../../base/log.ts'
import { refusal } from '../errors.ts'
import { type Reply, toResponse } from '../reply.ts'
import { clientOf, type Watch } from './clients.ts'
import type { Connection } from './exchange.ts'
import type { ListenerLimits } from './limits.ts'
import type { ListMethod } from './list-method.ts'
import { loggedPath } from './logged-path.ts'
import { createPipelining } from './pipelining.ts'
import { answerRaw, parserErrorReply, targetOfUnknownMethod } from './raw.ts'
import type { Traffic } from './traffic.ts'
import { watchDrain } from './unwanted-body.ts'

export interface App {
  fetch: (request: Request, env: Connection) => Response | Promise<Response>
}

interface RequestsOptions {
  app: App
  log: Log
  traffic: Traffic
  limits: ListenerLimits
  commonHeaders: () => Readonly<Record<string, string>>
  watch: Pick<Watch, 'answered'>
  listMethod: ListMethod
  withoutSecrets?: ((path: string) => string) | undefined
}

export interface Requests {
  onRequest(incoming: IncomingMessage, outgoing: ServerResponse): void
  /** Call when the parser fails. Earlier requests are answered first, then the error, then the connection ends; or LIST is read. */
  onParserError(error: Error, socket: Duplex): Promise<void>
  /** Handles CONNECT, which Node passes with its socket. */
  onConnect(incoming: IncomingMessage): void
  onPlain(asked: { method: string; target: string }, status: number): void
}

/** RFC 9112 section 3.2: exactly one `host` line, optional in HTTP/1.0. Node uses the first of several. */
function hostProblem({ rawHeaders, httpVersion }: IncomingMessage): string | null {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') hosts++
  if (hosts > 1) return 'There is more than one host header'
  return hosts === 0 && httpVersion === '1.1' ? 'The host header is missing' : null
}

export function createRequests(options: RequestsOptions): Requests {
  const { app, log, traffic, limits, commonHeaders, watch, listMethod } = options
  const pathOf = (target: string): string => loggedPath(target, options.withoutSecrets)
  const pipelining = createPipelining(limits, listMethod)
  const anonymous = createShare(log)
  const toApp = getRequestListener((request, env) => app.fetch(request, env as Connection), {
    hostname: 'localhost', // HTTP/1.0 may omit the host
    autoCleanupIncoming: false, // done here, within limits
    errorHandler: () => toResponse(refusal('invalid', 'The request target or the host is malformed')),
  })

  /** Unauthenticated clients get a share of the log only. */
  const linesFor = (socket: Duplex): Log | undefined => (clientOf(socket).isUser ? log : anonymous.lines())

  function record(lines: Log | undefined, status: number, seconds: number): void {
    lines?.info('access', `response ${status} response time ${seconds.toFixed(6)}`)
    traffic.record(status, seconds)
  }

  function answer(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const problem = hostProblem(incoming)
    if (problem !== null) {
      const { status, headers, body } = refusal('invalid', problem)
      outgoing.writeHead(status, headers).end(body)
    } else {
      void toApp(incoming, outgoing)
    }
  }

  /** The path and the appliance's state are checked before the method: contract section 1.7. */
  async function unknownMethodReply(error: Error, lines: Log | undefined): Promise<Reply | null> {
    const target = targetOfUnknownMethod(error)
    if (target === null) return null
    lines?.info('access', `request of an unknown method ${pathOf(target)}`)
    try {
      // Any unknown name gives the same answer. `get` would be normalized to GET.
      const response = await app.fetch(new Request(`https://localhost${target}`, { method: 'UNKNOWN' }), {})
      return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
    } catch {
      return null
    }
  }

  return {
    onRequest(incoming, outgoing) {
      const started = performance.now()
      listMethod.rename(incoming)
      const { socket } = incoming
      const client = clientOf(socket)
      if (client.isOver) {
        incoming.resume() // the connection ends before its answer: RFC 9112 section 9.6
        return
      }
      const isAlone = client.unanswered.size === 0
      client.requests++
      client.last = incoming
      /** Its header and its listeners refer to credentials and to what was asked: an idle connection must not keep them. */
      const forget = () => {
        if (client.last === incoming && incoming.complete && outgoing.closed) client.last = undefined
      }
      incoming.on('close', forget)
      client.unanswered.add(outgoing)
      const line = `request ${incoming.method} ${pathOf(incoming.url ?? '')}`
      const isLogged = client.isUser
      if (isLogged) log.info('access', line)
      outgoing.on('finish', () => {
        if (!outgoing.shouldKeepAlive) {
          client.isOver = true
          pipelining.drop(socket)
        }
        if (!incoming.complete) watchDrain(incoming, limits)
      })
      outgoing.on('close', () => {
        client.unanswered.delete(outgoing)
        client.idleSinceMs = performance.now()
        if (incoming.complete) watch.answered(socket)
        forget()
        const lines = linesFor(socket)
        if (!isLogged) lines?.info('access', line)
        if (outgoing.headersSent) record(lines, outgoing.statusCode, (performance.now() - started) / 1000)
        pipelining.proceed(socket)
        if (client.unanswered.size === 0) client.whenAnswered?.()
      })
      // One at a time: a client that pipelines without reading has only one answer in memory.
      if (isAlone) answer(incoming, outgoing)
      else pipelining.wait(socket, () => answer(incoming, outgoing))
    },

    async onParserError(error, socket) {
      const client = clientOf(socket)
      const again = client.broken ? null : listMethod.restart(error, socket)
      if (again !== null) return pipelining.readAgain(socket as Socket, again)
      // The rest of its headers is held back here until earlier answers are sent.
      const isHeld =
        (error as { code?: string }).code === 'ERR_HTTP_REQUEST_TIMEOUT' && pipelining.isHolding(socket as Socket)
      if (client.broken || isHeld) return
      if ((error as { code?: string }).code === 'ERR_HTTP_REQUEST_TIMEOUT') {
        const { requests } = client
        await nextTurn() // headers that arrived while this thread was busy are read in the same turn, but after the timers
        if (client.broken || client.requests !== requests) return
      }
      client.broken = true
      pipelining.stop(socket as Socket)
      const lines = linesFor(socket)
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
    },

    onConnect({ method, socket }) {
      const lines = linesFor(socket)
      lines?.info('access', `request ${method}`)
      pipelining.stop(socket)
      answerRaw(socket, refusal(501, 'Unknown method'), commonHeaders())
      record(lines, 501, 0)
    },

    onPlain({ method, target }, status) {
      const lines = anonymous.lines()
      lines?.info('access', `request ${method} ${pathOf(target)} without TLS`)
      record(lines, status, 0)
    },
  }
}
