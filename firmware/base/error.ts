/** The one error type. `http/` maps codes to statuses; contract section 1.6. */

export type ErrorCode =
  | 'invalid' // 400: the request is well-formed HTTP, its content is not acceptable
  | 'unauthenticated' // 401
  | 'forbidden' // 403
  | 'notFound' // 404
  | 'methodNotAllowed' // 405
  | 'notAcceptable' // 406
  | 'timeout' // 408: the request came too slowly
  | 'conflict' // 409
  | 'unavailable' // 412: not in this state, or a precondition does not hold
  | 'tooLarge' // 413
  | 'targetTooLong' // 414
  | 'unsupportedType' // 415
  | 'tooManyAttempts' // 429
  | 'storage' // 500: the disk failed, is full, or a stored record is damaged
  | 'notImplemented' // 501: a method nobody offers
  | 'busy' // 503 with retry-after: a bounded queue is full
  | 'internal' // 503: unexpected

/**
 * An error whose message may be shown to the client: it never holds a secret or a path of this machine.
 * `cause` is for the log.
 */
export class CofferError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'CofferError'
    this.code = code
  }
}
