/** Answers in the envelope of the API: successes and errors. Contract sections 1.3 and 1.4. */

import { CofferError, type ErrorCode } from '../../base/error.ts'
import type { Log } from '../../base/log.ts'
import { errorReply, RequestError } from '../../http/errors.ts'
import { bodyReply, type Reply, type StreamedReply } from '../../http/reply.ts'
import { storageFailure } from '../../store/failure.ts'
import { ChatError, type ChatErrorCode, type ErrorFields } from '../base/error.ts'
import { answerJson } from './answer-json.ts'
import { RateLimitHit } from './rate-limit.ts'

const TYPE = 'application/json; charset=utf-8'

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const

export type Answer = Readonly<Record<string, unknown>> | Special

class Special {
  readonly make: (ignored: readonly string[]) => Reply | StreamedReply

  constructor(make: (ignored: readonly string[]) => Reply | StreamedReply) {
    this.make = make
  }
}

/** Answers that the time limit ended the work early: contract section 11.3. */
export const partly = (fields: Readonly<Record<string, unknown>>): Special =>
  new Special((ignored) =>
    reply(200, {
      result: 'partially_completed',
      msg: '',
      code: 'REQUEST_TIMEOUT',
      ...fields,
      ...ignoredField(ignored),
    }),
  )

/** Answers with `json` as the serialized member `name`. */
export const withText = (name: string, json: string, fields: Readonly<Record<string, unknown>>): Special =>
  new Special((ignored) => {
    const head = JSON.stringify({ result: 'success', msg: '', ...fields, ...ignoredField(ignored) })
    return bodyReply(200, `${head.slice(0, -1)},"${name}":${json}}`, TYPE, HEADERS)
  })

export const withHeaders = (
  fields: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>>,
): Special =>
  new Special((ignored) => reply(200, { result: 'success', msg: '', ...fields, ...ignoredField(ignored) }, headers))

/** Answers without the envelope: files, pages, redirects. */
export const raw = (reply: Reply | StreamedReply): Special => new Special(() => reply)

export function successReply(answer: Answer, ignored: readonly string[]): Reply | StreamedReply {
  if (answer instanceof Special) return answer.make(ignored)
  return reply(200, { result: 'success', msg: '', ...answer, ...ignoredField(ignored) })
}

const ignoredField = (ignored: readonly string[]) =>
  ignored.length === 0 ? {} : { ignored_parameters_unsupported: [...ignored].sort() }

function reply(
  status: number,
  value: Readonly<Record<string, unknown>>,
  headers?: Readonly<Record<string, string>>,
): Reply {
  const { text, bytes } = answerJson(value)
  return {
    status,
    headers: { ...HEADERS, ...headers, 'content-type': TYPE, 'content-length': String(bytes) },
    body: text,
  }
}

/** Chat error codes for errors of shared modules. */
const CODES: Partial<Record<ErrorCode, [status: number, code: ChatErrorCode]>> = {
  invalid: [400, 'BAD_REQUEST'],
  unauthenticated: [401, 'UNAUTHORIZED'],
  forbidden: [403, 'BAD_REQUEST'],
  notFound: [404, 'NOT_FOUND'],
  timeout: [408, 'BAD_REQUEST'],
  conflict: [409, 'BAD_REQUEST'],
  tooLarge: [413, 'BAD_REQUEST'],
  tooManyAttempts: [429, 'RATE_LIMIT_HIT'],
  full: [400, 'BAD_REQUEST'], // published clients hide the text of 5xx answers and retry ten times
  busy: [429, 'RATE_LIMIT_HIT'], // memory or the derivation queue is full
  unavailable: [500, 'SERVER_NOT_READY'],
}

/** Unexpected errors are logged; the client gets no detail. `more`: further members. */
export function failureReply(thrown: unknown, log: Log, more: (message: string) => ErrorFields = () => ({})): Reply {
  const error = storageFailure(thrown)
  if (error instanceof ChatError) {
    const { code, status, message, fields } = error
    return reply(status, { result: 'error', msg: message, code, ...fields, ...more(message) }, headersOf(error))
  }
  if (error instanceof RequestError)
    return reply(error.status, { result: 'error', msg: error.message, code: 'BAD_REQUEST', ...more(error.message) })
  const known = error instanceof CofferError ? CODES[error.code] : undefined
  if (known !== undefined) {
    const [status, code] = known
    const retry = code === 'RATE_LIMIT_HIT' ? { 'retry-after': 1 } : {}
    const headers = code === 'RATE_LIMIT_HIT' ? { 'retry-after': '1' } : {}
    const { message } = error as CofferError
    return reply(status, { result: 'error', msg: message, code, ...retry, ...more(message) }, headers)
  }
  const { status } = errorReply(error, log) // also logs it
  const msg = 'Internal server error'
  return reply(status === 503 ? 500 : status, { result: 'error', msg, code: 'BAD_REQUEST', ...more(msg) })
}

export function statusOf(thrown: unknown): number {
  const error = storageFailure(thrown)
  if (error instanceof ChatError || error instanceof RequestError) return error.status
  return (error instanceof CofferError ? CODES[error.code]?.[0] : undefined) ?? 500
}

function headersOf(error: ChatError): Record<string, string> {
  const { code, fields } = error
  if (code === 'UNAUTHORIZED') return { 'www-authenticate': 'Basic realm="zulip"' }
  if (code === 'RATE_LIMIT_HIT') {
    const limit = error instanceof RateLimitHit ? error.headers : {}
    return { 'retry-after': String(Math.ceil(Number(fields['retry-after'] ?? 1))), ...limit }
  }
  if (code === 'SERVER_NOT_READY') return { 'retry-after': '5' }
  return {}
}
