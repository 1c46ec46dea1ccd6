/** What must not stop a start or a stop: it is tried, and where it fails the log says so. */

import { CofferError } from '../base/error.ts'
import type { Log } from '../base/log.ts'

export class Tolerance {
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  /** Undefined when it fails. */
  attempt<T>(what: string, action: () => T): T | undefined {
    try {
      return action()
    } catch (error) {
      this.note(what, error)
      return undefined
    }
  }

  async attemptSlowly(what: string, action: () => Promise<void> | void): Promise<void> {
    try {
      await action()
    } catch (error) {
      this.note(what, error)
    }
  }

  note(what: string, error: unknown): void {
    this.#log.error('general', `${what}: ${describe(error)}`)
  }
}

/** Messages of unexpected errors may quote what was being worked on; those of the disk and our own do not. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof CofferError)) return 'code' in error ? error.message : `unexpected ${error.name}`
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`
}
