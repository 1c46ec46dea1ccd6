/** A small HTTPS client that shows what came over the wire, and a raw TLS connection for what no client would send. */

import type { IncomingHttpHeaders } from 'node:http'
import { type Agent, request as httpsRequest } from 'node:https'
import { connect, type TLSSocket } from 'node:tls'

export interface Call {
  /** `user:passphrase`, sent as basic authentication in UTF-8. */
  as?: string | undefined
  /** Sent as JSON with its content type. */
  json?: unknown
  body?: string | Uint8Array
  type?: string
  accept?: string
  headers?: Record<string, string | string[]>
  /** Source address, any of 127.0.0.0/8: failed attempts are counted per address. */
  from?: string | undefined
  timeoutMs?: number
}

export interface Reply {
  /** What was asked, for messages. */
  request: string
  status: number
  reason: string
  headers: IncomingHttpHeaders
  bytes: Buffer
  text(): string
  json<T>(): T
}

export interface Target {
  host: string
  port: number
  agent?: Agent
}

export const basic = (credentials: string) => `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}`

export function request(target: Target, method: string, path: string, call: Call = {}): Promise<Reply> {
  const headers: Record<string, string | string[]> = {}
  if (call.as !== undefined) headers.authorization = basic(call.as)
  if (call.accept !== undefined) headers.accept = call.accept
  let body = call.body
  if (call.json !== undefined) {
    body = JSON.stringify(call.json)
    headers['content-type'] = 'application/json'
  }
  if (call.type !== undefined) headers['content-type'] = call.type
  if (body !== undefined) headers['content-length'] = String(Buffer.byteLength(body))
  Object.assign(headers, call.headers)
  return new Promise((done, fail) => {
    const outgoing = httpsRequest(
      {
        host: target.host,
        port: target.port,
        agent: target.agent,
        localAddress: call.from,
        rejectUnauthorized: false,
        method,
        path,
        headers,
        timeout: call.timeoutMs ?? 60_000,
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.once('error', fail)
        incoming.once('end', () => {
          const bytes = Buffer.concat(chunks)
          done({
            request: `${method} ${path}`,
            status: incoming.statusCode!,
            reason: incoming.statusMessage!,
            headers: incoming.headers,
            bytes,
            text: () => bytes.toString('utf8'),
            json: <T>() => JSON.parse(bytes.toString('utf8')) as T,
          })
        })
      },
    )
    outgoing.once('error', fail)
    outgoing.once('timeout', () => outgoing.destroy(new Error('no answer in time')))
    outgoing.end(body)
  })
}

/** A connection under the caller's full control. */
export interface Raw {
  socket: TLSSocket
  send(bytes: string | Uint8Array): Promise<void>
  /** Everything received so far. */
  received(): Buffer
  /** Resolves with the first `count` answers; rejects when the server closes before or time is over. */
  answers(count: number, timeoutMs?: number): Promise<RawAnswer[]>
  /** Resolves when the server has closed the connection, with the time it took; rejects after `timeoutMs`. */
  closed(timeoutMs: number): Promise<number>
  destroy(): void
}

export interface RawAnswer {
  version: string
  status: number
  reason: string
  headers: Record<string, string>
  body: Buffer
}

export async function openRaw(target: Target): Promise<Raw> {
  // allowHalfOpen is missing from the types of tls.connect.
  const options = { host: target.host, port: target.port, rejectUnauthorized: false, allowHalfOpen: true }
  const socket = connect(options)
  await new Promise<void>((done, fail) => {
    socket.once('secureConnect', () => done())
    socket.once('error', fail)
  })
  const chunks: Buffer[] = []
  const opened = Date.now()
  let closedAfter: number | undefined
  const changed = new Set<() => void>()
  const notify = () => {
    for (const listener of [...changed]) listener()
  }
  const close = () => {
    closedAfter ??= Date.now() - opened
    notify()
  }
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    notify()
  })
  socket.on('end', () => {
    close()
    socket.destroy()
  })
  socket.on('close', close)
  socket.on('error', close)

  const until = <T>(what: string, timeoutMs: number, probe: () => T | undefined): Promise<T> =>
    new Promise((done, fail) => {
      const timer = setTimeout(() => {
        changed.delete(check)
        fail(new Error(`no ${what} within ${timeoutMs} ms`))
      }, timeoutMs)
      const check = () => {
        try {
          const value = probe()
          if (value === undefined) return
          done(value)
        } catch (error) {
          fail(error as Error)
        }
        clearTimeout(timer)
        changed.delete(check)
      }
      changed.add(check)
      check()
    })

  return {
    socket,
    send: (bytes) =>
      new Promise((done) => {
        if (socket.destroyed || socket.writableEnded) done()
        else socket.write(bytes, () => done())
      }),
    received: () => Buffer.concat(chunks),
    answers: (count, timeoutMs = 20_000) =>
      until(`${count} answers`, timeoutMs, () => {
        const found = parseAnswers(Buffer.concat(chunks))
        if (found.length >= count) return found.slice(0, count)
        if (closedAfter !== undefined) {
          throw new Error(
            `closed after ${found.length} of ${count} answers: ${Buffer.concat(chunks).toString('latin1')}`,
          )
        }
        return undefined
      }),
    closed: (timeoutMs) => until('end of the connection', timeoutMs, () => closedAfter),
    destroy: () => socket.destroy(),
  }
}

/** The complete answers in `bytes`; answers to HEAD and 1xx have no place here. */
export function parseAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at)
    if (end < 0) return answers
    const [line, ...fields] = bytes.subarray(at, end).toString('latin1').split('\r\n')
    const match = /^(HTTP\/1\.[01]) (\d{3}) ?(.*)$/.exec(line!)
    if (!match) throw new Error(`not a status line: ${line}`)
    const headers: Record<string, string> = {}
    for (const field of fields) {
      const colon = field.indexOf(':')
      headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim()
    }
    const status = Number(match[2])
    const length = status === 304 ? 0 : Number(headers['content-length'] ?? 0)
    const start = end + 4
    if (headers['transfer-encoding'] !== undefined) throw new Error('a chunked answer')
    if (start + length > bytes.length) return answers
    answers.push({
      version: match[1]!,
      status,
      reason: match[3]!,
      headers,
      body: bytes.subarray(start, start + length),
    })
    at = start + length
  }
}
