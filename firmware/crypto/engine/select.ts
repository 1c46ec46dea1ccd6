import { isFast } from './choice.ts'
import type { Engine } from './engine.ts'
import { fastEngine } from './float/float.ts'
import { plainEngine } from './integer/integer.ts'

export const engine: Engine = isFast ? fastEngine : plainEngine
