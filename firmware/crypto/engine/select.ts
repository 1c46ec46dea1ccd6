/** The engine that this process uses. */

import { isFast } from './choice.ts'
import type { Engine } from './engine.ts'
import { fastEngine } from './fast/fast.ts'
import { plainEngine } from './plain.ts'

export const engine: Engine = isFast ? fastEngine : plainEngine
