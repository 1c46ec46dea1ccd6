import { CofferError } from '../base/error.ts'

/** An outgoing job that failed. The message is a predicate about the other server, such as `it did not answer within 10 seconds`. */
export class OutgoingError extends Error {
  /** True if another attempt now would fail the same way. */
  readonly isFinal: boolean

  constructor(message: string, isFinal: boolean) {
    super(message)
    this.name = 'OutgoingError'
    this.isFinal = isFinal
  }
}

/** For callers that need the process for outgoing connections where the boot manager does not start one. */
export const noOutgoing = (): CofferError =>
  new CofferError('unavailable', 'The boot manager is too old for outgoing connections')
