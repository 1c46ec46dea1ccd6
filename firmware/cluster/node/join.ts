/**
 * A node joins a cluster: its etcd first, then, in one transaction, its records go, the key slot of the cluster comes, and it is a
 * member. Until that transaction it is as it was, and a join that was cut goes on where the same kit is given again.
 */

import { setTimeout as wait } from 'node:timers/promises'
import type { ChatBackups } from '../../backup/chat.ts'
import { removeWaiting } from '../../backup/nethsm/pending-import.ts'
import { defined } from '../../base/defined.ts'
import { CofferError, wrongState } from '../../base/error.ts'
import { INSIDE, type QueuePriority } from '../../base/fair-queue.ts'
import { assertAuthorized, runDetached } from '../../base/request-authorization.ts'
import { wipe } from '../../base/secret.ts'
import type { Configuration } from '../../configuration/configuration.ts'
import type { CryptoPool, ScryptCost } from '../../crypto/types.ts'
import type { DeviceStore } from '../../device/device-store.ts'
import { ATTENDED, BESIDE_ATTENDED, CLUSTER_POSITION, UNATTENDED } from '../../store/device-area.ts'
import { HEADS, type StoreFile } from '../../store/store.ts'
import { EtcdError } from '../etcd/error.ts'
import { connectToEtcd, type Etcd } from '../etcd/etcd.ts'
import type { EtcdService } from '../etcd/service.ts'
import { type JoinerKit, readKit } from '../membership/kit.ts'
import { type Membership, openMembership } from '../membership/record.ts'
import { HEAD_KEY } from '../replica/keyspace.ts'
import { digestOf, expectService, type MembersOptions } from './members.ts'
import { type ClusterNode, hostOf } from './node.ts'

/** The longest silence: a cluster that has more than this node keeps sending. */
const SILENCE_MS_MAX = 10_000
const LOOK_MS = 100
/** As etcd takes them in its arguments. */
const NAME = /^[A-Za-z0-9._-]{1,64}$/

interface JoinRequest {
  /** All members; that which joins has the empty name. */
  members: readonly { name: string; urls: readonly string[] }[]
  joinerKit: string
  backupPassphrase: Uint8Array
}

export interface JoiningOptions {
  store: DeviceStore
  configuration: Configuration
  pool: CryptoPool
  /** The cost of deriving the backup key. */
  cost: ScryptCost
  collections: readonly string[]
  deviceId: string
  chat: () => ChatBackups | null
  /** The records that are open; throws `unavailable` unless Operational. */
  session: MembersOptions['session']
  runQueued: <T>(place: QueuePriority, task: () => Promise<T>) => Promise<T>
  /** As after a start. */
  startAgain: () => Promise<void>
  /** For tests. */
  silenceMsMax?: number
}

/** Ends Locked. Throws `invalid`, `conflict`, `unavailable`, `busy`; then nothing has changed. */
export type Join = (request: JoinRequest) => Promise<void>

export function createJoining(node: ClusterNode, options: JoiningOptions): Join {
  const { store, configuration, deviceId } = options

  async function openKit({ joinerKit, backupPassphrase }: JoinRequest): Promise<JoinerKit> {
    const sealed = readKit(joinerKit)
    const key = await options.runQueued(INSIDE, () => options.pool.scrypt(backupPassphrase, sealed.salt, options.cost))
    try {
      return sealed.open(key)
    } finally {
      wipe(key)
    }
  }

  const note = (membership: Membership): void => {
    const { store: file, device } = store.expect()
    file.transaction(() => openMembership(device).put(membership))
  }

  /** A directory of another join is of no use; of the same one it must be kept. */
  async function begin(service: EtcdService, own: Membership, members: JoinRequest['members']): Promise<void> {
    const former = openMembership(store.expect().device).read()
    const isSame = former?.memberId === own.memberId && former.clusterId === own.clusterId
    const goesOn = isSame && (await service.hasData())
    const { name, peerUrl, token } = own
    const tls = configuration.peers.identity()
    if (goesOn) return service.run({ how: 'run', name, peerUrl, token, members: [], tls })
    await service.erase()
    note(own)
    await service.run({ how: 'join', name, peerUrl, token, members, tls })
  }

  return (request) =>
    node.exclusively(async () => {
      const service = expectService(node)
      const session = options.session()
      if (node.membership !== null) throw new CofferError('conflict', 'This node is in a cluster already')
      const peerUrl = defined(joinerOf(request).urls[0])
      configuration.peers.assertFit(hostOf(peerUrl))
      const kit = await openKit(request)
      const { token, clusterId, memberId, generation, head } = kit
      const least = { generation, head }
      const own: Membership = { stage: 'joining', name: deviceId, peerUrl, token, clusterId, memberId, least }
      assertAuthorized()
      let isWrong = false
      try {
        await refusing(() => begin(service, own, namedFor(request, deviceId)))
        await follow(service.socket, kit, options.silenceMsMax ?? SILENCE_MS_MAX)
        if (options.session() !== session) throw wrongState() // locked meanwhile
        configuration.peers.assertFit(hostOf(peerUrl)) // another certificate may have come
        replaceRecords({ ...own, stage: 'member' }, kit)
      } catch (error) {
        isWrong = error instanceof WrongCluster
        throw error
      } finally {
        if (node.membership === null) await runDetached(() => (isWrong ? service.erase() : service.stop()))
      }
      node.begin()
      await runDetached(options.startAgain)
      options.chat()?.settled(true)
    })

  /** Makes this node a member. */
  function replaceRecords(membership: Membership, { slot }: JoinerKit): void {
    const { store: file, device } = store.expect()
    const claim = file.lockStore()
    try {
      claim.transaction((rows) => {
        for (const table of [...options.collections, HEADS]) rows.clear(table)
        device.put(ATTENDED, new Uint8Array(Buffer.from(slot, 'base64')))
        for (const name of [BESIDE_ATTENDED, UNATTENDED, CLUSTER_POSITION]) device.remove(name)
        removeWaiting(device)
        options.chat()?.replace(device, null, false)
        openMembership(device).put(membership)
      })
    } finally {
      claim.release()
    }
    clearLog(file)
  }
}

/** Nothing of what was replaced stays behind. */
const clearLog = (file: StoreFile): void => file.checkpoint()

/** Not the cluster that the kit is of, or one that is older. */
class WrongCluster extends CofferError {
  constructor(message: string) {
    super('invalid', message)
  }
}

/** Ends when its etcd has what the cluster had when the kit was made. */
async function follow(socket: string, kit: JoinerKit, silenceMsMax: number): Promise<void> {
  const etcd = connectToEtcd(socket)
  try {
    let applied = -1
    let sinceMs = performance.now()
    while (performance.now() - sinceMs < silenceMsMax) {
      const progress = await look(etcd, kit)
      if (progress === 'there') return
      if (progress > applied) {
        applied = progress
        sinceMs = performance.now()
      }
      await wait(LOOK_MS)
    }
    if (applied < 0) throw new CofferError('busy', 'The etcd of this node does not answer, try again')
    throw new CofferError('invalid', 'The records that the joiner kit is of do not come: the cluster is older than it')
  } finally {
    etcd.close()
  }
}

/** How far it is; -1 while it does not answer. */
async function look(etcd: Etcd, kit: JoinerKit): Promise<number | 'there'> {
  try {
    const { clusterId, memberId, entry } = await etcd.get(HEAD_KEY, { isLocal: true })
    if (clusterId !== kit.clusterId || memberId !== kit.memberId)
      throw new WrongCluster('The joiner kit is of another cluster, or of another member')
    if (entry !== null && entry.revision === kit.revision && digestOf(entry.value) !== kit.digest)
      throw new WrongCluster('The records of the cluster are not those that the joiner kit is of')
    if (entry !== null && entry.revision >= kit.revision) return 'there'
    return (await etcd.status()).raftAppliedIndex
  } catch (error) {
    if (error instanceof EtcdError) return -1
    throw error
  }
}

function joinerOf({ members }: JoinRequest): { urls: readonly string[] } {
  const wrong = members.find(({ name }) => name !== '' && !NAME.test(name))
  if (wrong !== undefined) throw new CofferError('invalid', 'members: a name that no member has')
  return defined(members.find(({ name }) => name === ''))
}

/** As etcd wants to know them: that which joins under the name that it will have. */
const namedFor = ({ members }: JoinRequest, name: string): JoinRequest['members'] =>
  members.map((member) => (member.name === '' ? { ...member, name } : member))

/** Why an etcd does not join it says on its own; nothing of it says that this node is broken. */
async function refusing(begin: () => Promise<void>): Promise<void> {
  try {
    await begin()
  } catch (error) {
    if (error instanceof CofferError && error.code === 'busy')
      throw new CofferError('invalid', `The cluster could not be joined: ${error.message}`, error)
    throw error
  }
}
