/** Loads on-demand.ts. */

import * as words from './words.ts'

/** Throws `Error` if there is no such script: the page is older than the appliance, or the appliance is away. */
export const loadOnDemand = (): Promise<typeof import('./on-demand.ts')> =>
  import('./on-demand.ts').catch(() => {
    throw new Error(words.partMissing)
  })
