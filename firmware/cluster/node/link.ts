/** How an appliance finds the others that it shares its records with. Without it, or while there are none, it is alone. */

import type { DeviceArea } from '../../store/device-area.ts'
import type { Etcd } from '../etcd/etcd.ts'
import type { ReplicaTimeouts } from '../replica/timeouts.ts'

export interface ClusterLink {
  /**
   * A client of this node's etcd, which runs but need not answer yet; null if the node is alone. Called in the turn in which the
   * records are opened. The client is closed with them.
   */
  connect(device: DeviceArea): Etcd | null
  /** A node that the others have not answered for longer is Failed until they do. Absent: it goes on for ever. */
  readonly isolatedMaxMs?: number
  readonly timeouts?: ReplicaTimeouts
}
