/**
 * The records of a node that was alone until now, into an etcd that holds none: many small transactions that nobody looks at, then
 * the first head, which makes them the cluster's.
 */

import { CofferError } from '../../base/error.ts'
import type { Random } from '../../crypto/random.ts'
import type { Row } from '../../store/store.ts'
import type { VaultCopy } from '../../store/vault-copy.ts'
import type { Etcd, Write } from '../etcd/etcd.ts'
import { createHeadSealer, newChangeId } from './head.ts'
import { HEAD_KEY, recordKey } from './keyspace.ts'
import type { PositionRow } from './position.ts'

const BATCH_MAX = 500 // records
const BATCH_BYTES = 100 * 1024 // larger ones would stay in the memory of every member for long

interface LoadOptions {
  etcd: Etcd
  domainKey: Uint8Array
  /** Nothing changes in it meanwhile. */
  copy: VaultCopy
  generation: string
  member: string
  random: Random
  position: Pick<PositionRow, 'put'>
}

/** Throws `conflict` where there is a cluster already, EtcdError. */
export async function loadRecords(options: LoadOptions): Promise<void> {
  const { etcd, domainKey, copy, generation, member, random, position } = options
  const write = async (writes: readonly Write[]): Promise<number> => {
    const { isDone, revision } = await etcd.changeIf(HEAD_KEY, 0, writes)
    if (!isDone) throw new CofferError('conflict', 'There are records of a cluster already')
    return revision
  }
  for (const batch of batchesOf(copy.rows(), generation)) await write(batch)
  const heads = createHeadSealer(domainKey, random)
  try {
    const head = copy.head()
    const id = newChangeId(random)
    const revision = await write([{ key: HEAD_KEY, value: heads.seal({ generation, id, member, head }) }])
    copy.adopt([], { head, withinTransaction: () => position.put({ generation, revision, id }) })
  } finally {
    heads.close()
  }
}

/** Records for small transactions. */
export function* batchesOf(rows: Iterable<{ collection: string; row: Row }>, generation: string): Generator<Write[]> {
  let batch: Write[] = []
  let bytes = 0
  for (const { collection, row } of rows) {
    batch.push({ key: recordKey(generation, collection, row.slot), value: row.sealed })
    bytes += row.sealed.length
    if (batch.length < BATCH_MAX && bytes < BATCH_BYTES) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}
