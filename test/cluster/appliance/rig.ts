/** Whole appliances that share their records: each in this process, over its own store and its own etcd. */

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { ClusterLink } from '../../../firmware/cluster/node/link.ts'
import { REPLICA_TIMEOUTS, type ReplicaTimeouts } from '../../../firmware/cluster/replica/timeouts.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { ATTENDED, openDeviceArea } from '../../../firmware/store/device-area.ts'
import { openStore } from '../../../firmware/store/sqlite/file.ts'
import type { EtcdCluster, EtcdMember } from '../../support/etcd.ts'
import { makeRig, newDirectory, provision, type Rig, UNLOCK } from '../../support/in-process.ts'
import { until } from '../replica/rig.ts'

export const BRISK: ReplicaTimeouts = {
  ...REPLICA_TIMEOUTS,
  heartbeatMs: 100,
  retryMs: 50,
  retryMsMax: 200,
  openingMsMax: 1000,
}

export interface Node {
  readonly name: string
  readonly member: EtcdMember
  readonly number: number
  rig: Rig
  isMember: boolean
  reopen(meanwhile: () => void): Promise<void>
}

interface NodesOptions {
  before?: (rig: Rig) => Promise<void>
  link?: Partial<ClusterLink>
}

/** All Operational; the first has been alone before. */
export async function openNodes(
  t: TestContext,
  { members }: EtcdCluster,
  { before = async () => {}, link = {} }: NodesOptions = {},
): Promise<Node[]> {
  const first = await openFirst(t, members[0]!, link)
  await before(first.rig)
  await found(first)
  const nodes = [first]
  for (const member of members.slice(1)) {
    const node = await joinNode(t, nodes, member, link)
    await unlock(node)
    nodes.push(node)
  }
  return nodes
}

export async function openFirst(t: TestContext, member: EtcdMember, link: Partial<ClusterLink> = {}): Promise<Node> {
  const first = await openNode(t, member, 1, link, newDirectory())
  await provision(first.rig)
  await first.rig.user('operator', 'Operator')
  return first
}

/** Locked, as one that has joined: nothing in its store but what opens the domain key. */
export async function joinNode(
  t: TestContext,
  nodes: readonly Node[],
  member: EtcdMember,
  link: Partial<ClusterLink> = {},
): Promise<Node> {
  const slot = nodes[0]!.rig.appliance.deviceRecords.read('the slot', (device) => device.get(ATTENDED))!
  const dataDirectory = newDirectory()
  const number = nodes.length + 1
  const deviceKey = keyOf(number)
  const store = openStore({ dataDirectory, deviceKey })
  const device = openDeviceArea(store, deviceKey, systemRandom, () => {})
  store.transaction(() => void device.put(ATTENDED, slot))
  device.close()
  store.close()
  const node = await openNode(t, member, number, link, dataDirectory)
  node.isMember = true
  return node
}

export const found = async (node: Node): Promise<void> => {
  await node.rig.appliance.foundCluster(node.member.connect(), () => {
    node.isMember = true
  })
}

async function openNode(
  t: TestContext,
  member: EtcdMember,
  number: number,
  link: Partial<ClusterLink>,
  dataDirectory: string,
): Promise<Node> {
  const cluster = { timeouts: BRISK, ...link, connect: () => (node.isMember ? member.connect() : null) }
  const open = async () => {
    const rig = await makeRig(keyOf(number), {}, { dataDirectory, cluster })
    rig.use('operator', 'passphrase of operator')
    return rig
  }
  const node: Node = {
    ...{ name: member.name, member, number, isMember: false, rig: await open() },
    async reopen(meanwhile) {
      await node.rig.pool.close()
      await node.rig.appliance.close()
      meanwhile()
      node.rig = await open()
    },
  }
  t.after(() => node.rig.close())
  return node
}

export const keyOf = (number: number): Uint8Array<ArrayBuffer> => new Uint8Array(32).fill(number)

export const lock = async ({ rig }: Node): Promise<void> =>
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)

export async function unlock({ rig }: Node): Promise<void> {
  const { status, text } = await rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } })
  assert.equal(status, 204, text())
}

export const sign = ({ rig }: Pick<Node, 'rig'>, id: string, as = 'operator') =>
  rig.call('POST', `/keys/${id}/sign`, { as, json: { mode: 'EdDSA', message: 'AAAA' } })

export async function expectSame(nodes: readonly Node[]): Promise<void> {
  await until(
    'all nodes have adopted the same',
    () => new Set(nodes.map(({ rig }) => rig.appliance.replica?.n)).size === 1,
  )
}
