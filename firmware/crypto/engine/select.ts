/** The engine that this process uses, and why. */

import type { Engine } from './engine.ts'
import { fastEngine } from './fast/fast.ts'
import { whyNotFused } from './fast/probe.ts'
import { plainEngine } from './plain.ts'

const reason = whyNotFused()

export const engine: Engine = reason === undefined ? fastEngine : plainEngine

/** For the log and the system information. */
export const engineChoice: string = reason === undefined ? 'fast: multiply-add rounds once' : `plain, because ${reason}`
