/** Calls of the API with the credentials of one account, which no one can take out again. Contract sections 1 and 3. */

import { toBase64 } from '../client/bytes.ts'
import { utf8Bytes } from './format.ts'
import { send } from './transport.ts'

/** The appliance refused: what it said, and the status behind it. */
export class Refusal extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export interface Options {
  json?: unknown
  body?: BodyInit
  type?: string
  /** Of what was shown: the change is refused (412) when somebody changed it since. */
  etag?: string | null
  accept?: string
  signal?: AbortSignal
  progress?: (sent: number) => void
}

export interface Api {
  /** The answer, which is no error. Waits out 429 and 503 as the appliance asks. */
  call(method: string, path: string, options?: Options): Promise<Response>
  json<T>(method: string, path: string, options?: Options): Promise<T>
  text(method: string, path: string, options?: Options): Promise<string>
  get<T>(path: string, signal?: AbortSignal): Promise<T>
  /** With the etag that a later change names. */
  tagged<T>(path: string): Promise<Tagged<T>>
}

export interface Tagged<T> {
  value: T
  etag: string | null
}

const ATTEMPTS_MAX = 6
const RETRY_SECONDS_MAX = 10

/** `null` is for what needs no account. The value of the header is made here and never leaves. */
export function openApi(credentials: { user: string; passphrase: string } | null): Api {
  const authorization =
    credentials === null
      ? null
      : `Basic ${toBase64(new TextEncoder().encode(`${credentials.user}:${credentials.passphrase}`))}`

  async function call(method: string, path: string, options: Options = {}): Promise<Response> {
    const { json, type, etag, accept, signal, progress } = options
    const headers: Record<string, string> = {}
    let { body } = options
    if (json !== undefined) {
      headers['content-type'] = 'application/json'
      body = JSON.stringify(json)
    } else if (type !== undefined) headers['content-type'] = type
    if (etag) headers['if-match'] = etag
    if (accept) headers.accept = accept
    for (let attempt = 1; ; attempt++) {
      const answer = await send({
        method,
        path,
        headers,
        authorization,
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
        ...(progress && { progress }),
      })
      if (answer.status < 400) return answer
      const wait = Number(answer.headers.get('retry-after'))
      const mayWait = (answer.status === 429 || answer.status === 503) && wait > 0 && attempt < ATTEMPTS_MAX
      if (!mayWait) throw new Refusal(answer.status, await messageOf(answer))
      await new Promise((done) => setTimeout(done, Math.min(wait, RETRY_SECONDS_MAX) * 1000))
      signal?.throwIfAborted()
    }
  }

  return withHelpers(call)
}

/** The other ways to call are made of the first. */
export function withHelpers(call: Api['call']): Api {
  const json = async <T>(method: string, path: string, options?: Options) =>
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

async function messageOf(answer: Response): Promise<string> {
  try {
    const { message } = (await answer.json()) as { message?: unknown }
    if (typeof message === 'string' && utf8Bytes(message) > 0) return message
  } catch {
    // No JSON: the status has to do.
  }
  return `Status ${answer.status}`
}

/** One segment of a path. */
export const seg = (text: string): string => encodeURIComponent(text).replaceAll('~', '%7E')
