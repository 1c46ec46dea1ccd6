/** The organisation: what is true of it in memory, what is on disk, and the one way to change both. */

import type { Clock } from '../../../base/clock.ts'
import type { DiskSpace } from '../../../base/disk-space.ts'
import type { Random } from '../../../crypto/random.ts'
import type { EventHub } from '../../events/hub.ts'
import type { ChatStore } from '../../store/store.ts'
import { loadState, type RealmState } from './state.ts'
import { createRealmTransaction, type RealmTransaction } from './transaction.ts'
import type { Usage } from './usage.ts'

export interface Realm {
  readonly state: RealmState
  /** Messages, topics, flags: written within `change` only. */
  readonly store: ChatStore
  /** The disk with its files. */
  readonly space: DiskSpace
  readonly events: EventHub
  readonly clock: Clock
  readonly random: Random
  /** Seals what should not lie open even in an opened page: keys of bots. */
  readonly secretsKey: Uint8Array
  readonly usage: Usage
  /** By account, the host that its clients asked last; see url.ts. */
  readonly hosts: Map<number, string>
  /** One turn: see transaction.ts. */
  readonly transaction: RealmTransaction
  /** Set by whoever calls bots: some are to be called. */
  onBotCall?: () => void
}

interface RealmOptions {
  store: ChatStore
  space: DiskSpace
  events: EventHub
  clock: Clock
  random: Random
  secretsKey: Uint8Array
}

export function openRealm(options: RealmOptions): Realm {
  const { state, collections, usage } = loadState(options.store.things)
  return {
    ...options,
    state,
    usage,
    hosts: new Map(),
    transaction: createRealmTransaction({ ...options, collections, usage }),
  }
}

/** By the appliance's clock, in seconds since the epoch. */
export const nowOf = (realm: Realm): number => Math.floor(realm.clock.now() / 1000)
