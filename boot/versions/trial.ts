/**
 * Whether a start gets as far as it must; otherwise it is over, and the next one is made.
 *
 * A version on trial is good once it has opened the store and read a record. Where people unlock it, the trial goes on
 * until the first of them has, and how long that takes is theirs. A good version, where another one stands by, must get
 * ready; what the store then makes of it, `Failed` included, is not the version's fault.
 */

import type { ToBoot } from '../../firmware/channel/protocol.ts'
import { explain } from './slot-error.ts'
import type { Running, Slots } from './slots.ts'

interface TrialOptions {
  slots: Pick<Slots, 'markGood' | 'noteFailure'>
  /** The try is over: the firmware, if it still runs, is to be stopped, and the next try to be made. */
  retry: () => void
  /** The version on trial is marked good. */
  onGood: () => void
  readyMsMax?: number
}

export interface Trial {
  /** A firmware has been started. */
  begin(running: Pick<Running, 'trial' | 'counted'>): void
  receive(message: ToBoot): void
  /** It ended by itself. */
  crashed(explanation: string): void
  /** Nothing runs any more. */
  end(): void
}

const READY_MS_MAX = 120_000 // a large store that migrates on a slow device
const CRASHES_MAX = 3 // of a good version, before it was ready: it may have been bad luck

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
      else explain(error) // throws what is no error of the disk; the start counts, and the next one may do better
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
