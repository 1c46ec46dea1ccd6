/** What lies on the heap of this thread after its use: strings cannot be wiped, and buffers only by who has them. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects all of it and overwrites where it lay; takes some tenths of a second for each hundred thousand objects in use. */
export function overwriteGarbage(): void {
  const flags = ['expose-gc', 'clear-free-memory']
  for (const flag of flags) setFlagsFromString(`--${flag}`)
  try {
    const collect = runInNewContext('gc')
    collect()
    collect() // which has to wait until other threads have overwritten all that the first one found
  } finally {
    for (const flag of flags) setFlagsFromString(`--no-${flag}`)
  }
}
