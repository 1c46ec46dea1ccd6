/** Sends one API request over any transport and reads its answer: contract sections 1.1, 1.3 and 1.6. */

import { toBase64 } from './bytes.ts'

/** `path` is relative to the base path and percent-encoded. */
export interface Request<Body = Uint8Array | Upload> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  headers: Readonly<Record<string, string>>
  body?: Body
  signal?: AbortSignal
}

/** A body too large for memory. Each attempt opens it again. */
export interface Upload {
  bytes: number
  open(): AsyncIterable<Uint8Array>
}

/** Returns the answer whatever its status. Rejects only without an answer. */
export type Transport<R = Request> = (request: R) => Promise<Response>

/** Refusal by the appliance. `message` is its own sentence. */
export class ApiError extends Error {
  readonly status: number
  /** Seconds to wait before a retry; null if a retry is of no use. */
  readonly retryAfter: number | null

  constructor(status: number, message: string, retryAfter: number | null) {
    super(message)
    this.status = status
    this.retryAfter = retryAfter
  }
}

export interface Options {
  /** Query parameters; undefined ones are omitted. */
  query?: Readonly<Record<string, string | number | boolean | undefined>>
  accept?: string
  /** ETag of a previous answer: the request is refused with 412 if the resource has changed since. */
  ifMatch?: string
  signal?: AbortSignal
}

/** Header of Basic authentication, in UTF-8 (RFC 7617). */
export const basicCredentials = (user: string, passphrase: string): string =>
  `Basic ${toBase64(new TextEncoder().encode(`${user}:${passphrase}`))}`

/** Encodes one segment of a path, including `~`, which published clients encode, too. */
export const segment = (text: string): string => encodeURIComponent(text).replaceAll('~', '%7E')

type Wait = (seconds: number, attempt: number) => Promise<void>

const ATTEMPTS_MAX = 6 // the first one and five retries

/** Retries after 429 and 503 with a `retry-after`, five times at most. */
export function withRetries<R extends { signal?: AbortSignal }>(transport: Transport<R>, wait: Wait): Transport<R> {
  return async (request) => {
    for (let attempt = 1; ; attempt++) {
      const answer = await transport(request)
      const seconds = secondsOf(answer)
      const asksAgain = (answer.status === 429 || answer.status === 503) && seconds !== null && attempt < ATTEMPTS_MAX
      if (!asksAgain) return answer
      await answer.body?.cancel()
      await wait(seconds, attempt)
      request.signal?.throwIfAborted()
    }
  }
}

/** Throws `ApiError` for a status of 400 or above. */
export async function expectSuccess(answer: Response): Promise<Response> {
  if (answer.status < 400) return answer
  throw new ApiError(answer.status, messageIn(await answer.text()) ?? `Status ${answer.status}`, secondsOf(answer))
}

function secondsOf(answer: Response): number | null {
  const value = answer.headers.get('retry-after')
  return value !== null && /^\d{1,5}$/.test(value) ? Number(value) : null
}

function messageIn(text: string): string | null {
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    return typeof message === 'string' && message !== '' ? message : null
  } catch {
    return null // a proxy's page, for instance
  }
}
