/**
 * An appliance as a node of a cluster: while its records are open, they are a copy of those that all nodes share, which follows the
 * others. One that is alone has none of this.
 */

import { CofferError } from '../../base/error.ts'
import type { Disk } from '../../device/disk.ts'
import type { DomainServices } from '../../device/domain-services.ts'
import type { DeviceArea } from '../../store/device-area.ts'
import { type Head, headOf } from '../../store/head.ts'
import type { Vault } from '../../store/vault.ts'
import type { Etcd } from '../etcd/etcd.ts'
import { openMembership } from '../membership/record.ts'
import { Heartbeat } from '../replica/heartbeat.ts'
import type { IntegrityError } from '../replica/integrity-error.ts'
import { loadRecords } from '../replica/load.ts'
import { openPosition } from '../replica/position.ts'
import { type Replica, startReplica } from '../replica/replica.ts'
import type { ClusterLink } from './link.ts'

interface OpenRecords extends Disk {
  vault: Vault
}

/** From the moment in which the records come open to the end of the session. */
export interface Node {
  readonly replica: Replica
  close(): void
}

export interface Following {
  /** Null where the appliance is alone. From then on changes are made by all nodes together. */
  open(records: OpenRecords): Node | null
  /**
   * Puts all records into an etcd that holds none; meanwhile nothing can be changed. `withinTransaction` is called in the transaction that
   * makes this a node. Throws what that fails with, and is alone then.
   */
  found(records: OpenRecords, etcd: Etcd, withinTransaction: (device: DeviceArea) => void): Promise<Node>
}

interface FollowingOptions {
  link: ClusterLink | undefined
  services: DomainServices
  /** Since the others answered last, also while nothing is open; 0 while they do. */
  lostMs: () => number
  /** Called again and again with the time since the others answered last. */
  onContact: (lostMs: number) => void
  /** Nothing is followed any more. */
  onRefusal: (refusal: IntegrityError) => void
}

export function createFollowing({ link, services, lostMs, onContact, onRefusal }: FollowingOptions): Following {
  const { random, log, member } = services
  const nowMs = () => performance.now()

  function start({ vault, device }: OpenRecords, etcd: Etcd): Node {
    const contact = new Heartbeat(nowMs, lostMs()) // what is known of the others outlives a lock
    const replica = startReplica({
      ...{ etcd, member, random, nowMs, contact, onRefusal },
      ...(link?.timeouts && { timeouts: link.timeouts }),
      domainKey: vault.domainKey,
      replicate: vault.replicate,
      position: openPosition(device),
      least: leastOf(device),
      onTrouble: (what) => log.error('cluster', `cannot follow the cluster: ${what}`),
      onBeat: () => onContact(replica.lostMs),
    })
    return {
      replica,
      close() {
        replica.close()
        etcd.close()
      },
    }
  }

  return {
    open(records) {
      const etcd = link?.connect(records.device) ?? null
      return etcd === null ? null : start(records, etcd)
    },
    async found(records, etcd, withinTransaction) {
      const { vault, device, store } = records
      const { domainKey, generation } = vault
      const position = openPosition(device)
      const claim = store.lockStore() // nothing is restored meanwhile
      const copy = vault.replicate(() =>
        Promise.reject(new CofferError('busy', 'A cluster is being founded, try again')),
      )
      try {
        await loadRecords({
          ...{ etcd, domainKey, copy, generation, member, random },
          position: {
            put(at) {
              position.put(at)
              withinTransaction(device)
            },
          },
        })
        store.checkpoint() // on disk, before anybody hears of it
      } catch (error) {
        vault.standAlone()
        throw error
      } finally {
        claim.release()
      }
      return start(records, etcd)
    },
  }
}

/** The oldest head that a node that has joined may be given. */
function leastOf(device: DeviceArea): Head | null {
  const least = openMembership(device).read()?.least ?? null
  return least && headOf(least.head)
}
