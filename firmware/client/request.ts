/** One request of the API and its answer, over whatever carries it: contract sections 1.1, 1.3 and 1.6. */

import { toBase64 } from './bytes.ts'

/** What is sent; `path` is relative to the base path and encoded. */
export interface Request<Body = Uint8Array | Upload> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  headers: Readonly<Record<string, string>>
  body?: Body
  signal?: AbortSignal
}

/** A body that is too large for memory. It is opened anew for each attempt. */
export interface Upload {
  bytes: number
  open(): AsyncIterable<Uint8Array>
}

/** Carries a request and gives its answer, whatever its status. Rejects when there is none. */
export type Transport<R = Request> = (request: R) => Promise<Response>

/** The appliance refused. `message` is its own sentence. */
export class ApiError extends Error {
  readonly status: number
  /** Seconds after which the same may be asked again; null when asking again is of no use. */
  readonly retryAfter: number | null

  constructor(status: number, message: string, retryAfter: number | null) {
    super(message)
    this.status = status
    this.retryAfter = retryAfter
  }
}

export interface Options {
  /** Query parameters; those that are undefined are left out. */
  query?: Readonly<Record<string, string | number | boolean | undefined>>
  accept?: string
  /** Refused with 412 when what was read with this etag has changed since. */
  ifMatch?: string
  signal?: AbortSignal
}

/** Of Basic authentication, in UTF-8 (RFC 7617). */
export const basicCredentials = (user: string, passphrase: string): string =>
  `Basic ${toBase64(new TextEncoder().encode(`${user}:${passphrase}`))}`

/** One segment of a path; published clients of the API encode `~`, too. */
export const segment = (text: string): string => encodeURIComponent(text).replaceAll('~', '%7E')

/** Waits before the same is asked again. */
type Wait = (seconds: number, attempt: number) => Promise<void>

const ATTEMPTS_MAX = 6 // the first, and five that waited

/** Asks again after 429 and 503 that name a time, five times at most. */
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

/** Throws `ApiError` for every status from 400 on. */
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
