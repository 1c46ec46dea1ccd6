/** Random bytes from the operating system, in the form in which they are injected everywhere. */

import { randomFillSync } from 'node:crypto'
import { newSecret } from '../base/secret.ts'

/** Returns that many fresh random bytes, in memory of their own. */
export type Random = (bytes: number) => Uint8Array

export const systemRandom: Random = (bytes) => randomFillSync(newSecret(bytes))
