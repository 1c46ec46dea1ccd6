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
