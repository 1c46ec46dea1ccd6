/** Every block by the name under which it is fetched: a line each. */

import type { Block } from './block.ts'

export const BLOCKS: Readonly<Record<string, Block>> = {}
