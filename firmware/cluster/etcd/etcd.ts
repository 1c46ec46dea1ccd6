/**
 * A client of etcd, with the part of its interface that a cluster needs. https://etcd.io/docs/v3.6/learning/api/
 * A call that ends in `unavailable` may have been done; one that throws anything else has not.
 */

import { encodeBase64 } from '../../base/base64.ts'
import { EtcdError } from './error.ts'
import { createGateway } from './gateway.ts'
import {
  added,
  answered,
  type EtcdMember,
  encodeKey,
  listed,
  ranged,
  statusTold,
  transacted,
  unsaid,
  watched,
} from './messages.ts'

export { WRITES_MAX } from './limits.ts'
export type { EtcdMember as Member } from './messages.ts'

/** The default for a call: etcd itself gives up on a proposal after seven seconds. */
const TIMEOUT_MS = 10_000
const PAGE_MAX = 256 // records
/** As protobuf writes one in text. */
const SPACE_ALARM = /^memberID:(\d{1,20}) +alarm:NOSPACE\b/

export interface KeyValue {
  key: string
  value: Uint8Array
  /** That last changed it. */
  revision: number
}

export interface ReadResult {
  /** That the answer is from. */
  revision: number
  clusterId: string
  memberId: string
  entry: KeyValue | null
}

/** Null removes it. */
export interface Write {
  key: string
  value: Uint8Array | null
}

/** All that one transaction has changed below a prefix, in no order. */
export interface Revision {
  revision: number
  writes: Write[]
}

export interface Status {
  version: string
  /** Zero where there is none. */
  leader: string
  memberId: string
  databaseBytes: number
  databaseBytesInUse: number
  /** The bound of the database; infinite before 3.6, which does not tell it. */
  quotaBytes: number
  /** That this member has. */
  revision: number
  raftIndex: number
  raftAppliedIndex: number
  isLearner: boolean
  errors: string[]
  /** Ids of members that have raised the alarm NOSPACE: while there is one, whatever would write throws `full` on all. */
  spaceAlarms: string[]
}

interface ReadOptions {
  /** Asks this member alone, which may be behind the others or cut off from them. */
  isLocal?: boolean
  /** As it was then. */
  revision?: number
  timeoutMs?: number
}

export interface Etcd {
  get(key: string, options?: ReadOptions): Promise<ReadResult>
  /** Everything below a prefix as it was at one revision, in the order of keys, some at once. */
  pages(prefix: string, revision: number, options?: Pick<ReadOptions, 'isLocal'>): AsyncGenerator<KeyValue[]>
  /**
   * Makes all of the changes if the key was last changed at this revision, 0 for one that is missing, and none otherwise. At most
   * WRITES_MAX. `revision` is the newest that its member has. `also`: another key of which the same must hold.
   */
  changeIf(
    key: string,
    revision: number,
    writes: readonly Write[],
    timeoutMs?: number,
    also?: { key: string; revision: number },
  ): Promise<{ isDone: boolean; revision: number }>
  put(key: string, value: Uint8Array, timeoutMs?: number): Promise<void>
  /** All or none, whatever is there. At most WRITES_MAX. */
  putAll(writes: readonly Write[], timeoutMs?: number): Promise<void>
  /**
   * Each revision that changed anything below a prefix, from this one on, complete and in order. Ends by throwing, `compacted` or
   * `unavailable`; says nothing while the etcd is stopped, or the revision has yet to come.
   */
  watch(prefix: string, revision: number, signal: AbortSignal): AsyncGenerator<Revision>
  /** Revisions below this one cannot be read or watched any more. Ends when what they took is free on this member. */
  compact(revision: number): Promise<void>
  /** Writes this member's file anew without its free space. Meanwhile the member does not answer. */
  defragment(timeoutMs: number): Promise<void>
  /** Only this member can hand the lead over, while it has it. */
  moveLeader(to: string): Promise<void>
  /** Takes back the alarm NOSPACE of a member, also if another member raised it. */
  disarmSpace(id: string): Promise<void>
  members(timeoutMs?: number): Promise<EtcdMember[]>
  /** Throws `precondition` while there is a learner, or one that was never started. */
  addLearner(urls: readonly string[]): Promise<{ member: EtcdMember; members: EtcdMember[] }>
  updateMember(id: string, urls: readonly string[]): Promise<void>
  removeMember(id: string): Promise<void>
  /** Throws `precondition` until it has caught up. */
  promote(id: string): Promise<void>
  /** The status of this member, which answers without the others. */
  status(timeoutMs?: number): Promise<Status>
  /** Calls under way end as `unavailable`. */
  close(): void
}

export function connectToEtcd(socketPath: string): Etcd {
  const gateway = createGateway(socketPath)

  const range = (key: object, { isLocal, revision, timeoutMs }: ReadOptions) =>
    gateway.call(
      'kv/range',
      { ...key, ...(isLocal && { serializable: true }), ...(revision !== undefined && { revision }) },
      ranged,
      timeoutMs ?? TIMEOUT_MS,
    )

  /** Large records make large answers: fewer are asked for until they fit. */
  async function* pages(
    prefix: string,
    revision: number,
    options: Pick<ReadOptions, 'isLocal'> = {},
  ): AsyncGenerator<KeyValue[]> {
    const range_end = encodeKey(afterPrefix(prefix))
    let from = prefix
    let limit = PAGE_MAX
    for (;;) {
      try {
        const { kvs, more } = await range({ key: encodeKey(from), range_end, limit }, { ...options, revision })
        yield kvs.map(entryOf)
        const last = kvs.at(-1)
        if (!more || last === undefined) return
        from = `${last.key}\0`
        limit = Math.min(PAGE_MAX, 2 * limit)
      } catch (error) {
        if (!(error instanceof EtcdError && error.code === 'tooLarge') || limit === 1) throw error
        limit = Math.ceil(limit / 4)
      }
    }
  }

  async function* watch(prefix: string, revision: number, signal: AbortSignal): AsyncGenerator<Revision> {
    const create_request = {
      key: encodeKey(prefix),
      range_end: encodeKey(afterPrefix(prefix)),
      start_revision: revision,
      fragment: true,
    }
    let pending: Revision | null = null
    for await (const told of gateway.stream('watch', { create_request }, watched, signal)) {
      if (told.canceled) {
        if (told.compact_revision > 0) throw new EtcdError('compacted', 'What is to be watched has been compacted')
        throw new EtcdError('unavailable', `etcd ended the watch: ${told.cancel_reason}`)
      }
      for (const { type, kv } of told.events) {
        if (pending !== null && pending.revision !== kv.mod_revision) {
          yield pending
          pending = null
        }
        pending ??= { revision: kv.mod_revision, writes: [] }
        pending.writes.push({ key: kv.key, value: type === 'PUT' ? kv.value : null })
      }
      if (told.fragment || pending === null) continue
      yield pending
      pending = null
    }
  }

  const change = async (path: string, body: object, timeoutMs = TIMEOUT_MS): Promise<void> => {
    await gateway.call(path, body, answered, timeoutMs)
  }

  return {
    async get(key, options = {}) {
      const { header, kvs } = await range({ key: encodeKey(key) }, options)
      return {
        revision: header.revision,
        clusterId: header.cluster_id,
        memberId: header.member_id,
        entry: kvs[0] === undefined ? null : entryOf(kvs[0]),
      }
    },
    pages,
    async changeIf(key, revision, writes, timeoutMs = TIMEOUT_MS, also) {
      const compare = [{ key, revision }, ...(also ? [also] : [])].map(({ key, revision }) => ({
        ...{ key: encodeKey(key), target: 'MOD', mod_revision: revision },
      }))
      const success = writes.map(operationOf)
      const { header, succeeded } = await gateway.call('kv/txn', { compare, success }, transacted, timeoutMs)
      return { isDone: succeeded, revision: header.revision }
    },
    putAll: (writes, timeoutMs) => change('kv/txn', { success: writes.map(operationOf) }, timeoutMs),
    put: (key, value, timeoutMs) => change('kv/put', { key: encodeKey(key), value: encodeBase64(value) }, timeoutMs),
    watch,
    compact: (revision) => change('kv/compaction', { revision, physical: true }),
    async defragment(timeoutMs) {
      await gateway.call('maintenance/defragment', {}, unsaid, timeoutMs)
    },
    async moveLeader(to) {
      await gateway.call('maintenance/transfer-leadership', { targetID: idOf(to) }, unsaid, TIMEOUT_MS)
    },
    async disarmSpace(id) {
      await gateway.call(
        'maintenance/alarm',
        { action: 'DEACTIVATE', memberID: idOf(id), alarm: 'NOSPACE' },
        unsaid,
        TIMEOUT_MS,
      )
    },
    async members(timeoutMs = TIMEOUT_MS) {
      return (await gateway.call('cluster/member/list', {}, listed, timeoutMs)).members
    },
    async addLearner(urls) {
      const body = { peerURLs: urls, isLearner: true }
      const { member, members } = await gateway.call('cluster/member/add', body, added, TIMEOUT_MS)
      return { member, members }
    },
    updateMember: (id, urls) => change('cluster/member/update', { ID: idOf(id), peerURLs: urls }),
    removeMember: (id) => change('cluster/member/remove', { ID: idOf(id) }),
    promote: (id) => change('cluster/member/promote', { ID: idOf(id) }),
    async status(timeoutMs = TIMEOUT_MS) {
      const told = await gateway.call('maintenance/status', {}, statusTold, timeoutMs)
      const { version, leader, raftIndex, raftAppliedIndex, isLearner, errors } = told
      return {
        version,
        leader,
        memberId: told.header.member_id,
        databaseBytes: told.dbSize,
        databaseBytesInUse: told.dbSizeInUse,
        quotaBytes: told.dbSizeQuota || Number.POSITIVE_INFINITY,
        revision: told.header.revision,
        raftIndex,
        raftAppliedIndex,
        isLearner,
        errors,
        spaceAlarms: errors.flatMap((text) => {
          const [, id] = SPACE_ALARM.exec(text) ?? []
          return id === undefined ? [] : [BigInt(id).toString(16)]
        }),
      }
    },
    close: gateway.close,
  }
}

const entryOf = ({ key, value, mod_revision }: { key: string; value: Uint8Array; mod_revision: number }): KeyValue => ({
  key,
  value,
  revision: mod_revision,
})

const operationOf = ({ key, value }: Write): object =>
  value === null
    ? { request_delete_range: { key: encodeKey(key) } }
    : { request_put: { key: encodeKey(key), value: encodeBase64(value) } }

/** The gateway reads 64-bit numbers in decimal. */
const idOf = (hex: string): string => BigInt(`0x${hex}`).toString()

/** The first key that does not begin with it. */
const afterPrefix = (prefix: string): string =>
  prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)
