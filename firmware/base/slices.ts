/** Long work of many short steps, beside which others get their turn. */

import { setImmediate as turn } from 'node:timers/promises'

const SLICE_MS = 5

/** Ends when the work has ended; or early, once it is not wanted any more, with false. */
export async function runInSlices(steps: Iterable<unknown>, isWanted: () => boolean = () => true): Promise<boolean> {
  let endMs = performance.now() + SLICE_MS
  for (const _ of steps) {
    if (performance.now() < endMs) continue
    await turn()
    if (!isWanted()) return false
    endMs = performance.now() + SLICE_MS
  }
  return true
}

export async function forEachInSlices<T>(items: Iterable<T>, act: (item: T) => void): Promise<void> {
  await runInSlices(Iterator.from(items).map((item) => act(item)))
}
