/** The last error of an act that has no place of its own for errors. */

import { signal } from '@preact/signals'
import { noteFailure } from './connection.ts'

export const problem = signal<unknown>(null)

/** Returns true on success. */
export async function attempt(act: Promise<unknown>): Promise<boolean> {
  problem.value = null
  try {
    await act
    return true
  } catch (error) {
    noteFailure(error)
    problem.value = error
    return false
  }
}
