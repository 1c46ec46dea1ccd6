/** Whether a version on trial is good: it listens and has opened its store, in time. Otherwise a try is over. */

import type { ToBoot } from './protocol.ts'
import { explain } from './slot-error.ts'
import type { Slots } from './slots.ts'

export interface TrialOptions {
  slots: Pick<Slots, 'markGood' | 'noteFailure'>
  /** The try is over: the firmware, if it still runs, is to be stopped, and the next try to be made. */
  retry: () => void
  /** The version is marked good. */
  onGood: () => void
  readyMsMax?: number
}

export interface Trial {
  /** A firmware has been started. */
  begin(trial: boolean): void
  hear(message: ToBoot): void
  /** It ended by itself. */
  crashed(explanation: string): void
  /** Nothing runs any more. */
  end(): void
}

const READY_MS_MAX = 120_000 // a large store that migrates on a slow device

export function createTrial({ slots, retry, onGood, readyMsMax = READY_MS_MAX }: TrialOptions): Trial {
  let running = false
  let listening = false
  let deadline: NodeJS.Timeout | undefined

  const end = () => {
    running = false
    clearTimeout(deadline)
  }
  const fail = (problem: string) => {
    end()
    slots.noteFailure(problem)
    retry()
  }
  return {
    end,
    begin: (trial) => {
      end()
      running = trial
      listening = false
      if (trial) deadline = setTimeout(() => fail(`it was not ready within ${readyMsMax / 1000} s`), readyMsMax)
    },
    hear: (message) => {
      if (!running) return
      if (message.type === 'listening') listening = true
      else if (message.type === 'state' && (message.state === 'Failed' || message.reason !== undefined))
        fail(message.reason ?? 'it came up Failed')
      else if (message.type === 'state' && listening) {
        end()
        try {
          slots.markGood()
        } catch (error) {
          return fail(explain(error))
        }
        onGood()
      }
    },
    crashed: (explanation) => {
      if (running) fail(explanation)
    },
  }
}
