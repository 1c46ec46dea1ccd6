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

/**
 * V8 overwrites the halves of the nursery by the first flag. By the second one it overwrites what is free on pages with objects in use, of
 * which it moves only those on sparse pages.
 */
const OVERWRITING = ['clear-free-memory', 'zero-unused-memory']

let underWay: Promise<void> = Promise.resolve()
let next: Promise<void> | undefined

/**
 * Collects all of it, overwrites where it lay, and gives the memory back to the system. A thread that needs a page takes one that another
 * thread has freed, with all that is on it, so `inOtherThreads` has each of them call `overwriteGarbage`. Calls during a wipe share the
 * next one, which follows it.
 */
export function wipeGarbage(inOtherThreads: () => Promise<void>): Promise<void> {
  next ??= underWay = underWay.then(() => {
    next = undefined
    return wipeAll(inOtherThreads)
  })
  return next
}

async function wipeAll(inOtherThreads: () => Promise<void>): Promise<void> {
  for (const flag of OVERWRITING) setFlagsFromString(`--${flag}`)
  try {
    overwriteGarbage()
    await inOtherThreads()
  } finally {
    for (const flag of OVERWRITING) setFlagsFromString(`--no-${flag}`)
  }
}

/** The part of `wipeGarbage` that each thread does itself: V8's flags are those of the process. */
export function overwriteGarbage(): void {
  const collect = collector()
  collect(LAST_RESORT)
  collect(LAST_RESORT) // which has to wait until other threads have overwritten all that the first one found
}

/** Collects all of it. V8 keeps some of the memory for next time. */
export const collectGarbage = (): void => collector()(ONCE)

/** Collects all of it and gives the memory back to the system: several collections. */
export const shrinkHeap = (): void => collector()(LAST_RESORT)
