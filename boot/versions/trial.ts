/**
 * Checks that a start gets far enough. Otherwise the try is over, and the next one begins.
 * A version on trial is good once it has opened the store and read a record. On an attended boot the trial lasts until the first
 * unlock, without a time limit. A good version, if another one exists, must become ready. Later states of the store, including
 * `Failed`, are not the version's fault.
 */

import type { ToBoot } from '../../firmware/channel/protocol.ts'
import { explain } from './slot-error.ts'
import type { Running, Slots } from './slots.ts'

interface TrialOptions {
  slots: Pick<Slots, 'markGood' | 'noteFailure'>
  /** Stops the firmware if it runs, and begins the next try. */
  retry: () => void
  onGood: () => void
  readyMsMax?: number
}

export interface Trial {
  /** Call it when a firmware has started. */
  begin(running: Pick<Running, 'trial' | 'counted'>): void
  receive(message: ToBoot): void
  /** Call it when the firmware has ended by itself. */
  crashed(explanation: string): void
  end(): void
}

const READY_MS_MAX = 120_000 // enough for migrating a large store on a slow device
const CRASHES_MAX = 3 // crashes of a good version before it is ready: a single one may be accidental

export function createTrial({ slots, retry, onGood, readyMsMax = READY_MS_MAX }: TrialOptions): Trial {
  let watched: 'trial' | 'start' | null = null
  let listening = false
  let crashes = 0
  let deadline: NodeJS.Timeout | undefined

  const end = () => {
    watched = null
    clearTimeout(deadline)
  }
  const fail = (problem: string) => {
    end()
    slots.noteFailure(problem)
    retry()
  }
  const pass = () => {
    const tried = watched === 'trial'
    end()
    try {
      slots.markGood()
    } catch (error) {
      if (tried) fail(explain(error))
      else explain(error) // rethrows errors other than those of the file system; the start counts, and the next one may succeed
      return
    }
    if (tried) onGood()
  }
  const enter = ({ state, reason }: Extract<ToBoot, { type: 'state' }>) => {
    if (watched === 'trial' && (state === 'Failed' || reason !== undefined)) fail(reason ?? 'it came up Failed')
    else if (!listening) return
    else if (watched === 'trial' && state === 'Locked') clearTimeout(deadline)
    else pass()
  }
  return {
    end,
    begin: ({ trial, counted }) => {
      end()
      watched = trial ? 'trial' : counted ? 'start' : null
      listening = false
      if (watched !== null)
        deadline = setTimeout(() => fail(`it was not ready within ${readyMsMax / 1000} s`), readyMsMax)
    },
    receive: (message) => {
      if (watched === null) return
      if (message.type === 'listening') listening = true
      else if (message.type === 'state') enter(message)
    },
    crashed: (explanation) => {
      if (watched === null) return
      crashes++
      if (watched === 'trial' || crashes >= CRASHES_MAX) fail(explanation)
    },
  }
}
