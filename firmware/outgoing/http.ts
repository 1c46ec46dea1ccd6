/** Sends one HTTP request and reads its answer. Redirects are not followed, and a connection serves one request. */

import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { defined } from '../base/defined.ts'
import { type Connector, within } from './connect.ts'
import { OutgoingError } from './error.ts'
import { ANSWER_BYTES_MAX, HEADER_CHARACTERS_MAX, type HttpAnswer, type HttpJob } from './link.ts'

/** Throws `OutgoingError`. */
export async function exchange(connector: Connector, job: HttpJob, signal: AbortSignal): Promise<HttpAnswer> {
  return readable('it did not answer', job.timeoutMs, signal, async (limit) => {
    const url = new URL(job.url)
    const isSecure = url.protocol === 'https:'
    const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port)
    const destination = { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port }
    const stream = await (isSecure ? connector.connectTls : connector.connect)(destination, limit)
    try {
      return await converse(stream, url, job, limit)
    } finally {
      stream.destroy()
    }
  })
}

/** As `within`, but turns errors of the system into an OutgoingError with their code. */
export async function readable<T>(
  what: string,
  ms: number,
  signal: AbortSignal,
  work: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await within(ms, what, signal, work)
  } catch (error) {
    if (error instanceof OutgoingError) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new OutgoingError(`it could not be reached${typeof code === 'string' ? ` (${code})` : ''}`, false)
  }
}

async function converse(stream: Socket, url: URL, job: HttpJob, signal: AbortSignal): Promise<HttpAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const outgoing = request({
    createConnection: () => stream,
    method: job.method,
    path: `${url.pathname}${url.search}`,
    headers: {
      'user-agent': 'Coffer',
      ...job.headers,
      host: url.host,
      ...(job.body.length > 0 && { 'content-length': job.body.length }),
      connection: 'close',
    },
    signal,
  })
  outgoing.on('response', resolve).on('error', reject)
  // Node closes the connection without an error if the answer switches protocols.
  outgoing.on('close', () => reject(new OutgoingError('it ended the connection without an answer', false)))
  outgoing.end(job.body.length > 0 ? job.body : undefined)
  const response = await promise
  return { status: defined(response.statusCode), headers: headersOf(response, job), body: await bodyOf(response) }
}

function headersOf({ headers }: IncomingMessage, { answerHeaders }: HttpJob): Record<string, string> {
  const named = answerHeaders.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as const]
  })
  if (named.reduce((sum, [name, value]) => sum + name.length + value.length, 0) > HEADER_CHARACTERS_MAX)
    throw new OutgoingError('its answer is too long', true)
  return Object.fromEntries(named)
}

async function bodyOf(response: IncomingMessage): Promise<Uint8Array> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > ANSWER_BYTES_MAX) throw new OutgoingError('its answer is too long', true)
    pieces.push(piece)
  }
  return new Uint8Array(Buffer.concat(pieces))
}
