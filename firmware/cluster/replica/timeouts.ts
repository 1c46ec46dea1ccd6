/** How a replica waits; tests shorten it. */
export interface ReplicaTimeouts {
  /** Between two looks at whether the cluster answers. */
  heartbeatMs: number
  /** One that takes longer is no answer. */
  heartbeatMsMax: number
  /** Before it follows once more; twice as long with each time that it could not adopt what it found, up to the other. */
  retryMs: number
  retryMsMax: number
  /** A node that finds nobody opens with the copy that it has. */
  openingMsMax: number
  /** A watch that does not tell of a head that was read elsewhere is begun anew. */
  stalledMs: number
  /** How long a read may wait for the others. */
  barrierMsMax: number
  /** A leader that was killed leaves proposals behind that etcd gives up on after seven seconds only: the same is sent again. */
  resendMs: number
  /** Before that, where there is no answer at once. */
  resendPauseMs: number
  /** A change is answered after so long, whatever it waited for: it was not done, or nobody knows whether it was. */
  outcomeMsMax: number
  /** The same of records that were all replaced, which this node reads whole. */
  replacedMsMax: number
}

export const REPLICA_TIMEOUTS: ReplicaTimeouts = {
  heartbeatMs: 1000,
  heartbeatMsMax: 2000,
  retryMs: 200,
  retryMsMax: 5000,
  openingMsMax: 5000,
  stalledMs: 5000,
  barrierMsMax: 2000,
  resendMs: 1000,
  resendPauseMs: 100,
  outcomeMsMax: 10_000,
  replacedMsMax: 300_000,
}
