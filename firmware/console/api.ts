/** Calls the API as one account. The credentials stay in a closure, so no other code can read them. Contract sections 1 and 3. */

import { basicCredentials, expectSuccess, type Request, withRetries } from '../client/request.ts'
import { type Body, send } from './transport.ts'

export interface Options {
  json?: unknown
  body?: Body
  type?: string
  /** ETag of the values shown: the change is refused with 412 if they have changed since. */
  etag?: string | null
  signal?: AbortSignal
  progress?: (sent: number) => void
}

export interface Api {
  /** Throws `ApiError` for a status of 400 or above. Waits and retries after 429 and 503. */
  call(method: Method, path: string, options?: Options): Promise<Response>
  json<T>(method: Method, path: string, options?: Options): Promise<T>
  text(method: Method, path: string, options?: Options): Promise<string>
  get<T>(path: string, signal?: AbortSignal): Promise<T>
  /** Includes the etag, which a later change sends as its condition. */
  tagged<T>(path: string): Promise<Tagged<T>>
}

export type Method = Request['method']

export interface Tagged<T> {
  value: T
  etag: string | null
}

const WAIT_SECONDS_MAX = 10 // a user at the screen retries sooner

const ask = withRetries(
  send,
  (seconds) => new Promise((done) => setTimeout(done, Math.min(seconds, WAIT_SECONDS_MAX) * 1000)),
)

/** `null` makes calls without an account. The authorization header is made here and stays in the closure. */
export function openApi(credentials: { user: string; passphrase: string } | null): Api {
  const authorization = credentials && basicCredentials(credentials.user, credentials.passphrase)
  return withHelpers(async (method, path, { json, type, etag, body, ...rest } = {}) => {
    const headers = {
      ...(authorization && { authorization }),
      ...(json !== undefined ? { 'content-type': 'application/json' } : type && { 'content-type': type }),
      ...(etag && { 'if-match': etag }),
    }
    const content = json === undefined ? body : JSON.stringify(json)
    return expectSuccess(await ask({ method, path, headers, ...(content !== undefined && { body: content }), ...rest }))
  })
}

export function withHelpers(call: Api['call']): Api {
  const json = async <T>(method: Method, path: string, options?: Options) =>
    (await (await call(method, path, options)).json()) as T
  return {
    call,
    json,
    text: async (method, path, options) => (await call(method, path, options)).text(),
    get: <T>(path: string, signal?: AbortSignal) => json<T>('GET', path, signal ? { signal } : {}),
    tagged: async <T>(path: string) => {
      const answer = await call('GET', path)
      return { value: (await answer.json()) as T, etag: answer.headers.get('etag') }
    },
  }
}
