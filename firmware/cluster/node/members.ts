/** The members of the cluster that this node is in, and how they become more and fewer. Contract section 3.6. */

import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { readBackupKey } from '../../backup/backup-key.ts'
import { defined } from '../../base/defined.ts'
import { CofferError, describe, UnknownOutcome } from '../../base/error.ts'
import type { Log } from '../../base/log.ts'
import { assertAuthorized, runDetached } from '../../base/request-authorization.ts'
import { wipe } from '../../base/secret.ts'
import type { Network } from '../../channel/protocol.ts'
import type { Configuration } from '../../configuration/configuration.ts'
import type { Random } from '../../crypto/random.ts'
import type { DeviceStore } from '../../device/device-store.ts'
import { ATTENDED, type DeviceArea } from '../../store/device-area.ts'
import { storedHead } from '../../store/head.ts'
import type { Vault } from '../../store/vault.ts'
import { EtcdError } from '../etcd/error.ts'
import { connectToEtcd, type Etcd, type Member } from '../etcd/etcd.ts'
import type { EtcdService } from '../etcd/service.ts'
import { type JoinerKit, sealKit } from '../membership/kit.ts'
import { type Membership, openMembership } from '../membership/record.ts'
import { createHeadSealer } from '../replica/head.ts'
import { HEAD_KEY } from '../replica/keyspace.ts'
import { type ClusterNode, hostOf, sameId } from './node.ts'

export const PEER_PORT = 2380 // contract section 3.6
export const MEMBERS_MAX = 7 // more make every change slower, and no failure more can be borne
const MEMBER_ID_BYTES = 8
const TOKEN_BYTES = 16
const ANSWER_MS_MAX = 5000
const GIVEN_UP_MS = 10_000 // since they answered last: an address that was wrong must be mended without them
/** etcd changes no members until each was reached for five seconds: one that was promoted only just is waited for. */
const HEALTHY_MS_MAX = 15_000
const HEALTHY_RETRY_MS = 250

export interface MembersOptions {
  store: DeviceStore
  configuration: Configuration
  random: Random
  log: Log
  deviceId: string
  /** Throws `unavailable` unless Operational. */
  session(): { vault: Vault; device: DeviceArea }
  /** The records of this node, alone until now, become those of a cluster: appliance.ts. */
  found(etcd: Etcd, withinTransaction: (device: DeviceArea) => void): Promise<void>
}

export interface Members {
  /** As they were at the last `refresh`; of a node that is alone, itself. */
  readonly list: readonly Member[]
  /** Asks for them. Throws `busy` where its etcd does not answer. */
  refresh(): Promise<void>
  /** Throws `notFound`. */
  expect(id: string): Member
  /**
   * Registers one more. A node that is alone makes a cluster first. Throws `unavailable` without a backup passphrase or a certificate of
   * the cluster's authority, `conflict` while another one is joining.
   */
  add(urls: readonly string[]): Promise<{ members: readonly Member[]; joinerKit: string }>
  setUrls(id: string, urls: readonly string[]): Promise<void>
  remove(id: string): Promise<void>
  /** Throws `unavailable` until it has caught up. */
  promote(id: string): Promise<void>
  /**
   * Sets the network of this node. Before it gets another address the others are told where they find it, unless they do not answer.
   * Throws `unavailable` where its certificate is not for that address, or another member has it; then nothing has changed.
   */
  moveTo(network: Network): Promise<void>
}

export function createMembers(node: ClusterNode, options: MembersOptions): Members {
  const { configuration, random, log, deviceId } = options
  let known: readonly Member[] = []

  const ownUrl = (): string => urlAt(configuration.network.ipAddress)

  const alone = (): Member => ({ id: idOfAlone(deviceId), name: deviceId, urls: [ownUrl()], isLearner: false })

  const listed = (): readonly Member[] => (node.membership === null ? [alone()] : known)

  async function refresh(): Promise<void> {
    if (node.membership === null) return
    known = await read(() => node.client.members())
    node.noteUrl(known)
  }

  const expect = (id: string): Member => {
    const member = listed().find((one) => sameId(one.id, id))
    if (member === undefined) throw new CofferError('notFound', 'No such member')
    return member
  }

  /** For calls that only etcd can answer. */
  const expectCluster = (): Membership => {
    expectService(node)
    const { membership } = node
    if (membership === null) throw new CofferError('invalid', 'This node is alone: there is no cluster to change')
    return membership
  }

  /** Seconds have passed, in which it could be given another certificate, or address. */
  function expectStillAt(peerUrl: string): void {
    if (ownUrl() !== peerUrl) throw new CofferError('busy', 'This node has got another address meanwhile, try again')
    configuration.peers.assertFit(hostOf(peerUrl))
  }

  /** The records go into a fresh etcd. Cut short it has changed nothing: what is left of that etcd is erased before the next. */
  async function found(service: EtcdService): Promise<void> {
    const peerUrl = ownUrl()
    configuration.peers.assertFit(hostOf(peerUrl))
    const token = hexOf(random(TOKEN_BYTES))
    await service.erase()
    const tls = configuration.peers.identity()
    const members = [{ name: deviceId, urls: [peerUrl] }]
    await service.run({ how: 'create', name: deviceId, peerUrl, members, token, tls })
    const etcd = connectToEtcd(service.socket)
    try {
      const { clusterId, memberId } = await etcd.get(HEAD_KEY)
      const own = { name: deviceId, peerUrl, token, clusterId, memberId, least: null }
      await options.found(etcd, (device) => {
        expectStillAt(peerUrl)
        openMembership(device).put({ stage: 'member', ...own })
      })
    } finally {
      if (node.membership === null) {
        etcd.close()
        await runDetached(() => service.erase())
      } else node.begin()
    }
    log.info('general', 'this node is the first member of a cluster')
  }

  async function add(urls: readonly string[]): Promise<{ members: readonly Member[]; joinerKit: string }> {
    const service = expectService(node)
    const backupKey = readBackupKey(options.session().vault)
    if (backupKey === null) throw new CofferError('unavailable', 'No backup passphrase is set')
    try {
      if (node.membership === null) await found(service)
      await refresh()
      expectRoom(known, urls)
      const kit = await prepareKit()
      const { member, members } = await changing(
        () => node.client.addLearner(urls),
        'A member of that URL has just gone',
      )
      known = members
      return { members, joinerKit: sealKit({ ...kit, memberId: member.id }, backupKey, random) }
    } finally {
      wipe(backupKey.key)
    }
  }

  async function prepareKit(): Promise<Omit<JoinerKit, 'memberId'>> {
    const { token, clusterId } = defined(node.membership)
    const { entry } = await read(() => node.client.get(HEAD_KEY, { timeoutMs: ANSWER_MS_MAX }))
    if (entry === null) throw new CofferError('storage', 'The cluster has lost its records')
    const { vault, device } = options.session()
    const heads = createHeadSealer(vault.domainKey, random)
    try {
      const { generation, head } = heads.open(entry.value)
      const slot = Buffer.from(defined(device.get(ATTENDED))).toString('base64')
      const { revision, value } = entry
      return { slot, token, clusterId, generation, head: storedHead(head), revision, digest: digestOf(value) }
    } finally {
      heads.close()
    }
  }

  async function remove(id: string): Promise<void> {
    const { memberId } = expectCluster()
    const own = sameId(memberId, id)
    if (own && known.length === 1) throw new CofferError('invalid', 'It is the only member of its cluster')
    await changing(() => node.client.removeMember(id))
    if (own) runDetached(node.noteRemoved)
  }

  async function moveTo(network: Network): Promise<void> {
    const { membership } = node
    const { ipAddress } = network
    const peerUrl = urlAt(ipAddress)
    if (membership === null || (ipAddress === configuration.network.ipAddress && peerUrl === membership.peerUrl))
      return configuration.setNetwork(network)
    configuration.peers.assertFit(ipAddress)
    assertAuthorized()
    const isTold = await tell(membership.memberId, peerUrl)
    try {
      configuration.peers.assertFit(ipAddress)
      options.store.records.write((device) => openMembership(device).put({ ...membership, peerUrl }))
      configuration.peers.host = ipAddress
      configuration.setNetwork(network)
    } catch (error) {
      await runDetached(() => stay(membership, isTold)) // locked meanwhile, or no longer allowed
      throw error
    }
  }

  /** False where the others do not answer any more. */
  async function tell(memberId: string, peerUrl: string): Promise<boolean> {
    try {
      await node.client.updateMember(memberId, [peerUrl])
      return true
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      if (error.code !== 'unavailable' || node.lostMs < GIVEN_UP_MS) throw refusalOf(error)
      log.warning('general', 'cannot tell the other members the new address of this node: set it on one of them')
      return false
    }
  }

  /** The others find it where it was. */
  async function stay({ memberId, peerUrl }: Membership, isTold: boolean): Promise<void> {
    try {
      if (isTold) await node.client.updateMember(memberId, [peerUrl])
    } catch (error) {
      log.error('general', `cannot restore the address of this node at the other members: ${describe(error)}`)
    }
    node.noteUrl([{ id: memberId, urls: [peerUrl] }])
  }

  return {
    get list() {
      return listed()
    },
    refresh,
    expect,
    add: (urls) => node.exclusively(() => add(urls)),
    async setUrls(id, urls) {
      const { memberId } = expectCluster()
      if (sameId(memberId, id)) for (const url of urls) configuration.peers.assertFit(hostOf(url))
      await changing(() => node.client.updateMember(id, urls))
      await refresh()
    },
    remove: (id) => node.exclusively(() => remove(id)),
    async promote(id) {
      expectCluster()
      await changing(() => node.client.promote(id))
    },
    moveTo: (network) => node.exclusively(() => moveTo(network)),
  }
}

const urlAt = (ipAddress: string): string => `https://${ipAddress}:${PEER_PORT}`

/** Throws `invalid` where there is no etcd. */
export function expectService({ service }: ClusterNode): EtcdService {
  if (service === null) throw new CofferError('invalid', 'Clustering is not available: this appliance has no etcd')
  return service
}

export const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Stable like the device id it is made from. */
const idOfAlone = (deviceId: string): string =>
  createHash('sha256')
    .update(`cluster member ${deviceId}`)
    .digest('hex')
    .slice(0, 2 * MEMBER_ID_BYTES)

function expectRoom(members: readonly Member[], urls: readonly string[]): void {
  if (members.some(({ isLearner }) => isLearner))
    throw new CofferError('conflict', 'Another member is joining: a learner')
  if (members.some(({ name }) => name === '')) throw new CofferError('conflict', 'Another member has not joined yet')
  if (members.some((member) => member.urls.some((url) => urls.includes(url))))
    throw new CofferError('conflict', 'A member has that URL already')
  if (members.length >= MEMBERS_MAX) throw new CofferError('conflict', `A cluster has at most ${MEMBERS_MAX} members`)
}

async function read<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof EtcdError)) throw error
    if (error.code === 'learner')
      throw new CofferError('unavailable', 'This node has no vote yet: ask one that has', error)
    throw new CofferError('busy', 'The etcd of this node does not answer, try again', error)
  }
}

/** A change that etcd refuses was not made. */
async function changing<T>(change: () => Promise<T>, ifGone?: string): Promise<T> {
  const endMs = performance.now() + HEALTHY_MS_MAX
  for (;;) {
    assertAuthorized()
    try {
      return await change()
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      if (error.code !== 'unhealthy' || performance.now() > endMs) throw refusalOf(error, ifGone)
      await wait(HEALTHY_RETRY_MS)
    }
  }
}

/** `ifGone`: etcd makes the id of a new member of its URLs and the second, and takes none again. */
function refusalOf(error: EtcdError, ifGone?: string): CofferError {
  const { code, message } = error
  if (code === 'notFound' && ifGone !== undefined) return new CofferError('busy', `${ifGone}, try again`, error)
  if (code === 'notFound') return new CofferError('notFound', 'No such member', error)
  if (code === 'unhealthy')
    return new CofferError('unavailable', 'Not every member has been reached for five seconds: see that all run', error)
  if (code === 'precondition') return new CofferError('unavailable', message, error)
  if (code === 'unavailable') return new UnknownOutcome(error)
  return new CofferError('invalid', message, error)
}
