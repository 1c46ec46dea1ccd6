/**
 * Native code beyond SQLite's: none is loaded any more once the store is open. Node.js documentation, "Permissions".
 *
 * A permission is dropped for one thread, and a new thread has it again. So each thread of ours drops it first thing, and
 * no others can be made: what makes them is in nobody's reach but of those who import it from here.
 */

import module, { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'

export const Worker = threads.Worker
export type Worker = threads.Worker

/** Once SQLite is loaded, in the main thread, and first of all in every other. Without effect where nothing is confined. */
export function refuseNativeCode(): void {
  if (process.permission === undefined) return
  ;(process.permission as unknown as { drop(scope: string): void }).drop('addon')
  delete (Worker.prototype as { constructor?: unknown }).constructor
  Object.assign(threads, { Worker: undefined })
  Object.assign(module, { register: undefined }) // which runs a module in a thread of its own
  syncBuiltinESMExports()
}
