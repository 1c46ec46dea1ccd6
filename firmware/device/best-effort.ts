/** Steps whose failure must not stop a start or a stop: the log tells of it. */

import { describe } from '../base/error.ts'
import type { Log } from '../base/log.ts'

export class BestEffort {
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
    this.#log.error('general', `cannot ${what}: ${describe(error)}`)
  }
}
