/** Appliances in this process, each with an etcd of its own, that meet over TLS at addresses of this machine. */

import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { AppOptions } from '../../../firmware/app.ts'
import type { EtcdService } from '../../../firmware/cluster/etcd/service.ts'
import { connectAsMember } from '../../../firmware/cluster/membership/record.ts'
import type { ClusterLink } from '../../../firmware/cluster/node/link.ts'
import { expect } from '../../support/appliance.ts'
import type { Reply } from '../../support/client.ts'
import type { ClusterCa } from '../../support/cluster-ca.ts'
import { createTestEtcd, makeCommonDirectory, type TestEtcd } from '../../support/etcd-service.ts'
import { makeRig, newDirectory, provision, type Rig, UNLOCK } from '../../support/in-process.ts'

export { expect } from '../../support/appliance.ts'

export const BACKUP = 'what opens backups'
const PEM = { 'content-type': 'application/x-pem-file' }
const DEADLINE_MS = 60_000 // the machine may be busy

export interface TestNode {
  readonly etcd: TestEtcd
  readonly address: string
  readonly url: string
  readonly unlockPassphrase: string
  readonly deviceKey: Uint8Array<ArrayBuffer>
  rig: Rig
  /** Another appliance over the same device key. */
  openRig(dataDirectory: string, service?: EtcdService): Promise<Rig>
  /** How far its clock is ahead that tells since when the others do not answer. */
  laterMs: number
}

export interface NodeOptions {
  more?: Partial<AppOptions>
  link?: Partial<ClusterLink>
  unlockPassphrase?: string
  service?: (service: EtcdService) => EtcdService
  ca?: ClusterCa | null
}

export const NO_ETCD: EtcdService = {
  available: true,
  socket: '/nowhere',
  run: async () => {},
  stop: async () => {},
  erase: async () => {},
  hasData: async () => false,
  onRemoved: () => {},
  warnings: () => [],
  state: { running: false },
}

/** Port 2380 is fixed; the whole of 127.0.0.0/8 is this machine's. */
export const freeAddress = (): string => `127.${randomInt(1, 255)}.${randomInt(0, 256)}.${randomInt(2, 255)}`

let nodes = 0

/** Operational and alone, with a certificate for members of a cluster, and a backup passphrase. */
export async function openNode(t: TestContext, ca: ClusterCa, options: NodeOptions = {}): Promise<TestNode> {
  const { unlockPassphrase = UNLOCK } = options
  const address = freeAddress()
  const etcd = createTestEtcd(t, { name: 'n', common: makeCommonDirectory(t) })
  const deviceKey = new Uint8Array(32).fill(++nodes)
  const node: TestNode = {
    ...{ etcd, address, unlockPassphrase, deviceKey, url: `https://${address}:2380`, laterMs: 0 },
    rig: undefined as unknown as Rig,
    openRig: (dataDirectory, service = options.service?.(etcd.service) ?? etcd.service) =>
      makeRig(deviceKey, options.more, {
        dataDirectory,
        etcd: service,
        cluster: { ...options.link, connect: (device) => connectAsMember(device, service.socket) },
        nowMs: () => performance.now() + node.laterMs,
      }),
  }
  node.rig = await node.openRig(newDirectory())
  t.after(() => node.rig.close())
  await provision(node.rig, unlockPassphrase)
  await expect(204, node.rig.call('PUT', '/config/network', { as: 'admin', json: networkOf(address) }))
  await expect(204, node.rig.call('PUT', '/config/backup-passphrase', { as: 'admin', json: { passphrase: BACKUP } }))
  if (options.ca !== null) await certify(node, options.ca ?? ca)
  return node
}

export const networkOf = (ipAddress: string) => ({ ipAddress, netmask: '255.0.0.0', gateway: '0.0.0.0' })

export async function certify(node: TestNode, ca: ClusterCa, ...more: string[]): Promise<void> {
  const { rig, address } = node
  await putCertificate(node, ca, address, '127.0.0.1', ...more) // connections within this machine come from there
  await expect(201, rig.call('PUT', '/config/tls/cluster-ca.pem', { as: 'admin', body: ca.certificate, headers: PEM }))
}

export async function putCertificate({ rig }: TestNode, ca: ClusterCa, ...hosts: string[]): Promise<void> {
  const { text } = await rig.call('POST', '/config/tls/csr.pem', { as: 'admin', json: { commonName: 'node' } })
  const body = ca.sign(text(), ...hosts)
  await expect(201, rig.call('PUT', '/config/tls/cert.pem', { as: 'admin', body, headers: PEM }))
}

export async function register(node: TestNode, other: TestNode) {
  let answer: Reply | undefined
  await until('it is registered', async () => {
    answer = await node.rig.call('POST', '/cluster/members', { as: 'admin', json: { urls: [other.url] } })
    assert.ok(answer.status === 201 || answer.status === 503, answer.text())
    return answer.status === 201
  })
  return answer!.json() as {
    members: { id: string; name: string; urls: string[]; learner: boolean }[]
    joinerKit: string
  }
}

export async function join(node: TestNode, other: TestNode): Promise<void> {
  const input = await register(node, other)
  await expect(
    204,
    other.rig.call('POST', '/cluster/join', { as: 'admin', json: { ...input, backupPassphrase: BACKUP } }),
  )
  const { id } = input.members.find(({ name }) => name === '')!
  await promote(node, id)
  await unlock(other, node.unlockPassphrase)
}

/** etcd refuses changes of members for five seconds after they connect. */
export async function promote({ rig }: TestNode, id: string): Promise<void> {
  await until('the learner is promoted', async () => {
    const { status, text } = await rig.call('POST', `/cluster/members/${id}/promote`, { as: 'admin' })
    assert.ok(status === 204 || status === 412 || status === 503, text())
    return status === 204
  })
}

export async function unlock({ rig }: Pick<TestNode, 'rig'>, passphrase: string): Promise<void> {
  await until('it is unlocked', async () => {
    const { status, text } = await rig.call('POST', '/unlock', { json: { passphrase } })
    assert.ok(status === 204 || status === 503, text())
    return status === 204
  })
}

export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS
  while (!(await isSo())) {
    assert.ok(Date.now() < deadline, what)
    await wait(50)
  }
}

export const forceNew = ({ rig }: TestNode, passphrase: string, user = 'unlock'): Promise<Reply> =>
  rig.call('POST', '/cluster/force-new', { as: `${user}:${passphrase}` })

export const membersAt = async ({ rig }: TestNode) =>
  (await expect(200, rig.call('GET', '/cluster/members', { as: 'admin' }))).json() as {
    id: string
    name: string
    urls: string[]
    learner: boolean
  }[]

export const keysAt = async ({ rig }: Pick<TestNode, 'rig'>): Promise<string[]> =>
  (await expect(200, rig.call('GET', '/keys', { as: 'admin' })))
    .json()
    .map(({ id }: { id: string }) => id)
    .sort()

/** The process ends, and another begins with what lies on the disk; its etcd has gone on. */
export async function restart(node: TestNode): Promise<void> {
  const { dataDirectory, pool, appliance } = node.rig
  await pool.close()
  await appliance.close()
  node.rig = await node.openRig(dataDirectory)
}
