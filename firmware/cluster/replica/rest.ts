/**
 * What a node's own etcd has committed and its records do not have yet, taken without asking the others: before the node goes on alone.
 */

import { CofferError } from '../../base/error.ts'
import type { Random } from '../../crypto/random.ts'
import type { VaultCopy } from '../../store/vault-copy.ts'
import type { Etcd } from '../etcd/etcd.ts'
import { createHeadSealer } from './head.ts'
import { generationPrefix, HEAD_KEY, parseRecordKey } from './places.ts'
import type { PositionRow } from './position.ts'
import { Refusal } from './refusal.ts'

export interface RestOptions {
  etcd: Etcd
  domainKey: Uint8Array
  /** Nothing changes in it meanwhile. */
  copy: VaultCopy
  random: Random
  position: PositionRow
}

/** How many changes came; all of them or none. Throws Refusal, `storage`, EtcdError. */
export async function takeRest({ etcd, domainKey, copy, random, position }: RestOptions): Promise<number> {
  const heads = createHeadSealer(domainKey, random)
  try {
    const { revision, entry } = await etcd.get(HEAD_KEY, { isLocal: true })
    if (entry === null) return 0
    const newest = heads.open(entry.value)
    const { n } = copy.head()
    if (newest.head.n <= n) return 0
    const comparison = copy.compare()
    for await (const page of etcd.pages(generationPrefix(newest.generation), revision, { isLocal: true }))
      for (const { key, value } of page) {
        const place = parseRecordKey(key)
        if (place === null) throw new Refusal('a record lies where there is no place for one')
        comparison.add(place.collection, { slot: place.slot, sealed: value })
      }
    comparison.adopt({
      head: newest.head,
      generation: newest.generation,
      alongside: () => position.put({ generation: newest.generation, revision: entry.revision, id: newest.id }),
    })
    return newest.head.n - n
  } catch (error) {
    if (error instanceof CofferError && error.code === 'invalid') throw new Refusal(error.message, error)
    throw error
  } finally {
    heads.close()
  }
}
