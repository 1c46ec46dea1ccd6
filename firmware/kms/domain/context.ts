/** Services of the domain's parts while the appliance is Operational. */

import type { Clock } from '../../base/clock.ts'
import { CofferError, wrongState } from '../../base/error.ts'
import type { Log } from '../../base/log.ts'
import type { Random } from '../../crypto/random.ts'
import type { CryptoPool, ScryptCost } from '../../crypto/types.ts'
import type { Records } from './collections.ts'
import type { ListVersion } from './list-version.ts'
import { PASSPHRASE_COST } from './passphrase.ts'

export interface DomainDeps {
  pool: CryptoPool
  random: Random
  log: Log
  clock: Clock
  /** Cost of new passphrases, stored with each digest. */
  passphraseCost?: ScryptCost
  /** Name under which this node counts operations. */
  member?: string
  /** Monotonic clock, for the age of remembered credentials. */
  monotonicMs?: () => number
}

export interface Context {
  readonly records: Records
  readonly pool: CryptoPool
  readonly random: Random
  readonly log: Log
  readonly passphraseCost: ScryptCost
  readonly monotonicMs: () => number
  readonly member: string
  /** Seconds since 1970, by the appliance's clock. */
  nowSeconds(): number
  /** Throws `unavailable` once the domain is closed. An operation that began before a lock must not complete after it. */
  assertOpen(): void
  /** Text that etags are made of. `version`: a change number or the version of a list. Contract section 1.4. */
  versionText(version: number | ListVersion): string
}

export function createContext(records: Records, deps: DomainDeps, isOpen: () => boolean): Context {
  return {
    records,
    pool: deps.pool,
    random: deps.random,
    log: deps.log,
    passphraseCost: deps.passphraseCost ?? PASSPHRASE_COST,
    monotonicMs: deps.monotonicMs ?? (() => performance.now()),
    member: deps.member ?? '',
    nowSeconds: () => Math.floor(deps.clock.now() / 1000),
    assertOpen: () => {
      if (!isOpen()) throw wrongState()
    },
    versionText: (version) => `${records.generation} ${version}`,
  }
}

/** Error for a record that exists and cannot be opened. It is not treated as missing, so it cannot be overwritten. */
export const damaged = (what: string): CofferError => new CofferError('storage', `The stored ${what} is damaged`)
