/** The state the appliance is in, and who is notified of its changes. Contract section 2. */

import { wrongState } from '../base/error.ts'
import type { Log } from '../base/log.ts'
import type { ApplianceState } from '../base/states.ts'

/**
 * For each trigger the states it needs and the state it leads to. A start leads to any state. An algorithm that is found wrong leads
 * from any state to Failed. Out of Failed leads only a restart or, if the other nodes of a cluster did not answer, their answer or
 * going on without them.
 */
export const TRANSITIONS = {
  provision: { from: 'Unprovisioned', to: 'Operational' },
  unlock: { from: 'Locked', to: 'Operational' },
  lock: { from: 'Operational', to: 'Locked' },
} as const satisfies Record<string, { from: ApplianceState; to: ApplianceState }>
export type Trigger = keyof typeof TRANSITIONS

export class States {
  readonly #log: Log
  readonly #listeners: ((state: ApplianceState) => void)[] = []
  readonly #eraListeners: (() => void)[] = []
  #epoch = {}
  #current: ApplianceState = 'Failed'
  #failure: string | undefined
  #openFailure: string | undefined
  #isSuspended = false

  constructor(log: Log) {
    this.#log = log
  }

  get current(): ApplianceState {
    return this.#current
  }

  /** Another object after each change of state, and when the records were replaced by others. */
  get epoch(): object {
    return this.#epoch
  }

  /** Why it is Failed, or Locked with nothing that unlocks it; for the operator, names no path. */
  get failure(): string | undefined {
    return this.#failure
  }

  /** Why the records could not be opened, with the right key, when that was tried last; listeners hear of it. */
  get openFailure(): string | undefined {
    return this.#openFailure
  }

  /** Throws `unavailable` unless the trigger leads from here to another state. */
  expect(trigger: Trigger): void {
    if (this.#current !== TRANSITIONS[trigger].from) throw wrongState()
  }

  onState(listener: (state: ApplianceState) => void): void {
    this.#listeners.push(listener)
  }

  onEpochEnd(listener: () => void): void {
    this.#eraListeners.push(listener)
  }

  /** Sets the state found at the start, before anything listens. */
  begin(state: ApplianceState, failure?: string): void {
    this.#current = state
    this.#failure = failure
  }

  enter(state: ApplianceState): void {
    if (state === 'Operational') this.#openFailure = undefined
    if (state !== 'Failed') {
      this.#failure = undefined
      this.#isSuspended = false
    }
    if (this.#current === state) return
    this.#current = state
    this.endEpoch()
    this.#log.info('general', `state ${state}`)
    this.#notify()
  }

  fail(reason: string): void {
    this.#isSuspended = false
    this.#failure = reason
    this.enter('Failed')
  }

  /** Failed for as long as something lasts, with everything still open. */
  get isSuspended(): boolean {
    return this.#isSuspended
  }

  suspend(reason: string): void {
    if (this.#isSuspended) this.#failure = reason
    if (this.#current !== 'Operational') return
    this.fail(reason)
    this.#isSuspended = true
  }

  resume(): void {
    if (!this.#isSuspended) return
    this.enter('Operational')
  }

  /** The right key did not open the records. */
  stayLocked(reason: string): void {
    this.#openFailure = reason
    if (this.#current === 'Locked') this.#notify()
    else this.enter('Locked')
  }

  #notify(): void {
    for (const listener of this.#listeners) listener(this.#current)
  }

  endEpoch(): void {
    this.#epoch = {}
    for (const listener of this.#eraListeners) listener()
  }
}
