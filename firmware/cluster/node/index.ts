/** All that makes this node one of several: firmware/cluster/, put together for the appliance. Contract section 3.6. */

import { INSIDE, type Place } from '../../base/fair-queue.ts'
import type { DeviceArea } from '../../store/device-area.ts'
import { openMembership } from '../membership/record.ts'
import { createJoining, type JoiningOptions, type JoinRequest } from './join.ts'
import { createLeaving, type LeavingOptions } from './leave.ts'
import { createMembers, type Members, type MembersOptions } from './members.ts'
import { type ClusterNodeOptions, createClusterNode } from './node.ts'

export const REMOVED = 'The other members of the cluster have removed this node'

export interface Clustering extends Members {
  /** False where there is no etcd: then it is alone for ever. */
  readonly isAvailable: boolean
  /** Whether it is in a cluster. */
  readonly isMember: boolean
  /** Since the others answered last, in every state; 0 while they do, and of a node that is alone. */
  readonly lostMs: number
  /** Why no member can change anything, for want of room in its etcd; null for nothing. */
  readonly spaceProblem: string | null
  /** Ends Locked, with the records of the cluster to come. Throws `invalid`, `conflict`, `unavailable`, `busy`; then nothing has changed. */
  join(request: JoinRequest): Promise<void>
  /** Throws `forbidden` when the unlock passphrase is wrong, `unavailable` while the cluster answers, or where there is none. */
  forceNew(passphrase: Uint8Array, place: Place): Promise<void>
  /** Tells the others that it goes, where they hear it, and erases. */
  leave(erase: () => Promise<void>): Promise<void>
  /** At a start. */
  begin(): void
  close(): void
}

interface ClusteringOptions
  extends Omit<ClusterNodeOptions, 'onRemoved'>,
    Omit<MembersOptions, 'node' | 'noteRemoved'>,
    Omit<JoiningOptions, 'node' | 'inTurn' | 'session'>,
    Omit<LeavingOptions, 'node' | 'noteRemoved'> {
  /** This node is a member no more: what is open is closed, and it is Failed. */
  leaveFailed(reason: string): void
}

export function createClustering(options: ClusteringOptions): Clustering {
  const noteRemoved = (): void => {
    const held = node.membership
    if (held === null) return
    node.end()
    options.store.records.keep('noting that this node was removed', (device) =>
      openMembership(device).put({ ...held, stage: 'removed' }),
    )
    options.leaveFailed(REMOVED)
  }
  const node = createClusterNode({ ...options, onRemoved: noteRemoved })
  const members = createMembers({ ...options, node, noteRemoved })
  const join = createJoining({ ...options, node, inTurn: (task) => options.inTurn(INSIDE, task) })
  const leaving = createLeaving({ ...options, node, noteRemoved })
  return {
    get list() {
      return members.list
    },
    refresh: members.refresh,
    expect: members.expect,
    add: members.add,
    setUrls: members.setUrls,
    remove: members.remove,
    promote: members.promote,
    moveTo: members.moveTo,
    get isAvailable() {
      return node.service !== null
    },
    get isMember() {
      return node.membership !== null
    },
    get lostMs() {
      return node.lostMs
    },
    get spaceProblem() {
      return node.spaceProblem
    },
    join,
    forceNew: leaving.forceNew,
    leave: leaving.leave,
    begin: node.begin,
    close: node.close,
  }
}

/** A node that was removed does not come back by being started again. */
export const wasRemoved = (device: DeviceArea): boolean => openMembership(device).read()?.stage === 'removed'
