/** Which engine this processor gets, and why; said without loading either. */

import { whyNotFused } from './fast/probe.ts'

const reason = whyNotFused()

export const isFast = reason === undefined

/** For the log and the system information. */
export const engineChoice: string = reason === undefined ? 'fast: multiply-add rounds once' : `plain, because ${reason}`
