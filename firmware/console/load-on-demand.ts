import * as words from './words.ts'

/** Loads on-demand.ts. Throws `Error` if the script is missing: the page is older than the appliance, or the appliance does not answer. */
export const loadOnDemand = (): Promise<typeof import('./on-demand.ts')> =>
  import('./on-demand.ts').catch(() => {
    throw new Error(words.partMissing)
  })
