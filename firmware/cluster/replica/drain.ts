/**
 * Takes changes that this node's own etcd has committed and its records lack, without asking the others: before the node goes on alone.
 */

import type { Random } from '../../crypto/random.ts'
import type { VaultCopy } from '../../store/vault-copy.ts'
import type { Etcd } from '../etcd/etcd.ts'
import { createApplier } from './applier.ts'
import { createHeadSealer } from './head.ts'
import { HEAD_KEY } from './keyspace.ts'
import type { PositionRow } from './position.ts'

interface DrainOptions {
  etcd: Etcd
  domainKey: Uint8Array
  /** Nothing changes in it meanwhile. */
  copy: VaultCopy
  random: Random
  position: PositionRow
}

/** How many changes came. Throws Refusal, `storage`, EtcdError. */
export async function drainLocalEtcd({ etcd, domainKey, copy, random, position }: DrainOptions): Promise<number> {
  const heads = createHeadSealer(domainKey, random)
  try {
    const { revision, entry } = await etcd.get(HEAD_KEY, { isLocal: true })
    const { n } = copy.head()
    const adoption = createApplier({
      ...{ etcd, copy, heads, row: position, least: null },
      ...{ proposal: () => null, isWanted: () => true, onAdopted() {} },
    })
    if (entry !== null) await adoption.catchUp(entry, revision, true)
    return adoption.n - n
  } finally {
    heads.close()
  }
}
