/** The one error type of the rooms below HTTP, and of HTTP where it speaks for them. `http/errors.ts` maps codes to statuses. */

export type ErrorCode =
  | 'invalid' // what was given is not acceptable
  | 'unauthenticated'
  | 'forbidden'
  | 'notFound'
  | 'timeout' // it came too slowly
  | 'conflict' // with something that exists
  | 'unavailable' // not in this state, or a precondition does not hold
  | 'tooLarge'
  | 'tooManyAttempts'
  | 'storage' // the disk failed, is full, or a stored record is damaged
  | 'full' // the disk has no room left but the reserve
  | 'busy' // a bounded queue is full
  | 'internal' // unexpected

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

/** A change that the cluster may have made. The answer has no `retry-after`: clients would repeat the change by themselves. */
export class UnknownOutcome extends CofferError {
  constructor(cause?: unknown) {
    super('busy', 'It is not known whether this was done', cause)
  }
}

/** Not in this state, or not any more. Clients look for this text: contract section 10.2 row 12. */
export const wrongState = (): CofferError => new CofferError('unavailable', 'Service not available')

/** Messages of unexpected errors may quote what was being worked on; those of the disk and our own do not. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof CofferError)) return 'code' in error ? error.message : `unexpected ${error.name}`
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`
}
