/** etcd as a test's process: members that meet over Unix sockets in a directory of their own, so that no port is taken. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { connectToEtcd, type Etcd, WRITES_MAX } from '../../firmware/cluster/etcd/etcd.ts'
import { createPartition, type Partition } from './partition.ts'
import { pauseProcess } from './proc.ts'

/** Killed with the program that runs the tests. */
const left = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of left) child.kill('SIGKILL')
})

const DEADLINE_MS = 60_000 // the machine may be busy

export interface EtcdMember {
  readonly name: string
  readonly peerUrl: string
  readonly dataDirectory: string
  readonly socket: string
  connect(): Etcd
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
  /** SIGSTOP, until it stands still; and on with it. */
  pause(): Promise<void>
  resume(): void
  start(): void
  /** Resolves when it has a leader. */
  ready(): Promise<void>
}

export interface EtcdCluster {
  readonly members: readonly EtcdMember[]
  join(name: string): EtcdMember
  peerUrlOf(name: string): string
}

export const startEtcd = (t: TestContext, ...names: string[]): Promise<EtcdCluster> => startMembers(t, names, null)

export const startSmallEtcd = (t: TestContext, quotaBytes: number, ...names: string[]): Promise<EtcdCluster> =>
  startMembers(t, names, null, [`--quota-backend-bytes=${quotaBytes}`])

export async function startEtcdApart(
  t: TestContext,
  ...names: string[]
): Promise<EtcdCluster & { partition: Partition }> {
  const partition = createPartition()
  t.after(() => partition.close())
  const cluster = await startMembers(t, names, partition)
  for (const { id, name } of await cluster.members[0]!.connect().members()) partition.identify(name, id)
  return { ...cluster, partition }
}

async function startMembers(
  t: TestContext,
  names: string[],
  partition: Partition | null,
  parameters: readonly string[] = [],
): Promise<EtcdCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-etcd-'))
  const members: EtcdMember[] = []
  t.after(async () => {
    await Promise.all(members.map((member) => member.kill()))
    rmSync(directory, { recursive: true, force: true })
  })
  // Of 3.4 and newer: a name with a port, which becomes a file in its working directory.
  const peerUrlOf = (name: string): string => `unix://${name}.peer:0`
  const make = (name: string, all: readonly string[], state: 'new' | 'existing'): EtcdMember => {
    const place = (what: string) => ({ path: join(directory, `${name}.${what}:0`) })
    partition?.forward(name, place('peer'), place('own'))
    const listensAt = partition === null ? 'peer' : 'own'
    const member = createMember(t, directory, name, listensAt, [
      ...['--initial-cluster', all.map((name) => `${name}=${peerUrlOf(name)}`).join(',')],
      ...['--initial-cluster-state', state],
      ...parameters,
    ])
    members.push(member)
    member.start()
    return member
  }
  for (const name of names) make(name, names, 'new')
  await Promise.all(members.map((member) => member.ready()))
  return {
    members,
    peerUrlOf,
    join: (name) => make(name, [...members.map(({ name }) => name), name], 'existing'),
  }
}

function createMember(
  t: TestContext,
  directory: string,
  name: string,
  listensAt: 'peer' | 'own',
  more: readonly string[],
): EtcdMember {
  const dataDirectory = join(directory, name)
  const urlOf = (what: string): string => `unix://${name}.${what}:0`
  const socket = join(directory, `${name}.client:0`)
  let child: ChildProcess | null = null

  const connect = (): Etcd => {
    const etcd = connectToEtcd(socket)
    t.after(() => etcd.close())
    return etcd
  }

  return {
    name,
    peerUrl: urlOf('peer'),
    dataDirectory,
    socket,
    connect,
    start() {
      for (const what of ['client', listensAt]) rmSync(join(directory, `${name}.${what}:0`), { force: true }) // as a killed one left it
      const parameters = [
        ...['--name', name, '--data-dir', dataDirectory],
        ...['--listen-client-urls', urlOf('client'), '--advertise-client-urls', urlOf('client')],
        ...['--listen-peer-urls', urlOf(listensAt), '--initial-advertise-peer-urls', urlOf('peer')],
        ...['--max-txn-ops', String(WRITES_MAX), '--logger', 'zap', '--log-outputs', 'stderr'],
        ...more,
      ]
      child = spawn('etcd', parameters, { cwd: directory, stdio: 'ignore' })
      left.add(child)
    },
    async kill() {
      if (child === null || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      left.delete(child)
    },
    pause: () => pauseProcess(child!.pid!),
    resume: () => void child!.kill('SIGCONT'),
    async ready() {
      const etcd = connect()
      const deadline = Date.now() + DEADLINE_MS
      for (;;) {
        const leader = await etcd.status(1000).then(
          (status) => status.leader,
          () => '0',
        )
        if (leader !== '0') break
        if (Date.now() > deadline) throw new Error(`etcd ${name} has no leader`)
        await wait(20)
      }
      etcd.close()
    },
  }
}
