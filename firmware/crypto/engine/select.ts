/** The engine that this process uses. */

import type { Engine } from './engine.ts'
import { plainEngine } from './plain.ts'

export const engine: Engine = plainEngine
