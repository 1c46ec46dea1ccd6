/**
 * Other records in the place of all, as those of a backup: they are written where nobody looks, in many small transactions, and then one
 * change makes them the cluster's. Each node reads them whole, this one, too. What they replace is removed afterwards.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import type { Random } from '../../crypto/random.ts'
import type { Head } from '../../store/head.ts'
import type { Row } from '../../store/store.ts'
import type { VaultCopy } from '../../store/vault-copy.ts'
import { EtcdError } from '../etcd/error.ts'
import type { Etcd, Write } from '../etcd/etcd.ts'
import { generationPrefix, HEAD_KEY, OBSOLETE } from './keyspace.ts'
import { batchesOf } from './load.ts'
import type { Position } from './position.ts'

const GENERATION_BYTES = 12
const RETRY_MS = 500
const TRIES_MAX = 20

interface ReplicaReplacement {
  generation: string
  /** The key that reserves the place until it is the cluster's, and its revision: the move is made only while the key is unchanged. */
  reservation: { key: string; revision: number }
  /** With the number of the newest change that has written one of them. */
  head: Head
}

/** Throws `unavailable` for records that another domain key has sealed, `invalid` for damaged ones, `busy`. */
export async function writeReplacement(
  { etcd, copy, random }: { etcd: Etcd; copy: VaultCopy; random: Random },
  rows: Iterable<{ collection: string; row: Row }>,
): Promise<ReplicaReplacement> {
  const generation = Buffer.from(random(GENERATION_BYTES)).toString('hex').toUpperCase()
  const reservation = await reserve(etcd, generation)
  const weighing = copy.weigh()
  function* weighed() {
    let isFirst = true
    for (const one of rows) {
      try {
        weighing.add(one.collection, one.row)
      } catch (error) {
        throw isFirst ? otherKey(error) : error
      }
      isFirst = false
      yield one
    }
  }
  for (const batch of batchesOf(weighed(), generation)) await putAll(etcd, batch)
  return { generation, reservation, head: weighing.head }
}

/** Where this member is ended before it has done, what it has written is removed. */
async function reserve(etcd: Etcd, generation: string): Promise<ReplicaReplacement['reservation']> {
  const key = OBSOLETE + generation
  try {
    const { memberId } = await etcd.get(key)
    await etcd.put(key, utf8ToBytes(memberId))
    return { key, revision: defined((await etcd.get(key)).entry).revision }
  } catch (error) {
    if (error instanceof EtcdError) throw new CofferError('busy', 'The cluster does not answer', error)
    throw error
  }
}

const otherKey = (cause: unknown): CofferError =>
  new CofferError('unavailable', 'The records of a cluster cannot be replaced by those of another domain key', cause)

async function putAll(etcd: Etcd, writes: readonly Write[]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await etcd.putAll(writes)
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      if (error.code === 'full') throw new CofferError('storage', 'The disk of the cluster is full', error)
      if (tries === TRIES_MAX) throw new CofferError('busy', 'The cluster does not answer', error)
      await wait(RETRY_MS, undefined, { ref: false })
    }
  }
}

/** Where nothing comes between. What came of it is seen once the newest head is adopted. */
export async function makeCurrent(
  etcd: Etcd,
  { reservation }: ReplicaReplacement,
  head: Uint8Array,
  { generation: former, revision }: Position,
  timeoutMs: number,
): Promise<void> {
  const writes = [
    { key: HEAD_KEY, value: head },
    { key: OBSOLETE + former, value: new Uint8Array() },
    { key: reservation.key, value: null },
  ]
  try {
    await etcd.changeIf(HEAD_KEY, revision, writes, timeoutMs, reservation)
  } catch (error) {
    if (!(error instanceof EtcdError)) throw error
  }
}

/**
 * Removes what was replaced, as far as it is still there, and what this member, or one that is no member any more, has begun to write:
 * call it while this one writes nothing. Ends early where the cluster does not answer: the next unlock goes on.
 */
export async function removeObsolete(etcd: Etcd, current: () => string): Promise<void> {
  try {
    const { revision, memberId } = await etcd.get(OBSOLETE)
    const members = await etcd.members()
    const others = new Set(members.map(({ id }) => id).filter((id) => id !== memberId))
    for await (const page of etcd.pages(OBSOLETE, revision))
      for (const { key, value, revision: writtenAt } of page) {
        const generation = key.slice(OBSOLETE.length)
        if (generation === current() || others.has(new TextDecoder().decode(value))) continue
        const { isDone } = await etcd.changeIf(key, writtenAt, [{ key, value: new Uint8Array() }])
        if (!isDone) continue // it has become the cluster's, or another node is at it
        await removeGeneration(etcd, generation, revision)
        await etcd.putAll([{ key, value: null }])
      }
  } catch (error) {
    if (!(error instanceof EtcdError)) throw error
  }
}

async function removeGeneration(etcd: Etcd, generation: string, revision: number): Promise<void> {
  if (!/^[0-9A-F]+$/.test(generation)) return
  for await (const page of etcd.pages(generationPrefix(generation), revision))
    await etcd.putAll(page.map(({ key }) => ({ key, value: null })))
}
