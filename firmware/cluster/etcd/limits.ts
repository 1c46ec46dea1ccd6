/** What those who start an etcd and those who ask it agree on. */

/** In one transaction: what an etcd is told at its start, `--max-txn-ops`. */
export const WRITES_MAX = 4096
