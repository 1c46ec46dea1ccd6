/** Selects the engine for this processor, without loading either engine. */

import type { Products } from './float/emitter.ts'
import { whyNotFused } from './float/probe.ts'

const reason = whyNotFused()

export const isFast = reason === undefined

export const products: Products = isFast ? 'fused' : 'exact'

export const engineChoice: string = reason === undefined ? 'fast: multiply-add rounds once' : `plain, because ${reason}`
