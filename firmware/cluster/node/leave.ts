/**
 * A node goes on alone with what it has: because the others are lost, have removed it, or because everything is to be erased. What
 * makes it alone is one transaction; its etcd is erased after it.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { CofferError, describe } from '../../base/error.ts'
import type { QueuePriority } from '../../base/fair-queue.ts'
import type { Log } from '../../base/log.ts'
import { assertAuthorized, runDetached } from '../../base/request-authorization.ts'
import { wipe } from '../../base/secret.ts'
import type { ApplianceState } from '../../base/states.ts'
import type { Random } from '../../crypto/random.ts'
import type { DeviceStore } from '../../device/device-store.ts'
import type { Disk } from '../../device/disk.ts'
import type { DomainKeySlot } from '../../device/domain-key.ts'
import { CLUSTER_POSITION } from '../../store/device-area.ts'
import type { Vault } from '../../store/vault.ts'
import { connectToEtcd } from '../etcd/etcd.ts'
import { openMembership } from '../membership/record.ts'
import { drainLocalEtcd } from '../replica/drain.ts'
import { openPosition } from '../replica/position.ts'
import type { ClusterNode } from './node.ts'

/** As long as the reference waits before it gives the cluster up; contract section 3.6. */
const LOST_MS_MIN = 60_000
const FAREWELL_MS_MAX = 5000

export interface LeavingOptions {
  store: DeviceStore
  slot: DomainKeySlot
  random: Random
  log: Log
  state: () => ApplianceState
  /** The cluster's records were refused. */
  isRefused: () => boolean
  runQueued: <T>(place: QueuePriority, task: () => Promise<T>) => Promise<T>
  openVault: (disk: Disk, domainKey: Uint8Array) => Vault
  /** Closes the open records. */
  endSession: () => Promise<void> | void
  /** As after a start. */
  startAgain: () => Promise<void>
}

export interface Leaving {
  /** Throws `forbidden` when the unlock passphrase is wrong, `unavailable` while the cluster answers, or where there is none. */
  forceNew(passphrase: Uint8Array, place: QueuePriority): Promise<void>
  /** Tells the others that it goes, where they hear it; ends in five seconds. Then `erase` is tried, without which it stays removed. */
  leave(erase: () => Promise<void>): Promise<void>
}

export function createLeaving(node: ClusterNode, options: LeavingOptions): Leaving {
  const { store, slot, random, log, runQueued } = options

  /** Only where the others cannot tell, it may go on without them. */
  function expectLost(): void {
    const { membership } = node
    if (membership === null) throw new CofferError('unavailable', 'This node is in no cluster')
    if (options.state() === 'Failed' || membership.stage === 'removed' || options.isRefused()) return
    if (node.lostMs < LOST_MS_MIN)
      throw new CofferError('unavailable', 'The cluster answers, or did so in the last minute')
  }

  /** All that its own etcd knows; what of that cannot be had, or is not to be believed, is left behind. */
  async function takeOver(disk: Disk, domainKey: Uint8Array): Promise<void> {
    const position = openPosition(disk.device)
    const vault = options.openVault(disk, domainKey)
    try {
      const copy = vault.replicate(() => Promise.reject(new CofferError('unavailable', 'Service not available')))
      const changes = await drainLocalEtcd({ etcd: node.client, domainKey, copy, random, position })
      if (changes > 0) log.info('general', `read ${changes} more changes from the local etcd`)
    } catch (error) {
      log.warning('general', `cannot drain the local etcd: ${describe(error)}`)
    } finally {
      vault.close() // and the key with it
    }
    if (position.read() === null)
      throw new CofferError('unavailable', 'This node has not got any records of the cluster yet')
  }

  async function goOnAlone(domainKey: Uint8Array): Promise<void> {
    try {
      await options.endSession()
      const disk = store.expect()
      await takeOver(disk, domainKey)
      disk.store.transaction(() => {
        openMembership(disk.device).remove()
        disk.device.remove(CLUSTER_POSITION)
      })
      node.end()
      log.warning('general', 'this node is standalone with its copy of the records')
      await node.service?.erase()
    } finally {
      await options.startAgain()
    }
  }

  return {
    forceNew: (passphrase, place) =>
      // No unlock comes between.
      runQueued(place, async () => {
        const { domainKey } = await slot.open(store.expect().device, passphrase)
        try {
          await node.exclusively(async () => {
            expectLost()
            assertAuthorized()
            await runDetached(() => goOnAlone(domainKey)) // the session of the request ends
          })
        } finally {
          wipe(domainKey)
        }
      }),
    async leave(erase) {
      const { membership, service } = node
      if (membership?.stage !== 'member' || service === null) return erase()
      node.end() // what is heard of the removal is no news
      const isRemoved = await sayFarewell(service.socket, membership.memberId)
      if (!isRemoved) log.warning('general', 'cannot tell the other members that this node leaves')
      try {
        await erase()
      } catch (error) {
        if (isRemoved) runDetached(node.noteRemoved)
        else node.begin()
        throw error
      }
    },
  }
}

async function sayFarewell(socket: string, memberId: string): Promise<boolean> {
  const etcd = connectToEtcd(socket)
  const isRemoved = etcd.removeMember(memberId).then(
    () => true,
    () => false,
  )
  try {
    return await Promise.race([isRemoved, wait(FAREWELL_MS_MAX, false, { ref: false })])
  } finally {
    etcd.close()
  }
}
