/** Nodes that share their records through etcd: the store and the replica of each, and what somebody hears who follows its keys. */

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { CofferError, wrongState } from '../../../firmware/base/error.ts'
import type { Etcd } from '../../../firmware/cluster/etcd/etcd.ts'
import { loadRecords } from '../../../firmware/cluster/replica/load.ts'
import { openPosition, type PositionRow } from '../../../firmware/cluster/replica/position.ts'
import { type Replica, startReplica } from '../../../firmware/cluster/replica/replica.ts'
import type { ReplicaTimeouts } from '../../../firmware/cluster/replica/timeouts.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { type DeviceArea, openDeviceArea } from '../../../firmware/store/device-area.ts'
import { databaseOf } from '../../../firmware/store/sqlite/file.ts'
import type { StoreFile } from '../../../firmware/store/store.ts'
import type { Vault } from '../../../firmware/store/vault.ts'
import { commit, createStoreRig, DEVICE_KEY, type StoreRig, text, utf8 } from '../../store/rig.ts'
import type { EtcdCluster, EtcdMember } from '../../support/etcd.ts'

const DEADLINE_MS = 60_000 // the machine may be busy

export interface Node {
  readonly name: string
  readonly member: EtcdMember
  readonly etcd: Etcd
  readonly rig: StoreRig
  store: StoreFile
  vault: Vault
  device: DeviceArea
  position: PositionRow
  replica: Replica
  /** By name: what follows the collection has heard of its keys. */
  heard: Map<string, string>
  refusals: string[]
  troubles: string[]
  laterMs: number
  timeouts?: ReplicaTimeouts
}

/** The value begins with its name. */
export const put = (node: Node, name: string, value: string | null): Promise<void> =>
  commit(node.vault, [{ collection: 'keys', name, value: value === null ? null : utf8(`${name}=${value}`) }])

export const get = ({ vault }: Node, name: string): string | null =>
  text(vault.get('keys', name))?.slice(name.length + 1) ?? null

export const increment = (node: Node, name: string): Promise<number> =>
  node.vault.change(() => {
    const next = Number(node.heard.get(name) ?? 0) + 1
    return { changes: [{ collection: 'keys', name, value: utf8(`${name}=${next}`) }], result: next }
  })

export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS
  while (!(await isSo())) {
    assert.ok(Date.now() < deadline, what)
    await wait(5)
  }
}

export const contentOf = ({ store }: Node): string =>
  ['keys', 'users', 'privateKeys', 'counts']
    .flatMap((table) =>
      databaseOf(store).prepare(`SELECT slot, hex(sealed) AS sealed FROM "${table}" ORDER BY slot`).all(),
    )
    .map((row) => JSON.stringify(row))
    .join('\n')

/** The first node has been alone before; without `before`, all of them find the records of others. */
export async function openNodes(
  t: TestContext,
  { members }: EtcdCluster,
  before: ((node: Node) => Promise<void>) | null,
): Promise<Node[]> {
  const nodes = members.map((member) => makeNode(t, member.name, member.connect(), { member }))
  for (const node of nodes) openStores(node)
  if (before !== null) {
    await before(nodes[0]!)
    await load(nodes[0]!)
  }
  for (const node of nodes) start(node)
  await Promise.all(nodes.map(({ replica }) => replica.caughtUp()))
  return nodes
}

export function makeNode(t: TestContext, name: string, etcd: Etcd, more: Partial<Node> = {}): Node {
  const node = {
    name,
    etcd,
    rig: createStoreRig(t),
    refusals: [] as string[],
    troubles: [] as string[],
    laterMs: 0,
    ...more,
  } as Node
  t.after(() => node.replica?.close())
  return node
}

export function openStores(node: Node): void {
  node.store = node.rig.open()
  node.vault = node.rig.vault(node.store)
  node.device = openDeviceArea(node.store, DEVICE_KEY, systemRandom, () => {})
  node.position = openPosition(node.device)
  const heard = new Map<string, string>()
  node.heard = heard
  node.vault.follow('keys', (before, after) => {
    if (before !== null) {
      const [name, value] = text(before.value)!.split('=')
      assert.equal(heard.get(name!), value, 'what goes is what came')
      heard.delete(name!)
    }
    if (after !== null) {
      const [name, value] = text(after.value)!.split('=')
      assert.equal(heard.has(name!), false)
      heard.set(name!, value!)
    }
  })
}

export async function load(node: Node): Promise<void> {
  const { etcd, name: member, position, vault } = node
  await loadRecords({
    ...{ etcd, member, position, random: systemRandom },
    copy: vault.replicate(() => Promise.reject(wrongState())),
    domainKey: vault.domainKey,
    generation: vault.generation,
  })
}

export function start(node: Node): void {
  node.replica = startReplica({
    etcd: node.etcd,
    domainKey: node.vault.domainKey,
    replicate: node.vault.replicate,
    member: node.name,
    random: systemRandom,
    nowMs: () => performance.now() + node.laterMs,
    position: node.position,
    ...(node.timeouts && { timeouts: node.timeouts }),
    onRefusal: ({ message }) => node.refusals.push(message),
    onTrouble: (what) => node.troubles.push(what),
  })
}

export async function restart(node: Node): Promise<void> {
  stop(node)
  openStores(node)
  start(node)
  await node.replica.caughtUp()
}

export function stop(node: Node): void {
  node.replica.close()
  node.vault.close()
  node.device.close()
  node.store.close()
}

export const failsWith = (code: CofferError['code'], message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CofferError, String(error))
  assert.equal(error.code, code)
  assert.match(error.message, message)
  return true
}

export async function expectEqual(nodes: readonly Node[]): Promise<void> {
  await until('all nodes have adopted the same', () => new Set(nodes.map(({ replica }) => replica.n)).size === 1)
  const [first, ...others] = nodes.map(contentOf)
  for (const other of others) assert.equal(other, first)
  for (const { heard, vault } of nodes) {
    const there = [...vault.list('keys')].map((value) => text(value)!)
    assert.deepEqual([...heard].map(([name, value]) => `${name}=${value}`).sort(), there.sort())
  }
}
