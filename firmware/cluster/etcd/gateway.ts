/**
 * etcd's JSON gateway over a Unix socket: each call of its gRPC interface is a POST, and a stream answers with a line for each
 * message. https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/
 */

import { Agent, type IncomingMessage, request } from 'node:http'
import type * as z from 'zod'
import { EtcdError, errorOf } from './error.ts'
import { failure, streamed } from './messages.ts'

const CONNECTIONS_MAX = 16
/** An answer, or a line in a stream. A record has a megabyte and a half at most, which is two in base 64. */
const BYTES_MAX = 8 * 1024 * 1024

export interface Gateway {
  /** Throws EtcdError. `path`: behind `/v3/`. */
  call<T>(path: string, body: object, schema: z.ZodType<T>, timeoutMs: number): Promise<T>
  /** Messages until the signal aborts, which throws `unavailable` like every other end; throws EtcdError. */
  stream<T>(path: string, body: object, schema: z.ZodType<T>, signal: AbortSignal): AsyncGenerator<T>
  /** Calls under way end as `unavailable`. */
  close(): void
}

export function createGateway(socketPath: string): Gateway {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX })
  const closing = new AbortController()

  function send(path: string, body: object, signal: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const text = JSON.stringify(body)
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    const sent = request({ agent, socketPath, path: `/v3/${path}`, method: 'POST', headers, signal }, resolve)
    sent.on('error', reject)
    sent.end(text)
    return promise
  }

  return {
    async call(path, body, schema, timeoutMs) {
      const { signal, release } = linkedSignal(closing.signal, timeoutMs)
      try {
        const answer = await send(path, body, signal)
        const text = await readAll(answer)
        if (answer.statusCode === 200) return read(schema, text)
        throw refusalOf(answer.statusCode, text)
      } catch (error) {
        throw unavailable(error)
      } finally {
        release()
      }
    },
    async *stream(path, body, schema, signal) {
      const linked = linkedSignal(closing.signal, null, signal)
      try {
        const answer = await send(path, body, linked.signal)
        if (answer.statusCode !== 200) throw refusalOf(answer.statusCode, await readAll(answer))
        for await (const line of linesOf(answer)) {
          const { result, error } = read(streamed, line)
          if (error !== undefined) throw errorOf(error.grpc_code ?? error.code, error.message)
          yield match(schema, result)
        }
        throw new EtcdError('unavailable', 'etcd ended the stream')
      } catch (error) {
        throw unavailable(error)
      } finally {
        linked.release()
        linked.abort()
      }
    },
    close() {
      closing.abort()
      agent.destroy()
    },
  }
}

interface LinkedSignal {
  signal: AbortSignal
  abort(): void
  /** Leaves nothing behind at those that it follows, which live longer. */
  release(): void
}

function linkedSignal(closing: AbortSignal, timeoutMs: number | null, stop?: AbortSignal): LinkedSignal {
  const controller = new AbortController()
  const abort = (): void => controller.abort()
  const followed = stop === undefined ? [closing] : [closing, stop]
  for (const signal of followed) {
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
  }
  const timer = timeoutMs === null ? undefined : setTimeout(abort, timeoutMs)
  return {
    signal: controller.signal,
    abort,
    release() {
      clearTimeout(timer)
      for (const signal of followed) signal.removeEventListener('abort', abort)
    },
  }
}

/** For any failure of the connection: nobody knows what etcd has done. */
function unavailable(error: unknown): EtcdError {
  if (error instanceof EtcdError) return error
  const why = (error as NodeJS.ErrnoException).code ?? (error as Error).name
  return new EtcdError('unavailable', `etcd does not answer (${why})`, error)
}

async function readAll(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BYTES_MAX) throw new EtcdError('tooLarge', 'The answer of etcd is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const LINE_END = 0x0a

async function* linesOf(answer: IncomingMessage): AsyncGenerator<string> {
  let chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(LINE_END); end !== -1; end = chunk.indexOf(LINE_END, from)) {
      const line = Buffer.concat([...chunks, chunk.subarray(from, end)]).toString()
      chunks = []
      bytes = 0
      from = end + 1
      if (line !== '') yield line
    }
    bytes += chunk.length - from
    if (bytes > BYTES_MAX) throw new EtcdError('tooLarge', 'A message of etcd is too large')
    chunks.push(chunk.subarray(from))
  }
}

function read<T>(schema: z.ZodType<T>, text: string): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new EtcdError('malformed', 'What etcd answers is not JSON')
  }
  return match(schema, value)
}

function match<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new EtcdError('malformed', `What etcd answers is not understood: ${issue?.path.join('.')} ${issue?.message}`)
}

function refusalOf(status: number | undefined, text: string): EtcdError {
  const { code, message } = read(failure, text)
  return errorOf(code, message === '' ? `status ${status}` : message)
}
