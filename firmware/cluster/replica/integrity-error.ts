import { CofferError } from '../../base/error.ts'

/** etcd holds what no honest member has written: this node keeps what it has, and follows no more. */
export class IntegrityError extends Error {
  /** An honest one has, with newer software: what this node has means something else by now. */
  readonly isOutdated: boolean

  constructor(why: string, cause?: unknown, isOutdated = false) {
    super(`Cannot accept the records of the cluster: ${why}`, cause === undefined ? undefined : { cause })
    this.name = 'Refusal'
    this.isOutdated = isOutdated
  }
}

/** A received change that the store does not take is refused; any other error is a failure. */
export const refusalOf = (error: unknown): unknown =>
  error instanceof CofferError && error.code === 'invalid' ? new IntegrityError(error.message, error) : error
