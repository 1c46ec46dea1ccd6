/** Which engine this processor gets, and why; said without loading either. */

import type { Products } from './float/emitter.ts'
import { whyNotFused } from './float/probe.ts'

const reason = whyNotFused()

export const isFast = reason === undefined

/** How the arithmetic of curves multiplies. */
export const products: Products = isFast ? 'fused' : 'exact'

/** For the log and the system information. */
export const engineChoice: string = reason === undefined ? 'fast: multiply-add rounds once' : `plain, because ${reason}`
