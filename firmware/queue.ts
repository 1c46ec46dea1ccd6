/** Runs tasks one after another, a bounded number of them waiting. */

import { CofferError } from './error.ts'

export interface Queue {
  /** Settles as the task does; `busy` when too many wait. */
  run<T>(task: () => Promise<T>): Promise<T>
}

export function createQueue(waitingMax: number): Queue {
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()
  return {
    async run(task) {
      if (waiting >= waitingMax) throw new CofferError('busy', 'Too many requests of this kind, try again')
      waiting++
      const result = last.then(task).finally(() => waiting--)
      last = result.catch(() => {}) // the next one runs whatever came of this one
      return result
    },
  }
}
