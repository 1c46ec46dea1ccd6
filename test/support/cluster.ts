/** Whole appliances of one cluster, each a boot manager, a firmware and an etcd, at addresses of their own on this machine. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { socketIn } from '../../boot/etcd/runner.ts'
import { connectToEtcd, type Status } from '../../firmware/cluster/etcd/etcd.ts'
import { ADMIN, type Client, expect, provision, UNLOCK_PASSPHRASE } from './appliance.ts'
import { buildForTests } from './build.ts'
import { request } from './client.ts'
import { type ClusterCa, createClusterCa } from './cluster-ca.ts'
import { createPartition, type Partition } from './partition.ts'
import { childrenOf, commandLineOf, makerOf } from './proc.ts'
import { type Coffer, type Ending, makeDataDirectory, startCoffer } from './process.ts'

export const BACKUP_PASSPHRASE = 'words that open a backup'
const LOOPBACK = '127.0.0.1' // where connections on this machine come from
const PORT = 8443
const PEER_PORT = 2380
const FORWARDED = 100 // added to the last number of an address, is where the others find it
const DEADLINE_MS = 300_000 // the machine may be busy, or emulated
const STATUS_MS_MAX = 500
const LONG_MS = 600_000 // with 100,000 keys
/** Where clients before NetHSM 5.1 set certificate and authority, and where those since. */
const OLD_PATHS = { certificate: '/config/tls', authority: '/config/tls/cluster-ca.pem' }
export const NEW_PATHS = { certificate: '/cluster/tls', authority: '/cluster/tls/ca.pem' }

export interface Peer extends Client {
  readonly peerUrl: string
}

export interface ClusterNode extends Peer {
  readonly name: string
  readonly address: string
  readonly dataDirectory: string
  bootPid(): number
  etcdPid(): number | null
  firmwarePid(): number | null
  /** Status of its etcd; null if none answers. */
  etcdStatus(): Promise<Status | null>
  output(): string
  /** Its boot manager, after a kill or a stop; another program than before is what it is updated to. */
  start(program?: string): void
  /** SIGTERM, then the exit code. */
  stop(): Promise<number | null>
  /** SIGKILL to all of it. */
  kill(): Promise<void>
}

export interface Cluster {
  readonly nodes: readonly ClusterNode[]
  readonly ca: ClusterCa
  readonly partition: Partition
}

interface ClusterOptions {
  count?: number
  /** Something stands between the etcds, which can keep them from each other. */
  isApart?: boolean
  /** Addresses of all nodes; default: some of 127.0.0.0/8. */
  addresses?: readonly string[]
  /** Gives a node its certificates; `equip` if left out. */
  equip?: typeof equip
}

export async function until<T>(what: string, probe: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (const deadline = Date.now() + DEADLINE_MS; ; await wait(50)) {
    const value = await probe()
    if (value) return value as NonNullable<T>
    assert.ok(Date.now() < deadline, `no ${what}`)
  }
}

/** 127.x.y.1, .2 and so on, so that clusters of tests that run beside each other do not meet. */
const randomNetwork = (): string => `127.${1 + Math.floor(Math.random() * 254)}.${Math.floor(Math.random() * 256)}`

/** Joined and Operational; they open by themselves after a start. */
export async function startCluster(t: Ending, options: ClusterOptions = {}): Promise<Cluster> {
  const cluster = await startNodes(t, options)
  const [first, ...others] = cluster.nodes as [ClusterNode, ...ClusterNode[]]
  for (const node of others) await bringIn(first, node)
  return cluster
}

/** Each alone, fit for members, and with a backup passphrase; they open by themselves after a start. */
export async function startNodes(t: Ending, options: ClusterOptions): Promise<Cluster> {
  const { count = options.addresses?.length ?? 3, isApart = false } = options
  const ca = createClusterCa(t)
  const program = await buildForTests()
  const passage = makeDataDirectory(t)
  chmodSync(passage, 0o711)
  const nodes: ClusterNode[] = []
  const partition = createPartition((client) => {
    const pids = nodes.map((node) => node.etcdPid())
    const pid = makerOf(
      client,
      pids.filter((pid) => pid !== null),
    )
    return nodes[pids.indexOf(pid ?? -1)]?.name
  })
  t.after(() => partition.close())
  const network = randomNetwork()
  for (let n = 1; n <= count; n++) {
    const address = options.addresses?.[n - 1] ?? `${network}.${n}`
    const found = isApart ? `${network}.${n + FORWARDED}` : address
    nodes.push(createNode(t, { program, address, found, dataDirectory: join(passage, String(n)) }))
    const port = PEER_PORT
    if (isApart) partition.forward(address, { host: found, port }, { host: address, port })
  }
  // Connections to an address of this computer come from that address, but within 127.0.0.0/8.
  const sources = options.addresses ?? [LOOPBACK]
  await Promise.all(nodes.map((node) => prepare(node, () => (options.equip ?? equip)(node, ca, sources))))
  return { nodes, ca, partition }
}

async function prepare(node: ClusterNode, equipNode: () => Promise<void>): Promise<void> {
  await until('answer', () => node.call('GET', '/health/state').catch(() => null))
  await provision(node)
  await equipNode()
}

/**
 * Prepares a node for joining: its address, a certificate for it and for those that its connections come from, a backup
 * passphrase. It starts unattended from then on.
 */
export async function equip(
  node: Peer,
  ca: ClusterCa,
  sources: readonly string[] = [LOOPBACK],
  { certificate, authority } = OLD_PATHS,
): Promise<void> {
  const { hostname: ipAddress } = new URL(node.peerUrl)
  const network = { ipAddress, netmask: '255.0.0.0', gateway: '0.0.0.0' }
  await expect(204, node.call('PUT', '/config/network', { as: ADMIN, json: network }))
  const wanted = await expect(
    200,
    node.call('POST', `${certificate}/csr.pem`, { as: ADMIN, json: { commonName: 'node' } }),
  )
  const type = 'application/x-pem-file'
  const chain = ca.sign(wanted.text(), ipAddress, ...sources)
  await expect(201, node.call('PUT', `${certificate}/cert.pem`, { as: ADMIN, body: chain, type }))
  await expect(201, node.call('PUT', authority, { as: ADMIN, body: ca.certificate, type }))
  const passphrase = { newPassphrase: BACKUP_PASSPHRASE, currentPassphrase: '' }
  await expect(204, node.call('PUT', '/config/backup-passphrase', { as: ADMIN, json: passphrase }))
  await expect(204, node.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
}

export interface Invitation {
  readonly id: string
  readonly json: object
}

/** Learner, member, Operational. */
export async function bringIn(member: Peer, node: Peer): Promise<void> {
  const { id, json } = await register(member, node)
  await until('join', async () => {
    const reply = await node.call('POST', '/cluster/join', { as: ADMIN, json })
    return /does not answer/.test(reply.text()) ? null : expect(204, Promise.resolve(reply)) // it goes on where it was
  })
  await promote(member, id)
  await unlock(node)
  await expect(204, node.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
}

export async function register(member: Peer, { peerUrl }: Peer): Promise<Invitation> {
  const added = await until('registration', async () => {
    const call = { as: ADMIN, json: { urls: [peerUrl] }, timeoutMs: LONG_MS }
    const reply = await member.call('POST', '/cluster/members', call)
    return reply.status === 503 || reply.status === 412 ? null : expect(201, Promise.resolve(reply))
  })
  const { members, joinerKit } = added.json<{ members: { id: string; urls: string[] }[]; joinerKit: string }>()
  const { id } = members.find(({ urls }) => urls.includes(peerUrl))!
  return { id, json: { members, joinerKit, backupPassphrase: BACKUP_PASSPHRASE } }
}

export const promote = (member: Peer, id: string): Promise<boolean> =>
  until('promotion', async () => {
    const reply = await member.call('POST', `/cluster/members/${id}/promote`, { as: ADMIN }).catch(() => null)
    return reply?.status === 204
  })

/** With the passphrase of the node that has registered it. */
export const unlock = (node: Peer): Promise<boolean> =>
  until('unlock', async () => {
    const json = { passphrase: UNLOCK_PASSPHRASE }
    const reply = await node.call('POST', '/unlock', { json, timeoutMs: LONG_MS }).catch(() => null)
    return reply?.status === 204
  })

/** The place of the leader among them; 0 while there is none. */
export async function leaderOf(nodes: readonly ClusterNode[]): Promise<number> {
  const statuses = await Promise.all(nodes.map((node) => node.etcdStatus()))
  const at = statuses.findIndex((status) => status !== null && status.leader === status.memberId)
  return Math.max(0, at)
}

interface NodeOptions {
  program: string
  address: string
  found: string
  dataDirectory: string
}

function createNode(t: Ending, { program, address, found, dataDirectory }: NodeOptions): ClusterNode {
  const settings = { COFFER_HOST: address, COFFER_PORT: String(PORT), COFFER_ETCD: etcdProgram() }
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, rejectUnauthorized: false })
  let coffer: Coffer
  let printed = ''
  const child = (is: (commandLine: string) => boolean): number | null => {
    try {
      return childrenOf(coffer.bootPid()).find((pid) => is(commandLineOf(pid))) ?? null
    } catch {
      return null // the boot manager is gone
    }
  }
  const start = (current = program) => {
    coffer = startCoffer(t, { program: current, data: dataDirectory, settings })
  }
  start()
  t.after(() => agent.destroy())
  const etcdPid = () => child((line) => line.startsWith(`${settings.COFFER_ETCD}\0`))
  return {
    ...{ name: address, address, dataDirectory, peerUrl: `https://${found}:${PEER_PORT}` },
    call: (method, path, call) => request({ host: address, port: PORT, agent }, method, `/api/v1${path}`, call),
    bootPid: () => coffer.bootPid(),
    etcdPid,
    firmwarePid: () => child((line) => line.includes('--permission') && line.includes('firmware.js')),
    async etcdStatus() {
      const etcd = connectToEtcd(socketIn(join(dataDirectory, 'etcd')))
      try {
        return await etcd.status(STATUS_MS_MAX)
      } catch {
        return null
      } finally {
        etcd.close()
      }
    },
    output: () => printed + coffer.output(),
    start(program) {
      printed += coffer.output()
      start(program)
    },
    stop: () => coffer.stop(),
    async kill() {
      const etcd = etcdPid()
      if (etcd !== null) process.kill(etcd, 'SIGCONT')
      await coffer.kill(true)
    },
  }
}

const etcdProgram = (): string => spawnSync('/bin/sh', ['-c', 'command -v etcd'], { encoding: 'utf8' }).stdout.trim()
