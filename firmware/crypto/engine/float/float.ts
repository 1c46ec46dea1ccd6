/** The fast engine: two moduli at once in WebAssembly vectors of doubles. README.md explains it. */

import type { Engine } from '../engine.ts'
import { fastPowers, openFastRsa } from './rsa.ts'

/** Use it only if `whyNotFused` returns undefined. */
export const fastEngine: Engine = { name: 'fast', openRsa: openFastRsa, powers: fastPowers }
