/** Sends one HTTP request and reads its answer. Redirects are not followed. A connection serves one request, but for jobs with `keepAlive`. */

import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { defined } from '../base/defined.ts'
import { type Connector, within } from './connect.ts'
import { OutgoingError } from './error.ts'
import type { KeptConnection } from './idle-connections.ts'
import { ANSWER_BYTES_MAX, HEADER_CHARACTERS_MAX, type HttpAnswer, type HttpJob } from './link.ts'

const REQUEST_TIMEOUT = 408
/** Then a kept connection is taken to be dead: a firewall may have forgotten it, or the network has changed. */
const AGAIN_MS_MAX = 3000
/** Codes of errors by which a connection ends before an answer; that of Node's "socket hang up" is the first one. */
const ENDS: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT'])

/** Throws `OutgoingError`. */
export async function exchange(connector: Connector, job: HttpJob, signal: AbortSignal): Promise<HttpAnswer> {
  return readable('it did not answer', job.timeoutMs, signal, async (limit) => {
    const url = new URL(job.url)
    const isSecure = url.protocol === 'https:'
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
    const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port)
    const isDirect = !isSecure || !connector.usesProxy(host)
    const addresses = isDirect ? await connector.addressesOf({ host, port }, limit) : undefined
    const kept = job.keepAlive ? await askAgain(connector, url, addresses, job, limit) : null
    if (kept !== null) return kept
    let address: string | undefined
    const onConnected = (to: string) => {
      address = to
    }
    const destination = { host, port, ...(addresses && { addresses, onConnected }) }
    const stream = await (isSecure ? connector.connectTls : connector.connect)(destination, limit)
    const connection = { stream, origin: url.origin, address, connectedMs: performance.now() }
    return read(connector, connection, job, await ask(stream, url, job, limit))
  })
}

/** Over a connection that another request was sent over. Null if none is open, or the server closed it or is silent. */
async function askAgain(
  connector: Connector,
  url: URL,
  addresses: readonly string[] | undefined,
  job: HttpJob,
  signal: AbortSignal,
): Promise<HttpAnswer | null> {
  const connection = await connector.idle.take(url.origin, addresses ?? [])
  if (connection === null) return null
  const { stream } = connection
  const silence = Object.assign(new Error('It was silent'), { code: 'ETIMEDOUT' })
  const timer = setTimeout(() => stream.destroy(silence), AGAIN_MS_MAX)
  let asked: Asked
  try {
    asked = await ask(stream, url, job, signal)
  } catch (error) {
    if (!ENDS.has((error as NodeJS.ErrnoException).code)) throw error
    return null
  } finally {
    clearTimeout(timer)
  }
  // Some servers answer so before they close a connection that was idle: RFC 9110 section 15.5.9.
  if (asked.response.statusCode !== REQUEST_TIMEOUT) return read(connector, connection, job, asked)
  stream.destroy()
  return null
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

interface Asked {
  readonly response: IncomingMessage
  /** Resolves once the response was read to its end, or cannot be. */
  readonly ended: Promise<void>
}

/** Sends the request. Destroys the stream if no response begins. */
async function ask(stream: Socket, url: URL, job: HttpJob, signal: AbortSignal): Promise<Asked> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  try {
    const outgoing = request({
      createConnection: () => stream,
      method: job.method,
      path: `${url.pathname}${url.search}`,
      headers: {
        'user-agent': 'Coffer',
        ...job.headers,
        host: url.host,
        ...(job.body.length > 0 && { 'content-length': job.body.length }),
        connection: job.keepAlive ? 'keep-alive' : 'close',
      },
      signal,
    })
    outgoing.on('response', resolve).on('error', reject).on('close', end)
    // Node closes the connection without an error if the answer switches protocols.
    outgoing.on('close', () => reject(new OutgoingError('it ended the connection without an answer', false)))
    outgoing.end(job.body.length > 0 ? job.body : undefined)
    return { response: await promise, ended }
  } catch (error) {
    stream.destroy()
    throw error
  }
}

/** Reads the answer; then the connection is closed, or waits for another request. */
async function read(
  { idle }: Connector,
  connection: KeptConnection,
  job: HttpJob,
  { response, ended }: Asked,
): Promise<HttpAnswer> {
  const { stream } = connection
  let isReusable = false
  try {
    const headers = headersOf(response, job)
    const body = await bodyOf(response)
    if (job.keepAlive) {
      await ended
      isReusable = stream.writable // not if the server is about to close it
    }
    return { status: defined(response.statusCode), headers, body }
  } finally {
    if (isReusable) await idle.put(connection)
    else stream.destroy()
  }
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
