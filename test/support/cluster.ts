/** Whole appliances of one cluster, each a boot manager, a firmware and an etcd, at addresses of their own on this machine. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from './appliance.ts'
import { buildForTests } from './build.ts'
import { type Call, type Reply, request } from './client.ts'
import { type ClusterCa, createClusterCa } from './cluster-ca.ts'
import { childrenOf, commandLineOf } from './proc.ts'
import { type Coffer, makeDataDirectory, startCoffer } from './process.ts'

export const BACKUP_PASSPHRASE = 'words that open a backup'
const LOOPBACK = '127.0.0.1' // where connections on this machine come from
const PORT = 8443
const PEER_PORT = 2380
const DEADLINE_MS = 120_000 // the machine may be busy

export interface ClusterNode {
  readonly name: string
  readonly address: string
  readonly dataDirectory: string
  /** Throws where nobody answers. */
  call(method: string, path: string, call?: Call): Promise<Reply>
  bootPid(): number
  /** Null while none runs. */
  etcdPid(): number | null
  firmwarePid(): number | null
  /** Everything its processes have printed. */
  output(): string
  /** Its boot manager, after a kill. */
  start(): void
  /** SIGTERM, then the exit code. */
  stop(): Promise<number | null>
  /** SIGKILL to all of it. */
  kill(): Promise<void>
}

export interface Cluster {
  readonly nodes: readonly ClusterNode[]
  readonly ca: ClusterCa
}

export async function until<T>(what: string, probe: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (const deadline = Date.now() + DEADLINE_MS; ; await wait(50)) {
    const value = await probe()
    if (value) return value as NonNullable<T>
    assert.ok(Date.now() < deadline, `no ${what}`)
  }
}

/** 127.x.y.1, .2 and so on, so that clusters of tests that run beside each other do not meet. */
export const randomNetwork = (): string =>
  `127.${1 + Math.floor(Math.random() * 254)}.${Math.floor(Math.random() * 256)}`

/** Joined and Operational; they open by themselves after a start. */
export async function startCluster(t: TestContext, count = 3): Promise<Cluster> {
  const ca = createClusterCa(t)
  const network = randomNetwork()
  const program = await buildForTests()
  const passage = makeDataDirectory(t)
  chmodSync(passage, 0o711)
  const nodes = Array.from({ length: count }, (_, at) =>
    createNode(t, program, `${network}.${at + 1}`, join(passage, String(at + 1))),
  )
  await Promise.all(nodes.map((node) => prepare(node, ca)))
  const [first, ...others] = nodes as [ClusterNode, ...ClusterNode[]]
  const json = { newPassphrase: BACKUP_PASSPHRASE, currentPassphrase: '' }
  await expect(204, first.call('PUT', '/config/backup-passphrase', { as: ADMIN, json }))
  for (const node of others) await bringIn(first, node)
  for (const node of nodes)
    await expect(204, node.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
  return { nodes, ca }
}

async function prepare(node: ClusterNode, ca: ClusterCa): Promise<void> {
  const { address } = node
  await until('answer', () => node.call('GET', '/health/state').catch(() => null))
  await provision(node)
  const network = { ipAddress: address, netmask: '255.0.0.0', gateway: '0.0.0.0' }
  await expect(204, node.call('PUT', '/config/network', { as: ADMIN, json: network }))
  const wanted = await expect(
    200,
    node.call('POST', '/config/tls/csr.pem', { as: ADMIN, json: { commonName: 'node' } }),
  )
  const type = 'application/x-pem-file'
  const certificate = ca.sign(wanted.text(), address, LOOPBACK)
  await expect(201, node.call('PUT', '/config/tls/cert.pem', { as: ADMIN, body: certificate, type }))
  await expect(201, node.call('PUT', '/config/tls/cluster-ca.pem', { as: ADMIN, body: ca.certificate, type }))
}

/** Learner, member, Operational. */
async function bringIn(member: ClusterNode, node: ClusterNode): Promise<void> {
  const url = `https://${node.address}:${PEER_PORT}`
  const added = await until('registration', async () => {
    const reply = await member.call('POST', '/cluster/members', { as: ADMIN, json: { urls: [url] } })
    return reply.status === 503 || reply.status === 412 ? null : expect(201, Promise.resolve(reply))
  })
  const { members, joinerKit } = added.json<{ members: { id: string; urls: string[] }[]; joinerKit: string }>()
  const json = { members, joinerKit, backupPassphrase: BACKUP_PASSPHRASE }
  await expect(204, node.call('POST', '/cluster/join', { as: ADMIN, json }))
  const { id } = members.find(({ urls }) => urls.includes(url))!
  await until('promotion', async () => {
    const { status } = await member.call('POST', `/cluster/members/${id}/promote`, { as: ADMIN })
    return status === 204
  })
  await until('unlock', async () => {
    const { status } = await node.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } })
    return status === 204
  })
}

function createNode(t: TestContext, program: string, address: string, dataDirectory: string): ClusterNode {
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
  const start = () => {
    coffer = startCoffer(t, { program, data: dataDirectory, settings })
  }
  start()
  t.after(() => agent.destroy())
  const etcdPid = () => child((line) => line.startsWith(`${settings.COFFER_ETCD}\0`))
  return {
    name: address,
    address,
    dataDirectory,
    call: (method, path, call) => request({ host: address, port: PORT, agent }, method, `/api/v1${path}`, call),
    bootPid: () => coffer.bootPid(),
    etcdPid,
    firmwarePid: () => child((line) => line.includes('--permission') && line.includes('firmware.js')),
    output: () => printed + coffer.output(),
    start() {
      printed += coffer.output()
      start()
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
