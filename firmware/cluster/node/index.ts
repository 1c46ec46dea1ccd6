/** Builds the cluster side of an appliance from `firmware/cluster/`. Contract section 3.6. */

import type { DeviceArea } from '../../store/device-area.ts'
import { openMembership } from '../membership/record.ts'
import { createJoining, type Join, type JoiningOptions } from './join.ts'
import { createLeaving, type Leaving, type LeavingOptions } from './leave.ts'
import { createMembers, type Members, type MembersOptions } from './members.ts'
import { type ClusterNode, type ClusterNodeOptions, createClusterNode } from './node.ts'

export interface Clustering {
  readonly node: ClusterNode
  readonly members: Members
  readonly join: Join
  readonly leaving: Leaving
}

interface ClusteringOptions extends ClusterNodeOptions, MembersOptions, JoiningOptions, LeavingOptions {}

export function createClustering(options: ClusteringOptions): Clustering {
  const node = createClusterNode(options)
  return {
    node,
    members: createMembers(node, options),
    join: createJoining(node, options),
    leaving: createLeaving(node, options),
  }
}

/** A node that was removed does not come back by being started again. */
export const wasRemoved = (device: DeviceArea): boolean => openMembership(device).read()?.stage === 'removed'
