/** Requests and answers for tests, for every way to reach the appliance; and a small HTTPS client. */

import type { IncomingHttpHeaders } from 'node:http'
import { type Agent, request as httpsRequest } from 'node:https'

export const BASE = '/api/v1'

/** Paths are relative to `BASE`; a full target starts with `//`, e.g. `//docs`. */
export const targetOf = (path: string): string => (path.startsWith('//') ? path.slice(1) : BASE + path)

export const splitLine = (line: string): [method: string, path: string] => line.split(' ') as [string, string]

export interface Call {
  /** `user:passphrase`, sent as basic authentication in UTF-8. */
  as?: string | undefined
  /** Sent as JSON with its content type. */
  json?: unknown
  body?: string | Uint8Array
  type?: string
  accept?: string
  headers?: Record<string, string | string[]>
  /** Instead of a body: that it will have so many bytes. None is sent. */
  declared?: number
  /** Source address, any of 127.0.0.0/8: failed attempts are counted per address. */
  from?: string | undefined
  timeoutMs?: number
}

export interface Reply {
  request: string
  status: number
  reason: string
  headers: IncomingHttpHeaders
  bytes: Buffer
  text(): string
  // biome-ignore lint/suspicious/noExplicitAny: most answers are looked into member by member
  json<T = any>(): T
}

export interface Target {
  host: string
  port: number
  agent?: Agent
}

export const basic = (credentials: string) => `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}`

export function contentOf(call: Call): { headers: Record<string, string | string[]>; body?: string | Uint8Array } {
  const headers: Record<string, string | string[]> = {}
  if (call.as !== undefined) headers.authorization = basic(call.as)
  if (call.accept !== undefined) headers.accept = call.accept
  let body = call.body
  if (call.json !== undefined) {
    body = JSON.stringify(call.json)
    headers['content-type'] = 'application/json'
  }
  if (call.type !== undefined) headers['content-type'] = call.type
  if (call.declared !== undefined) headers['content-length'] = String(call.declared)
  else if (body !== undefined) headers['content-length'] = String(Buffer.byteLength(body))
  Object.assign(headers, call.headers)
  return body === undefined ? { headers } : { headers, body }
}

export function request(target: Target, method: string, path: string, call: Call = {}): Promise<Reply> {
  const { headers, body } = contentOf(call)
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
          if (call.declared !== undefined) outgoing.destroy()
          const { statusCode: status = 0, statusMessage: reason = '', headers } = incoming
          done(toReply(`${method} ${path}`, { status, reason, headers, bytes }))
        })
      },
    )
    outgoing.on('error', fail)
    outgoing.once('timeout', () => outgoing.destroy(new Error('no answer in time')))
    if (call.declared === undefined) outgoing.end(body)
    else outgoing.flushHeaders()
  })
}

export const toReply = (request: string, answer: Pick<Reply, 'status' | 'reason' | 'headers' | 'bytes'>): Reply => ({
  request,
  ...answer,
  text: () => answer.bytes.toString('utf8'),
  json: () => JSON.parse(answer.bytes.toString('utf8')),
})
