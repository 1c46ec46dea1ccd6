/** Runs the actions of buttons one at a time and shows their errors. */

import { type ReadonlySignal, type Signal, useSignal } from '@preact/signals'

/** Canceling the browser's own dialog or a running act needs no message. */
const isDismissal = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError'

export interface Run {
  /** Description of the running action, or false. */
  readonly busy: ReadonlySignal<string | false>
  readonly error: Signal<unknown>
  /** Resolves to true on success. Returns false at once while another action runs. */
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
        error.value = isDismissal(problem) ? null : problem
        return false
      } finally {
        busy.value = false
      }
    },
  }
}
