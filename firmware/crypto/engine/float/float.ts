/** The fast engine: WebAssembly vectors of doubles, two moduli at once. README.md explains. */

import type { Engine } from '../engine.ts'
import { fastPowers, openFastRsa } from './rsa.ts'

/** Only where `whyNotFused` finds no reason against it. */
export const fastEngine: Engine = { name: 'fast', openRsa: openFastRsa, powers: fastPowers }
