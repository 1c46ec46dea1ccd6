/**
 * This node as a member of a cluster, in every state: its etcd, which runs also while the appliance is Locked, and since when the
 * others do not answer.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { defined } from '../../base/defined.ts'
import { CofferError, describe } from '../../base/error.ts'
import type { Log } from '../../base/log.ts'
import { runDetached } from '../../base/request-authorization.ts'
import type { Configuration } from '../../configuration/configuration.ts'
import type { DeviceStore } from '../../device/device-store.ts'
import { connectToEtcd, type Etcd, type Member } from '../etcd/etcd.ts'
import type { EtcdService } from '../etcd/service.ts'
import { createUpkeep, type Upkeep } from '../etcd/upkeep.ts'
import { type Membership, openMembership } from '../membership/record.ts'
import { Heartbeat, newestHead } from '../replica/heartbeat.ts'

export const REMOVED = 'The other members of the cluster have removed this node'
const LOOK_MS = 1000
const ANSWER_MS_MAX = 2000
const RUN_AGAIN_MS = 10_000

export interface ClusterNodeOptions {
  etcd: EtcdService | undefined
  store: DeviceStore
  configuration: Configuration
  log: Log
  /** Must never jump. */
  nowMs: () => number
  /** Free space on the disk of this node. Throws an error of the file system. */
  freeBytes: () => number
  /** Closes what is open and makes the appliance Failed: this node is no longer a member. */
  leaveFailed(reason: string): void
}

export interface ClusterNode {
  /** Where there is no etcd, it is alone for ever. */
  readonly service: EtcdService | null
  /** Null for a node that is alone; of a join that was cut it is alone, too. */
  readonly membership: Membership | null
  /** A client of its etcd, which need not run. Throws `unavailable` if the node is alone. */
  readonly client: Etcd
  /** Since the cluster answered last, or this process began to ask; 0 while it answers. */
  readonly lostMs: number
  /** Why no member can change anything, for want of room in its etcd; null for nothing. */
  readonly spaceProblem: string | null
  /** At a start, and once it has become a member: its etcd is made to run, where it does not yet so as it is to, and is watched. */
  begin(): void
  /** Where the others find it now, as the members say. */
  noteUrl(members: readonly Pick<Member, 'id' | 'urls'>[]): void
  /** It is no member any more. */
  end(): void
  /** Ends the membership after the other members removed this node: stores that and makes the appliance Failed. */
  noteRemoved(): void
  /** One change of the membership at a time: throws `busy` while there is another. */
  exclusively<T>(change: () => Promise<T>): Promise<T>
  close(): void
}

export function createClusterNode(options: ClusterNodeOptions): ClusterNode {
  const { store, configuration, log, nowMs, freeBytes } = options
  const service = options.etcd?.available ? options.etcd : null
  let isChanging = false
  let attempts = new AbortController()
  let watch: { contact: Heartbeat; client: Etcd; upkeep: Upkeep; stop: AbortController } | null = null

  const membership = (): Membership | null => {
    const held = store.records.read('read the cluster membership', openMembershipOf)
    return held === undefined || held?.stage === 'joining' ? null : held
  }

  async function look(contact: Heartbeat, client: Etcd, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isThere = await newestHead(client, ANSWER_MS_MAX).then(
        () => true,
        () => false,
      )
      contact.note(isThere)
      await wait(LOOK_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  /**
   * Tries until it is done: a machine that has just been started may take long. But one that has lost its directory is not begun anew
   * under the same name: a member without its log breaks raft.
   */
  async function run({ name, peerUrl, token }: Membership, { signal }: AbortController): Promise<void> {
    for (let said: string | null = null; !signal.aborted; ) {
      try {
        const tls = configuration.peers.identity()
        return await defined(service).run({ how: 'run', name, peerUrl, token, members: [], tls })
      } catch (error) {
        const problem = describe(error)
        if (problem !== said) log.error('general', `cannot run the local etcd: ${problem}`)
        said = problem
        if (error instanceof CofferError && error.code === 'conflict') return
      }
      await wait(RUN_AGAIN_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  const runAgain = (): void => {
    const held = membership()
    if (watch === null || held?.stage !== 'member') return
    attempts.abort()
    attempts = new AbortController()
    void runDetached(() => run(held, attempts))
  }

  function end(): void {
    attempts.abort()
    watch?.stop.abort()
    watch?.client.close()
    watch = null
    configuration.peers.host = null
  }

  function noteRemoved(): void {
    const held = membership()
    if (held === null) return
    end()
    store.records.keep('store that this node was removed', (device) =>
      openMembership(device).put({ ...held, stage: 'removed' }),
    )
    options.leaveFailed(REMOVED)
  }

  configuration.onChange((part) => {
    const isShown = part === 'clusterTls' || (part === 'tls' && !configuration.clusterTls.isOwn)
    if (isShown) runAgain() // the others are shown the new certificate
  })
  service?.onRemoved(() => {
    if (watch !== null) runDetached(noteRemoved)
  })

  return {
    service,
    get membership() {
      return membership()
    },
    get client() {
      if (watch === null) throw new CofferError('unavailable', 'This node is in no cluster')
      return watch.client
    },
    get lostMs() {
      return watch?.contact.lostMs ?? 0
    },
    get spaceProblem() {
      return watch?.upkeep.problem ?? null
    },
    begin() {
      const held = membership()
      if (service === null || watch !== null || held?.stage !== 'member') return
      configuration.peers.host = hostOf(held.peerUrl)
      const stop = new AbortController()
      const client = connectToEtcd(service.socket)
      const upkeep = createUpkeep({
        ...{ etcd: client, nowMs, freeBytes },
        onProblem: (what) => log.error('cluster', what),
        onDone: (what) => log.info('cluster', what),
      })
      watch = { contact: new Heartbeat(nowMs), client, upkeep, stop }
      const { contact } = watch
      void runDetached(() => look(contact, client, stop.signal))
      void runDetached(() => upkeep.run(stop.signal))
      runAgain()
    },
    noteUrl(members) {
      const held = membership()
      const peerUrl = members.find(({ id }) => held !== null && sameId(id, held.memberId))?.urls[0]
      if (held === null || peerUrl === undefined || peerUrl === held.peerUrl) return
      store.records.keep('store the peer URL of this node', (device) =>
        openMembership(device).put({ ...held, peerUrl }),
      )
      configuration.peers.host = hostOf(peerUrl)
    },
    end,
    noteRemoved,
    async exclusively(change) {
      if (isChanging) throw new CofferError('busy', 'The cluster is being changed, try again')
      isChanging = true
      try {
        return await change()
      } finally {
        isChanging = false
      }
    },
    close: end,
  }
}

/** As certificates name it, without brackets. */
export const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '')

/** Both in hex. */
export const sameId = (a: string, b: string): boolean => BigInt(`0x${a}`) === BigInt(`0x${b}`)

const openMembershipOf = (device: Parameters<typeof openMembership>[0]) => openMembership(device).read()
