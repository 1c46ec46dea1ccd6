// @test long 80 slow
/**
 * Nothing that was answered is lost, whatever dies: clients on every node write and read registers and insert records, while etcds
 * are killed, stopped and kept from each other, and nodes end and begin again. COFFER_FAULTS: how many; COFFER_SEED: those of a run that failed.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { CofferError } from '../../../firmware/base/error.ts'
import { startEtcdApart } from '../../support/etcd.ts'
import type { Partition } from '../../support/partition.ts'
import { fileNeeds } from '../../support/tools.ts'
import { isLinearizable, type Operation } from '../history.ts'
import { createDice } from './model.ts'
import { expectEqual, get, type Node, openNodes, openStores, put, start, stop, until } from './rig.ts'

await fileNeeds('etcd')

const FAULTS = Number(process.env.COFFER_FAULTS ?? (process.env.COFFER_SLOW ? 200 : 20))
const SEED = Number(process.env.COFFER_SEED ?? Math.trunc(Math.random() * 2 ** 31))
const CLIENTS = 4 // on each node
const REGISTERS = 8
const PAUSE_MS_MAX = 5000

interface Seen {
  /** By register. */
  histories: Map<string, Operation[]>
  inserted: Set<string>
  perhaps: Set<string>
}

const isUnknown = (error: unknown): boolean => error instanceof CofferError && /not known/.test(error.message)

async function client(node: Node, number: number, seen: Seen, isOver: () => boolean): Promise<void> {
  const dice = createDice(SEED + number)
  for (let n = 0; !isOver(); n++) {
    const register = `register${dice(REGISTERS)}`
    const history = seen.histories.get(register)!
    const value = `${number}.${n}`
    try {
      const kind = dice(10)
      if (kind < 4) await writeRegister(node, register, value, history)
      else if (kind < 8) await readRegister(node, register, history)
      else await insert(node, value, seen)
    } catch (error) {
      assert.ok(error instanceof CofferError, String(error))
      await wait(20)
    }
    await wait(dice(30))
  }
}

async function writeRegister(node: Node, register: string, value: string, history: Operation[]): Promise<void> {
  const operation: Operation = { kind: 'write', value, calledMs: performance.now(), answeredMs: null }
  try {
    await put(node, register, value)
    operation.answeredMs = performance.now()
    history.push(operation)
  } catch (error) {
    if (isUnknown(error)) history.push(operation)
    throw error
  }
}

/** Where the others did not answer it may be old. */
async function readRegister(node: Node, register: string, history: Operation[]): Promise<void> {
  const calledMs = performance.now()
  if (!(await node.replica.barrier())) return
  const value = get(node, register)
  history.push({ kind: 'read', value, calledMs, answeredMs: performance.now() })
}

async function insert(node: Node, name: string, seen: Seen): Promise<void> {
  try {
    await put(node, name, 'x')
    seen.inserted.add(name)
  } catch (error) {
    if (isUnknown(error)) seen.perhaps.add(name)
    throw error
  }
  assert.equal(get(node, name), 'x', 'who was answered reads it at once')
}

async function leaderOf(nodes: readonly Node[]): Promise<number> {
  for (const { etcd } of nodes) {
    const status = await etcd.status(500).catch(() => null)
    if (status === null || status.leader === '0') continue
    const statuses = await Promise.all(nodes.map(({ etcd }) => etcd.status(500).catch(() => null)))
    return Math.max(
      0,
      statuses.findIndex((other) => other?.memberId === status.leader),
    )
  }
  return 0
}

type Fault = (nodes: readonly Node[], forMs: number, partition: Partition) => Promise<void>

const faults: Record<string, Fault> = {
  'its etcd is killed': async ([node], forMs) => {
    await node!.member.kill()
    await wait(forMs / 5)
    node!.member.start()
  },
  'its etcd is stopped': async ([node], forMs) => {
    await node!.member.pause()
    await wait(forMs)
    node!.member.resume()
  },
  'it ends and begins again': async ([node], forMs) => {
    stop(node!)
    await wait(forMs / 5)
    openStores(node!)
    start(node!)
  },
  'both end': async ([node], forMs) => {
    await node!.member.kill()
    stop(node!)
    await wait(forMs / 5)
    node!.member.start()
    openStores(node!)
    start(node!)
  },
  'two etcds are killed': async ([node, other], forMs) => {
    await Promise.all([node!.member.kill(), other!.member.kill()])
    await wait(forMs / 5)
    node!.member.start()
    other!.member.start()
  },
  'two etcds are stopped': async ([node, other], forMs) => {
    await node!.member.pause()
    await other!.member.pause()
    await wait(forMs)
    node!.member.resume()
    other!.member.resume()
  },
  'nobody hears it': async ([node, other, third], forMs, partition) => {
    for (const deaf of [other!, third!]) partition.drop(node!.name, deaf.name)
    await wait(forMs)
    partition.heal()
  },
  'it hears nobody': async ([node, other, third], forMs, partition) => {
    for (const mute of [other!, third!]) partition.drop(mute.name, node!.name)
    await wait(forMs)
    partition.heal()
  },
  'it is cut off': async ([node, other, third], forMs, partition) => {
    for (const far of [other!, third!]) {
      partition.drop(node!.name, far.name)
      partition.drop(far.name, node!.name)
    }
    await wait(forMs)
    partition.heal()
  },
  'it and another do not hear each other': async ([node, other], forMs, partition) => {
    partition.drop(node!.name, other!.name)
    partition.drop(other!.name, node!.name)
    await wait(forMs)
    partition.heal()
  },
}

test(`${FAULTS} random faults cost nothing that was answered`, async (t) => {
  t.diagnostic(`COFFER_SEED=${SEED}`)
  const dice = createDice(SEED)
  const cluster = await startEtcdApart(t, 'a', 'b', 'c')
  const nodes = await openNodes(t, cluster, async () => {})
  const registers = Array.from({ length: REGISTERS }, (_, n) => `register${n}`)
  const seen: Seen = {
    histories: new Map(registers.map((name) => [name, []])),
    inserted: new Set(),
    perhaps: new Set(),
  }
  let isOver = false
  const clients = nodes.flatMap((node, at) =>
    Array.from({ length: CLIENTS }, (_, n) => client(node, 1 + at * CLIENTS + n, seen, () => isOver)),
  )
  const failure = Promise.all(clients).then(() => null)

  const kinds = Object.entries(faults)
  for (let n = 0; n < FAULTS; n++) {
    const [name, fault] = kinds[dice(kinds.length)]!
    const leader = await leaderOf(nodes)
    const first = dice(2) === 0 ? leader : (leader + 1) % nodes.length
    const second = (first + 1 + dice(2)) % nodes.length
    const hit = [first, second, nodes.length - first - second].map((at) => nodes[at]!)
    t.diagnostic(`${hit[0]!.name}${first === leader ? ', the leader' : ''}: ${name}`)
    await Promise.race([fault(hit, dice(PAUSE_MS_MAX), cluster.partition), failure])
    await wait(dice(1000))
  }
  await until('all follow', () => nodes.every(({ replica }) => replica.state === 'following'))
  isOver = true
  await failure
  for (const { replica } of nodes) await until('all have the newest', () => replica.barrier())
  await expectEqual(nodes)

  for (const [register, history] of seen.histories)
    assert.ok(isLinearizable(history, null), `${register}: ${JSON.stringify(history)}`)
  for (const name of seen.inserted) assert.equal(get(nodes[0]!, name), 'x', `${name} was answered`)
  for (const name of nodes[0]!.heard.keys())
    assert.ok(registers.includes(name) || seen.inserted.has(name) || seen.perhaps.has(name), `${name}: nobody asked`)
  assert.deepEqual(
    nodes.flatMap(({ refusals, troubles }) => [...refusals, ...troubles]),
    [],
  )
  const operations = [...seen.histories.values()].flat()
  t.diagnostic(`${operations.length} operations, ${seen.inserted.size} insertions, ${seen.perhaps.size} unknown`)
  assert.ok(operations.length > 100 && seen.inserted.size > 20)
})
