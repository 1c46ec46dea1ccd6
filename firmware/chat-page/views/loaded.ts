/** Loads data when a view opens, and again on demand. */

import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { noteFailure } from '../connection.ts'

interface Loaded<T> {
  readonly value: ReadonlySignal<T | null>
  readonly failure: ReadonlySignal<unknown>
  load(): Promise<void>
}

export function useLoaded<T>(ask: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const value = useSignal<T | null>(null)
  const failure = useSignal<unknown>(null)
  const controller = useRef<AbortController | null>(null)
  const load = async () => {
    controller.current?.abort()
    controller.current = new AbortController()
    const { signal } = controller.current
    try {
      const answer = await ask(signal)
      if (signal.aborted) return
      value.value = answer
      failure.value = null
    } catch (error) {
      if (signal.aborted) return
      noteFailure(error)
      failure.value = error
    }
  }
  useEffect(() => {
    void load()
    return () => controller.current?.abort()
  }, [])
  return { value, failure, load }
}
