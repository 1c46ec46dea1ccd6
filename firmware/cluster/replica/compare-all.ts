/** All that lies in etcd at one revision, compared with what lies here. */

import { inSlices } from '../../base/slices.ts'
import type { Comparison } from '../../store/vault-copy.ts'
import type { Entry, Etcd } from '../etcd/etcd.ts'
import { generationPrefix, parseRecordKey } from './places.ts'
import { Refusal, refusalOf } from './refusal.ts'

export interface Everything {
  etcd: Etcd
  generation: string
  revision: number
  /** What this member has, without asking the others. */
  isLocal: boolean
}

/** False when it ended early, since it was not wanted any more. Throws Refusal, EtcdError, what the disk throws. */
export async function compareAll(
  comparison: Comparison,
  { etcd, generation, revision, isLocal }: Everything,
  isWanted?: () => boolean,
): Promise<boolean> {
  for await (const page of etcd.pages(generationPrefix(generation), revision, { isLocal }))
    if (!(await refusing(() => inSlices(compared(comparison, page), isWanted)))) return false
  return true
}

function* compared(comparison: Comparison, page: readonly Entry[]): Generator<void> {
  for (const { key, value } of page) {
    const place = parseRecordKey(key)
    if (place === null) throw new Refusal('a record lies where there is no place for one')
    yield* comparison.add(place.collection, { slot: place.slot, sealed: value })
  }
}

/** Throws Refusal for what the store does not take; what its disk does not is tried again. */
export async function refusing<T>(adopt: () => Promise<T>): Promise<T> {
  try {
    return await adopt()
  } catch (error) {
    throw refusalOf(error)
  }
}
