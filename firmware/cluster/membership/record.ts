/**
 * A node's record of its cluster, kept beside its records and sealed by the device key. It is written in the transaction that makes
 * it true, so that a cut at any moment leaves a node that is alone, or one that is a member.
 */

import { utf8ToBytes } from '@noble/hashes/utils.js'
import { CLUSTER, type DeviceArea } from '../../store/device-area.ts'
import type { StoredHead } from '../../store/head.ts'
import { connectToEtcd, type Etcd } from '../etcd/etcd.ts'

export interface Membership {
  /**
   * `joining`: it is alone, and its etcd may have begun to join, which may go on but not begin anew: a member that has lost its log
   * breaks raft. `removed`: it was a member, and the others have removed it.
   */
  stage: 'joining' | 'member' | 'removed'
  /** The name of this node among the members. */
  name: string
  /** Where the others find it. */
  peerUrl: string
  /** The cluster's, for etcd's first start. */
  token: string
  /** As etcd says them: 64 bits in lowercase hex. */
  clusterId: string
  memberId: string
  /** The cluster's records when this node was registered; null for the node that made the cluster. */
  least: Least | null
}

/** The oldest records that the cluster may have. */
interface Least {
  generation: string
  head: StoredHead
}

interface MembershipRow {
  /** Null for a node that is alone. */
  read(): Membership | null
  /** Call within a transaction. */
  put(membership: Membership): void
  /** Call within a transaction. */
  remove(): void
}

export const openMembership = (device: Pick<DeviceArea, 'get' | 'put' | 'remove'>): MembershipRow => ({
  read() {
    const value = device.get(CLUSTER)
    return value === null ? null : (JSON.parse(new TextDecoder().decode(value)) as Membership)
  },
  put: (membership) => void device.put(CLUSTER, utf8ToBytes(JSON.stringify(membership))),
  remove: () => void device.remove(CLUSTER),
})

/** A new client of the etcd whose socket this is; null for a node that is alone. */
export const connectAsMember = (device: DeviceArea, socket: string): Etcd | null =>
  openMembership(device).read()?.stage === 'member' ? connectToEtcd(socket) : null
