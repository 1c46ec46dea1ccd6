/**
 * An etcd of a few lines, without a process: one order of changes, and a bad connection to it. Calls take their time, are lost before
 * or after they were done, or are done long after nobody waits any more; watches break, and the past is dropped.
 */

import { EtcdError } from '../../../firmware/cluster/etcd/error.ts'
import type { Etcd, KeyValue, Revision, Write } from '../../../firmware/cluster/etcd/etcd.ts'

const TURNS_MAX = 6

export type Dice = (below: number) => number

export function createDice(seed: number): Dice {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

export interface Model {
  connect(dice: Dice): Etcd
  calm(): void
  compact(): void
}

const lost = (): EtcdError => new EtcdError('unavailable', 'It was lost')

export function createModel(): Model {
  let isCalm = false
  let revision = 1
  let compacted = 0
  const history: Revision[] = []
  const newer = new Set<() => void>()

  function at(limit: number): Map<string, KeyValue> {
    const entries = new Map<string, KeyValue>()
    for (const { revision, writes } of history) {
      if (revision > limit) break
      for (const { key, value } of writes) {
        if (value === null) entries.delete(key)
        else entries.set(key, { key, value, revision })
      }
    }
    return entries
  }

  function change(key: string, expected: number, writes: readonly Write[]): boolean {
    const entries = at(revision)
    if ((entries.get(key)?.revision ?? 0) !== expected) return false
    revision++
    // To remove what is missing is no change.
    const made = writes.filter(({ key, value }) => value !== null || entries.has(key))
    history.push({ revision, writes: made })
    for (const wake of newer) wake()
    return true
  }

  function connect(dice: Dice): Etcd {
    const turns = async (): Promise<void> => {
      for (let n = dice(TURNS_MAX); n > 0; n--) await new Promise((resolve) => setImmediate(resolve))
    }
    const fails = (of: number): boolean => !isCalm && dice(of) === 0

    async function* watch(prefix: string, from: number, signal: AbortSignal): AsyncGenerator<Revision> {
      for (let next = from; ; ) {
        await turns()
        if (signal.aborted || fails(25)) throw lost()
        if (next <= compacted) throw new EtcdError('compacted', 'It was compacted')
        const found = history.find((made) => made.revision >= next)
        if (found === undefined) {
          await new Promise<void>((resolve) => {
            newer.add(resolve)
            signal.addEventListener('abort', () => resolve(), { once: true })
          })
          continue
        }
        next = found.revision + 1
        const writes = found.writes.filter(({ key }) => key.startsWith(prefix))
        if (writes.length > 0) yield { revision: found.revision, writes }
      }
    }

    return {
      async get(key) {
        await turns()
        if (fails(10)) throw lost()
        const found = { revision, clusterId: '1', memberId: '1', entry: at(revision).get(key) ?? null }
        await turns()
        return found
      },
      async *pages(prefix, limit) {
        for (const entry of [...at(limit).values()].sort((a, b) => (a.key < b.key ? -1 : 1))) {
          await turns()
          if (fails(100)) throw lost()
          if (limit < compacted) throw new EtcdError('compacted', 'It was compacted')
          if (entry.key.startsWith(prefix)) yield [entry]
        }
      },
      async changeIf(key, expected, writes) {
        await turns()
        if (fails(10)) throw lost()
        if (fails(20)) {
          setTimeout(() => change(key, expected, writes), dice(30))
          throw lost()
        }
        const isDone = change(key, expected, writes)
        await turns()
        if (fails(10)) throw lost()
        return { isDone, revision }
      },
      members: async () => [{ id: '1', name: '', urls: [], isLearner: false }],
      watch,
    } as Partial<Etcd> as Etcd
  }

  return {
    connect,
    calm() {
      isCalm = true
    },
    compact() {
      compacted = revision
    },
  }
}
