/**
 * What a node's own etcd has committed and its records do not have yet, taken without asking the others: before the node goes on alone.
 */

import { inSlices } from '../../base/slices.ts'
import type { Random } from '../../crypto/random.ts'
import type { VaultCopy } from '../../store/vault-copy.ts'
import type { Etcd } from '../etcd/etcd.ts'
import { compareAll, refusing } from './compare-all.ts'
import { createHeadSealer } from './head.ts'
import { HEAD_KEY } from './places.ts'
import type { PositionRow } from './position.ts'

export interface RestOptions {
  etcd: Etcd
  domainKey: Uint8Array
  /** Nothing changes in it meanwhile. */
  copy: VaultCopy
  random: Random
  position: PositionRow
}

/** How many changes came. Throws Refusal, `storage`, EtcdError. */
export async function takeRest({ etcd, domainKey, copy, random, position }: RestOptions): Promise<number> {
  const heads = createHeadSealer(domainKey, random)
  try {
    const { revision, entry } = await etcd.get(HEAD_KEY, { isLocal: true })
    if (entry === null) return 0
    const newest = heads.open(entry.value)
    const { n } = copy.head()
    if (newest.head.n < n || (newest.head.n === n && position.read() !== null)) return 0
    const comparison = copy.compare()
    const { head, generation, id } = newest
    await compareAll(comparison, { etcd, generation, revision, isLocal: true })
    const steps = comparison.adopt({
      ...{ head, generation },
      alongside: () => position.put({ generation, revision: entry.revision, id }),
      partly: () => position.remove(),
    })
    await refusing(() => inSlices(steps))
    return head.n - n
  } finally {
    heads.close()
  }
}
