/** Collects this thread's garbage at once: strings cannot be wiped, and a buffer only by the code that holds it. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Takes some tenths of a second for each hundred thousand objects in use. */
const collector = (): ((how?: object) => void) => {
  setFlagsFromString('--expose-gc') // for new contexts; other threads may be about to make one, so it stays
  return runInNewContext('gc')
}

const ONCE = { type: 'major', execution: 'sync' }
/** Collections after which V8 keeps no memory for next time. */
const LAST_RESORT = { type: 'major', execution: 'sync', flavor: 'last-resort' }

/** Collects all of it, overwrites where it lay, and gives the memory back to the system. */
export function wipeGarbage(): void {
  const collect = collector()
  setFlagsFromString('--clear-free-memory')
  try {
    collect()
    collect() // which has to wait until other threads have overwritten all that the first one found
    collect(LAST_RESORT)
  } finally {
    setFlagsFromString('--no-clear-free-memory')
  }
}

/** Collects all of it. V8 keeps some of the memory for next time. */
export const collectGarbage = (): void => collector()(ONCE)

/** Collects all of it and gives the memory back to the system: several collections. */
export const shrinkHeap = (): void => collector()(LAST_RESORT)
