/** Random bytes from the operating system. The function type is injected so that tests can replace it. */

import { randomFillSync } from 'node:crypto'
import { newSecret } from '../base/secret.ts'

/** Returns fresh random bytes in memory of their own. */
export type Random = (bytes: number) => Uint8Array

export const systemRandom: Random = (bytes) => randomFillSync(newSecret(bytes))
