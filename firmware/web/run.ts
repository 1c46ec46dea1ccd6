/** What a button does, one at a time, with its error. */

import { type ReadonlySignal, type Signal, useSignal } from '@preact/signals'

export interface Run {
  /** What is being done, or false. */
  readonly busy: ReadonlySignal<string | false>
  readonly error: Signal<unknown>
  /** True when it was done. One at a time: another is left out. */
  start(saying: string, work: () => Promise<unknown>): Promise<boolean>
  say(text: string): void
}

export function useRun(): Run {
  const busy = useSignal<string | false>(false)
  const error = useSignal<unknown>(null)
  return {
    busy,
    error,
    say: (text) => {
      if (busy.value !== false) busy.value = text
    },
    async start(saying, work) {
      if (busy.value !== false) return false
      busy.value = saying
      error.value = null
      try {
        await work()
        return true
      } catch (problem) {
        error.value = problem
        return false
      } finally {
        busy.value = false
      }
    },
  }
}
