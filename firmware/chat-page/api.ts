/** Calls the chat's public API with the session of this browser. `chat/CONTRACT.md`, sections 1.2.1 and 1.3. */

export const BASE = '/api/v1'

/** Refusal by the server. Its message is for users. */
export class CallRefused extends Error {
  readonly status: number
  readonly code: string
  readonly retryAfterS: number

  constructor(status: number, code: string, message: string, retryAfterS: number) {
    super(message)
    this.name = 'CallRefused'
    this.status = status
    this.code = code
    this.retryAfterS = retryAfterS
  }
}

/** Milliseconds that the server demands to wait; null if it has not limited the caller. */
export const limitMsOf = (error: unknown): number | null =>
  error instanceof CallRefused && error.status === 429 ? error.retryAfterS * 1000 : null

interface ErrorAnswer {
  result?: string
  code?: string
  msg?: string
  'retry-after'?: number
}

type CallMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE'

interface CallExtras {
  signal?: AbortSignal
  /** API key to use instead of the session. */
  key?: { email: string; key: string }
  headers?: Readonly<Record<string, string>>
  /** Sent as multipart form data with the parameters. */
  file?: File | undefined
  /** The browser completes the request even if the user leaves the page. */
  isLast?: boolean
}

/** Strings are sent unchanged, other values as JSON; undefined ones are omitted. Throws `CallRefused`, or `TypeError` without an answer. */
export async function call<T>(
  method: CallMethod,
  path: string,
  parameters: Readonly<Record<string, unknown>> = {},
  { signal, key, headers, file, isLast = false }: CallExtras = {},
): Promise<T> {
  const encoded = new URLSearchParams(
    Object.entries(parameters)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]): [string, string] => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
  const isRead = method === 'GET'
  const response = await fetch(`${BASE}${path}${isRead && encoded.size > 0 ? `?${encoded}` : ''}`, {
    method,
    ...(!isRead && { body: file === undefined ? encoded : formOf(encoded, file) }),
    ...(signal && { signal }),
    headers: { ...headers, ...(key && { authorization: `Basic ${basic(key)}` }) },
    keepalive: isLast,
    credentials: 'same-origin',
    redirect: 'error',
    cache: 'no-store',
  })
  const answer = (await response.json().catch(() => null)) as ErrorAnswer | null
  if (response.ok) return (answer ?? {}) as T
  throw failureOf(response, answer)
}

/**
 * The error of an answer without success. A 5xx or 401 without the envelope comes from a proxy that cannot reach the chat, or that asks for
 * a login of its own: `TypeError`.
 */
export function failureOf(
  { status, statusText }: Pick<Response, 'status' | 'statusText'>,
  answer: ErrorAnswer | null,
): CallRefused | TypeError {
  const { result, code = '', msg = statusText, 'retry-after': retryAfterS = 1 } = answer ?? {}
  const isOfProxy = (status >= 500 || status === 401) && result !== 'error'
  return isOfProxy ? new TypeError() : new CallRefused(status, code, msg, retryAfterS)
}

function formOf(parameters: URLSearchParams, file: File): FormData {
  const form = new FormData()
  for (const [name, value] of parameters) form.append(name, value)
  form.append('file', file, file.name)
  return form
}

function basic({ email, key }: { email: string; key: string }): string {
  const bytes = new TextEncoder().encode(`${email}:${key}`)
  return btoa(String.fromCharCode(...bytes))
}
