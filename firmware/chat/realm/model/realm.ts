/** The organization: state in memory, store on disk, and the transaction that changes both. */

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
  /** Messages, topics and flags. Write only within `transaction`. */
  readonly store: ChatStore
  readonly space: DiskSpace
  readonly events: EventHub
  readonly clock: Clock
  readonly random: Random
  /** Seals secrets within the encrypted database, such as keys of bots. */
  readonly secretsKey: Uint8Array
  readonly usage: Usage
  /** The `host` header of each account's last request; see organization-url.ts. */
  readonly hosts: Map<number, string>
  readonly transaction: RealmTransaction
  /** Called when a bot call was added. Set by the module that calls bots. */
  onBotCall?: () => void
  /** Called after the commit of each new message. Set by the module that sends notifications. */
  onDelivered?: (message: DeliveredMessage) => void
}

export interface DeliveredMessage {
  readonly id: number
  readonly senderId: number
  /** Location of the message: columns of store/messages.ts. */
  readonly recipient: number
  readonly topic: number
  readonly recipients: ReadonlySet<number>
  /** Recipients for whom the message is read from the start. */
  readonly readers: ReadonlySet<number>
  /** Mention flags by user id, see content-flags.ts. */
  readonly mentions: ReadonlyMap<number, number>
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

/** Unix time in seconds, by the appliance's clock. */
export const nowOf = (realm: Realm): number => Math.floor(realm.clock.now() / 1000)
