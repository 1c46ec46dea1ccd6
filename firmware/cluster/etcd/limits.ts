/** Limits that the starter of etcd and its clients share. */

/** In one transaction: what an etcd is told at its start, `--max-txn-ops`. */
export const WRITES_MAX = 4096
