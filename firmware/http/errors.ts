/** Converts errors into answers. Contract section 1.6. */

import { CofferError, type ErrorCode, UnknownOutcome } from '../base/error.ts'
import type { Log } from '../base/log.ts'
import { jsonReply, type Reply } from './reply.ts'

const STATUS: Record<ErrorCode, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  notFound: 404,
  timeout: 408,
  conflict: 409,
  unavailable: 412,
  tooLarge: 413,
  tooManyAttempts: 429,
  storage: 500,
  full: 507, // RFC 4918 section 11.5
  busy: 503,
  internal: 503,
}

const HEADERS: Partial<Record<ErrorCode, Readonly<Record<string, string>>>> = {
  unauthenticated: { 'www-authenticate': 'Basic realm="Coffer"' },
  tooManyAttempts: { 'retry-after': '1' },
  busy: { 'retry-after': '1' },
}

/** Statuses without an error code of the domain: method, type or target of the request is unsupported. RFC 9110 section 15. */
type RequestStatus = 405 | 406 | 414 | 415 | 501

/** Refusal of a request for its method, type or target, before an endpoint sees it. */
export class RequestError extends Error {
  readonly status: RequestStatus
  readonly headers: Readonly<Record<string, string>>

  constructor(status: RequestStatus, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.name = 'RequestError'
    this.status = status
    this.headers = headers
  }
}

/** Answers an error. Unexpected errors are logged; the client gets no detail. */
export function errorReply(error: unknown, log: Log): Reply {
  if (error instanceof RequestError) return refusal(error.status, error.message, error.headers)
  if (!(error instanceof CofferError)) {
    log.error('general', `unexpected exception: ${describe(error)}`)
    return refusal('internal', 'Internal error')
  }
  if (error.code === 'internal' || error.code === 'storage') {
    const cause = error.cause === undefined ? '' : `: ${describe(error.cause)}`
    log.error('general', `${error.code}: ${error.message}${cause}`)
  }
  if (error instanceof UnknownOutcome) return jsonReply(STATUS.busy, { message: error.message })
  return refusal(error.code, error.message)
}

export function refusal(
  code: ErrorCode | RequestStatus,
  message: string,
  headers?: Readonly<Record<string, string>>,
): Reply {
  if (typeof code === 'number') return jsonReply(code, { message }, headers)
  return jsonReply(STATUS[code], { message }, { ...HEADERS[code], ...headers })
}

/** Name, code and stack frames. The message is left out: it may quote client data. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const code = 'code' in error ? ` ${String(error.code)}` : ''
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return `${error.name}${code} ${frames.map((frame) => frame.trim()).join(', ')}`
}
