/**
 * Changes that wait, made together: those that are there in one turn of the event loop share a transaction, and with it the wait
 * for the disk. Each is decided upon on what the one before it has left, and one that is refused keeps nobody from the rest.
 */

import { defined } from '../base/defined.ts'
import { wrongState } from '../base/error.ts'
import { assertAuthorized, assertConditions, bindToRequest, runDetached } from '../base/request-authorization.ts'
import type { Decision } from './store.ts'

export const BATCH_MAX = 200 // changes in one transaction

interface ChangeQueue {
  /** Settles when the change is on disk, or is refused. */
  add<T>(decide: () => Decision<T>): Promise<T>
  /** Makes all that wait, now. */
  settle(): void
  /** Changes that wait, or come later, are refused with `unavailable`. */
  close(): void
}

export type Decide = () => Decision<unknown>

export type ChangeOutcome = Decision<unknown> | Error

/**
 * Makes the first of these changes in one transaction, as many as it takes at once, and gives what each came to. Throws what all
 * of them failed with; then nothing has changed. Each asks whether its request is still admitted before it decides.
 */
export type Commit = (decisions: readonly Decide[]) => readonly ChangeOutcome[]

export interface WaitingChange {
  decide: Decide
  /** Throws what its request would be refused with now. */
  check: () => void
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}

/** It stays that of the request which asks for it, and is refused once that is not admitted any more. */
export function waitingFor<T>(decide: () => Decision<T>): { waiting: WaitingChange; promise: Promise<T> } {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const waiting: WaitingChange = {
    decide: bindToRequest(() => {
      assertAuthorized()
      assertConditions()
      return decide()
    }),
    check: bindToRequest(assertAuthorized),
    resolve: resolve as (result: unknown) => void,
    reject,
  }
  return { waiting, promise }
}

export function createChangeQueue(commit: Commit): ChangeQueue {
  const waiting: WaitingChange[] = []
  let isScheduled = false
  let isOpen = true

  function settle(): void {
    while (waiting.length > 0) makeNext()
  }

  function makeNext(): void {
    const batch = waiting.slice(0, BATCH_MAX)
    const outcomes = attempt(batch)
    waiting.splice(0, outcomes.length)
    for (const [index, outcome] of outcomes.entries()) {
      const entry = defined(batch[index])
      if (outcome instanceof Error) entry.reject(outcome)
      else entry.resolve(outcome.result)
    }
  }

  /** A batch that fails is tried change by change: one that has no room on the disk must not fail a smaller one. */
  function attempt(batch: readonly WaitingChange[]): readonly ChangeOutcome[] {
    try {
      return commit(batch.map(({ decide }) => decide))
    } catch (error) {
      const [entry, ...others] = batch
      if (entry === undefined || others.length > 0) return batch.flatMap((entry) => attempt([entry]))
      return [refusalOf(entry, error)]
    }
  }

  function turn(): void {
    isScheduled = false
    if (waiting.length === 0) return
    makeNext()
    schedule()
  }

  function schedule(): void {
    if (isScheduled || waiting.length === 0) return
    isScheduled = true
    runDetached(() => setImmediate(turn))
  }

  return {
    add<T>(decide: () => Decision<T>): Promise<T> {
      if (!isOpen) return Promise.reject(wrongState())
      const { waiting: entry, promise } = waitingFor(decide)
      waiting.push(entry)
      schedule()
      return promise
    },
    settle,
    close() {
      isOpen = false
      for (const { reject } of waiting.splice(0)) reject(wrongState())
    },
  }
}

/** Who may not act any more hears that first, whatever else is in the way. */
function refusalOf({ check }: WaitingChange, error: unknown): Error {
  try {
    check()
  } catch (refusal) {
    return refusal as Error
  }
  return error as Error
}
