/** Faults of whole appliances: processes are killed and stopped, and their messages are lost or late. */

import { setTimeout as wait } from 'node:timers/promises'
import type { ClusterNode } from '../support/cluster.ts'
import type { Partition } from '../support/partition.ts'

interface Struck {
  node: ClusterNode
  others: readonly ClusterNode[]
  forMs: number
  partition: Partition
}

type Fault = (struck: Struck) => Promise<void> | void

const LATE_MS = 300 // three heartbeats of etcd, and less than an election takes

export function signal(pid: number | null, name: NodeJS.Signals): void {
  try {
    if (pid !== null) process.kill(pid, name)
  } catch {} // it has just ended
}

async function stopped(pids: (number | null)[], forMs: number): Promise<void> {
  for (const pid of pids) signal(pid, 'SIGSTOP')
  await wait(forMs)
  for (const pid of pids) signal(pid, 'SIGCONT')
}

async function parted(struck: Struck, part: (struck: Struck) => void): Promise<void> {
  part(struck)
  await wait(struck.forMs)
  struck.partition.heal()
}

type Cut = Pick<Struck, 'node' | 'others' | 'partition'>

function mute({ node, others, partition }: Cut): void {
  for (const other of others) partition.drop(node.name, other.name)
}

function deafen({ node, others, partition }: Cut): void {
  for (const other of others) partition.drop(other.name, node.name)
}

export function cutOff(cut: Cut): void {
  mute(cut)
  deafen(cut)
}

function slowDown({ node, others, partition }: Cut): void {
  for (const other of others) partition.delay(other.name, node.name, LATE_MS)
}

export const faults: Record<string, Fault> = {
  'its etcd is killed': ({ node }) => signal(node.etcdPid(), 'SIGKILL'),
  'its firmware is killed': ({ node }) => signal(node.firmwarePid(), 'SIGKILL'),
  'both are killed'({ node }) {
    signal(node.etcdPid(), 'SIGKILL')
    signal(node.firmwarePid(), 'SIGKILL')
  },
  async 'all of it is killed'({ node, forMs }) {
    await node.kill()
    await wait(forMs / 5)
    node.start()
  },
  async 'it is stopped in order'({ node, forMs }) {
    await node.stop()
    await wait(forMs / 5)
    node.start()
  },
  'its etcd stands still': ({ node, forMs }) => stopped([node.etcdPid()], forMs),
  'its firmware stands still': ({ node, forMs }) => stopped([node.firmwarePid()], forMs),
  'both stand still': ({ node, forMs }) => stopped([node.etcdPid(), node.firmwarePid()], forMs),
  'nobody hears it': (struck) => parted(struck, mute),
  'it hears nobody': (struck) => parted(struck, deafen),
  'it is cut off': (struck) => parted(struck, cutOff),
  'it and one other do not hear each other': ({ others, ...struck }) =>
    parted({ ...struck, others: others.slice(0, 1) }, cutOff),
  'what it hears is late': (struck) => parted(struck, slowDown),
  'what it says is late': (struck) =>
    parted(struck, ({ node, others, partition }) => {
      for (const other of others) slowDown({ node: other, others: [node], partition })
    }),
}
