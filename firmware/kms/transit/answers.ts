/** Answers in the form of OpenBao. CONTRACT.md, "Answers". */

import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { CofferError, type ErrorCode } from '../../base/error.ts'
import type { Log } from '../../base/log.ts'
import { errorReply, RequestError } from '../../http/errors.ts'
import { jsonReply, type Reply } from '../../http/reply.ts'

/** Answers of endpoints, for their declarations. */
export const ANSWER = { status: 200, json: z.unknown() } as const

const DENIED = '1 error occurred:\n\t* permission denied\n\n'

/** A refusal with the status and texts of OpenBao. */
export class TransitError extends Error {
  readonly status: number
  readonly errors: readonly string[]
  /** True for requests that the audit log has as a refusal: a wrong guess of credentials, the use of a missing key. */
  readonly isRefusal: boolean

  constructor(status: number, errors: readonly string[], { isRefusal = false } = {}) {
    super(errors[0] ?? 'not found')
    this.name = 'TransitError'
    this.status = status
    this.errors = errors
    this.isRefusal = isRefusal
  }
}

/** Characters. A text may quote what the client sent, and a batch has it in each of a thousand items. */
const TEXT_MAX = 256

export const invalid = (text: string): TransitError => new TransitError(400, [text.slice(0, TEXT_MAX)])
/** For the use of a key that does not exist. */
export const noKey = (text: string): TransitError => new TransitError(400, [text], { isRefusal: true })
/** OpenBao's answer for a key that it does not have. */
export const missing = (): TransitError => new TransitError(404, [])
export const unsupportedPath = (): TransitError =>
  new TransitError(404, ['1 error occurred:\n\t* unsupported path\n\n'])
const noToken = (): TransitError => new TransitError(403, ['permission denied'])
export const denied = (reason?: string): TransitError =>
  new TransitError(403, reason === undefined ? [DENIED] : [DENIED, reason])
export const sealed = (): TransitError => new TransitError(503, ['Vault is sealed'])

interface AnswerOptions {
  auth?: object | null
  status?: number
  /** Members outside `data`. */
  beside?: object
}

export const answer = (data: object | null, { auth = null, status = 200, beside = {} }: AnswerOptions = {}) => ({
  status,
  reply: {
    request_id: randomUUID(),
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data,
    wrap_info: null,
    warnings: null,
    auth,
    ...beside,
  },
})

const OWN: Partial<Record<ErrorCode, () => TransitError>> = {
  unauthenticated: noToken,
  forbidden: () => denied(),
  notFound: missing,
  unavailable: sealed,
}

/** Errors without a text of OpenBao have the status of NetHSM's API. */
export function transitErrorReply(error: unknown, log: Log): Reply {
  if (error instanceof TransitError) return jsonReply(error.status, { errors: error.errors })
  if (error instanceof RequestError && error.status !== 414)
    return jsonReply(405, { errors: ['unsupported operation'] })
  const own = error instanceof CofferError ? OWN[error.code]?.() : undefined
  if (own !== undefined) return transitErrorReply(own, log)
  const { status, headers, body } = errorReply(error, log)
  const { message } = JSON.parse(String(body)) as { message: string }
  const { 'content-type': _type, 'content-length': _length, ...others } = headers
  return jsonReply(status, { errors: [message] }, others)
}
