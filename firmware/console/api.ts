/** Calls of the API with the credentials of one account, which no one can take out again. Contract sections 1 and 3. */

import { basicCredentials, expectSuccess, type Request, withRetries } from '../client/request.ts'
import { type Body, send } from './transport.ts'

export interface Options {
  json?: unknown
  body?: Body
  type?: string
  /** Of what was shown: the change is refused (412) when somebody changed it since. */
  etag?: string | null
  signal?: AbortSignal
  progress?: (sent: number) => void
}

export interface Api {
  /** The answer, which is no error. Waits out 429 and 503 as the appliance asks. */
  call(method: Method, path: string, options?: Options): Promise<Response>
  json<T>(method: Method, path: string, options?: Options): Promise<T>
  text(method: Method, path: string, options?: Options): Promise<string>
  get<T>(path: string, signal?: AbortSignal): Promise<T>
  /** With the etag that a later change names. */
  tagged<T>(path: string): Promise<Tagged<T>>
}

export type Method = Request['method']

export interface Tagged<T> {
  value: T
  etag: string | null
}

const WAIT_SECONDS_MAX = 10 // whoever looks at a page tries again sooner

const ask = withRetries(
  send,
  (seconds) => new Promise((done) => setTimeout(done, Math.min(seconds, WAIT_SECONDS_MAX) * 1000)),
)

/** `null` is for what needs no account. The value of the header is made here and never leaves. */
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

/** The other ways to call are made of the first. */
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
