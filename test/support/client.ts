/** A small HTTPS client that shows what came over the wire. */

import type { IncomingHttpHeaders } from 'node:http'
import { type Agent, request as httpsRequest } from 'node:https'

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
