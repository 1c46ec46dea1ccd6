/** What every part of the domain works with while the appliance is Operational. */

import { bytesToHex } from '@noble/hashes/utils.js'
import type { Clock } from '../../base/clock.ts'
import { CofferError } from '../../base/error.ts'
import type { Log } from '../../base/log.ts'
import type { Random } from '../../crypto/random.ts'
import type { CryptoPool, ScryptCost } from '../../crypto/types.ts'
import type { RecordStore } from '../../store/store.ts'
import { PASSPHRASE_COST } from './passphrase.ts'

export interface DomainDeps {
  pool: CryptoPool
  random: Random
  log: Log
  clock: Clock
  /** For new passphrases; stored with each. */
  passphraseCost?: ScryptCost
  /** A clock nobody sets, for the age of remembered credentials. */
  monotonicMs?: () => number
}

export interface Context {
  readonly records: RecordStore
  readonly pool: CryptoPool
  readonly random: Random
  readonly log: Log
  readonly passphraseCost: ScryptCost
  readonly monotonicMs: () => number
  /** Throws `unavailable` once the domain is closed: what began before a lock must not end in it. */
  assertOpen(): void
  /** A version of a resource, never given twice, opaque to clients. */
  nextVersion(): number
  /** A version as an etag shows it: also distinct from those of earlier unlocks. */
  versionText(version: number): string
}

const INSTANCE_BYTES = 6 // versions of two unlocks differ but for a chance of 2^-48

export function createContext(records: RecordStore, deps: DomainDeps, isOpen: () => boolean): Context {
  const instance = bytesToHex(deps.random(INSTANCE_BYTES))
  let version = 0
  return {
    records,
    pool: deps.pool,
    random: deps.random,
    log: deps.log,
    passphraseCost: deps.passphraseCost ?? PASSPHRASE_COST,
    monotonicMs: deps.monotonicMs ?? (() => performance.now()),
    assertOpen: () => {
      if (!isOpen()) throw new CofferError('unavailable', 'Service not available')
    },
    nextVersion: () => ++version,
    versionText: (version) => `${instance}-${version.toString(36)}`,
  }
}

/** A record that is there and cannot be opened: neither missing nor free to be overwritten. */
export const damaged = (what: string): CofferError => new CofferError('storage', `The stored ${what} is damaged`)
