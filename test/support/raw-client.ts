/** A raw TLS connection, for what no HTTP client would send. */

import { connect, type TLSSocket } from 'node:tls'
import type { Target } from './client.ts'

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
