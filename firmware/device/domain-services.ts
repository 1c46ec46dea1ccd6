/** The services that an open domain works with. */

import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../crypto/random.ts'
import type { CryptoPool } from '../crypto/types.ts'

export interface DomainServices {
  pool: CryptoPool
  random: Random
  log: Log
  clock: Clock
  /** The name under which this device counts operations. */
  member: string
}

export interface OpenServices extends DomainServices {
  /** Derives a key from the domain key. */
  deriveKey(purpose: string): Uint8Array
}
