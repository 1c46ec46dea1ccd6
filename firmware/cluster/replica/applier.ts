/** This node's copy of the cluster's records and its position in their order. A change is adopted whole, or refused if it does not fit. */

import { defined } from '../../base/defined.ts'
import { runInSlices } from '../../base/slices.ts'
import { equalBytes } from '../../crypto/seal.ts'
import type { Head } from '../../store/head.ts'
import { areSameSets } from '../../store/record-set.ts'
import type { CopyComparison, Step, VaultCopy } from '../../store/vault-copy.ts'
import { EtcdError } from '../etcd/error.ts'
import type { Etcd, KeyValue, Revision, Write } from '../etcd/etcd.ts'
import type { ClusterHead, HeadSealer } from './head.ts'
import { IntegrityError, refusalOf } from './integrity-error.ts'
import { generationPrefix, HEAD_KEY, parseRecordKey } from './keyspace.ts'
import type { Position, PositionRow } from './position.ts'
import type { Adopted, Proposal } from './proposals.ts'

interface ApplierOptions {
  etcd: Etcd
  copy: VaultCopy
  heads: HeadSealer
  row: PositionRow
  /** For a node that has nothing yet: the cluster's head when it was registered. */
  least: Head | null
  /** The change that this node has proposed and that has no outcome yet. */
  proposal: () => Proposal | null
  isWanted: () => boolean
  onAdopted: (adopted: Adopted) => void
}

interface Applier {
  /** Null for a node that has never adopted anything. */
  readonly position: Position | null
  /** The number of the change that was adopted last. */
  readonly n: number
  /** A replacement of all records has begun and not ended. */
  readonly isPartial: boolean
  /** The copy matches the head of its last change. A decision on any other copy could be adopted by no node. */
  readonly isWhole: boolean
  /** All that lies in etcd is on its way: it comes, or `catchUp` throws. */
  readonly isReading: boolean
  /** Missed changes cannot be read any more. */
  mustReadAll(): void
  /**
   * Reads all that lies in etcd where this node cannot go on from what it has; of a learner, wherever its member has anything newer.
   * `revision`: at which the head was read. Throws Refusal where this node has what the cluster has not.
   */
  catchUp(entry: KeyValue, revision: number, isLearner: boolean): Promise<void>
  /** One change, whole or not at all. Throws Refusal, `compacted` where all is to be read, what the disk throws. */
  adopt(revision: Revision): void
}

export function createApplier(options: ApplierOptions): Applier {
  const { etcd, copy, heads, row, least, proposal, isWanted, onAdopted } = options
  let position = row.read()
  let { n } = copy.head()
  let isPartial = false
  let isIncomplete = false // of what came since
  let isReading = false

  const isWhole = (): boolean => !isPartial && !copy.isDamaged

  /** Throws Refusal where this node has what the cluster has not. */
  function needsAll(entry: KeyValue, { head, generation, id }: ClusterHead): boolean {
    const own = copy.head()
    if (head.n < own.n) throw new IntegrityError('they are older than those of this node')
    if (position === null) expectLeast(head, least)
    if (position === null || position.generation !== generation) return true
    expectNotOlder(entry, position.revision)
    if (head.n === own.n && position.id !== id)
      throw new IntegrityError('their newest change differs from that of this node')
    if (head.n === own.n && !areSameSets(head.sets, own.sets)) return true // written when damage was taken for granted
    return isIncomplete || !isWhole()
  }

  /** False when it ended early, since it was not wanted any more. */
  async function readAll(next: Position, head: Head, revision: number, isLocal: boolean): Promise<boolean> {
    const { generation } = next
    const comparison = copy.compare(position === null)
    const adoption = {
      ...{ head, generation, withinTransaction: () => row.put(next) },
      partly() {
        isPartial = true
        row.remove()
      },
    }
    isReading = true
    try {
      for await (const page of etcd.pages(generationPrefix(generation), revision, { isLocal }))
        if (!(await runInSlices(compared(comparison, page), isWanted))) return false
      return await runInSlices(comparison.adopt(adoption), isWanted)
    } catch (error) {
      throw refusalOf(error)
    } finally {
      isReading = false
    }
  }

  function note(next: Position, head: Head, isAlone: boolean): void {
    position = next
    n = head.n
    onAdopted({ id: next.id, revision: next.revision, isAlone })
  }

  /** Where a change does not fit, the fault may be in this copy. */
  function refusalOrDamage(error: unknown): unknown {
    return copy.isDamaged ? new EtcdError('compacted', 'What lies here is damaged', error) : refusalOf(error)
  }

  return {
    get position() {
      return position
    },
    get n() {
      return n
    },
    get isPartial() {
      return isPartial
    },
    get isWhole() {
      return isWhole()
    },
    get isReading() {
      return isReading
    },
    mustReadAll() {
      isIncomplete = true
    },
    async catchUp(entry, revision, isLearner) {
      const newest = heads.open(entry.value)
      const isNewer = entry.revision > (position?.revision ?? 0)
      if (!needsAll(entry, newest) && !(isLearner && isNewer)) return
      const { generation, id, head } = newest
      const next = { generation, revision: entry.revision, id }
      if (!(await readAll(next, head, revision, isLearner))) return
      isIncomplete = false
      isPartial = false
      note(next, head, false)
    },
    adopt({ revision, writes }) {
      const { generation } = defined(position)
      const records = writes.flatMap(({ key, value }) => {
        const place = parseRecordKey(key)
        return place?.generation === generation ? [{ ...place, key, sealed: value, record: null }] : []
      })
      const written = writes.find(({ key }) => key === HEAD_KEY)
      if (written === undefined) {
        if (records.length > 0) throw new IntegrityError('records changed without a new head')
        return // of a generation that is on its way
      }
      const newest = heads.open(expectHead(written.value))
      const { head, id } = newest
      if (head.n <= n) throw new IntegrityError('an older change came after a newer one')
      if (newest.generation !== generation) throw new EtcdError('compacted', 'The records were replaced by others')
      const next = { generation, revision, id }
      const own = proposal()
      const steps = own?.id === id ? ownSteps(own, records) : records
      try {
        copy.adopt(steps, { head, withinTransaction: () => row.put(next) })
      } catch (error) {
        throw refusalOrDamage(error)
      }
      note(next, head, true)
    },
  }
}

function* compared(comparison: CopyComparison, page: readonly KeyValue[]): Generator<void> {
  for (const { key, value } of page) {
    const place = parseRecordKey(key)
    if (place === null) throw new IntegrityError('a record has an unknown key')
    yield* comparison.add(place.collection, { slot: place.slot, sealed: value })
  }
}

function expectLeast(head: Head, least: Head | null): void {
  if (least === null || head.n > least.n) return
  if (head.n < least.n) throw new IntegrityError('they are older than when this node was registered')
  if (!areSameSets(head.sets, least.sets))
    throw new IntegrityError('they differ from those at the time this node was registered')
}

export function expectHead<T>(head: T | null): T {
  if (head === null) throw new IntegrityError('the head is missing')
  return head
}

/** An etcd whose disks were put back would be watched in silence, until it comes to the revisions that it had. */
export function expectNotOlder(entry: KeyValue | null, revision: number): void {
  if (expectHead(entry).revision < revision) throw new IntegrityError('they are older than those of this node')
}

/** This node's own change is adopted as it was decided. The one that came must equal it; removing a missing record is no change. */
function ownSteps({ writes, draft }: Proposal, records: readonly (Step & { key: string })[]): readonly Step[] {
  const came = new Map(records.map(({ key, sealed }) => [key, sealed]))
  const isSame = ({ key, value }: Write): boolean => {
    const sealed = came.get(key) ?? null
    came.delete(key)
    return value === null ? sealed === null : sealed !== null && equalBytes(value, sealed)
  }
  if (!writes.every(isSame) || came.size > 0)
    throw new IntegrityError('a change of this node arrived with other records')
  return draft.steps
}
