/**
 * A cluster of three appliances on this computer, whose nodes fail: how long nobody can write, whether those that are left sign as fast
 * as before, and how long a node takes to join one with many keys. Needs etcd, openssl and wrk.
 *
 * node tools/bench/cluster.ts [--rounds=3] [--seconds=60] [--keys=100000]
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ADMIN, ADMIN_PASSPHRASE, expect, UNLOCK_PASSPHRASE } from '../../test/support/appliance.ts'
import type { Reply } from '../../test/support/client.ts'
import {
  type ClusterNode,
  leaderOf,
  promote,
  register,
  startCluster,
  startNodes,
  unlock,
  until,
} from '../../test/support/cluster.ts'
import type { Ending } from '../../test/support/process.ts'
import { fillKeys } from './fill.ts'
import { isInstalled, KEYS, OPERATOR, othersShare, quantile, type SigningKey, writeResults } from './harness.ts'
import { load, warmUp } from './wrk.ts'

const WISHED = {
  withoutWritesMs: 3000,
  signingShare: 0.95,
  refusedMs: 100,
  undecidedMs: 11_000,
  backMs: 5000,
  joinMs: 60_000,
}
const PORT = 8443
const CONNECTIONS = 16
const CALM_SECONDS = 15 // of signing before the others stand still, and after it
const BEFORE_MS = 2000 // of writing, before the leader ends
const AFTER_MS = 10_000
const PAUSE_MS = 10 // between two writes of a client
const REFUSALS = 200
const LONG_MS = 600_000

const [, P256] = KEYS
const key: SigningKey = P256

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '60' },
    keys: { type: 'string', default: '100000' },
  },
})
const [rounds, seconds, keys] = [values.rounds, values.seconds, values.keys].map(Number) as [number, number, number]

let labels = 0

const missing = ['etcd', 'openssl', 'wrk'].filter((program) => !isInstalled(program))
if (missing.length === 0) await measure()
else console.log(`Left out, since these are not installed: ${missing.join(', ')}`)

async function measure(): Promise<void> {
  const busyBefore = await othersShare()
  const failing = await withEnding(measureFailing)
  const joining = await withEnding(measureJoining)
  const results = { ...failing, ...joining }
  for (const [name, value] of Object.entries(results)) {
    const wished = WISHED[name as keyof typeof WISHED]
    const isMet = wished >= 1 ? value <= wished : value >= wished
    console.log(`${name.padEnd(16)} ${value.toFixed(wished < 1 ? 3 : 0).padStart(8)}   ${isMet ? '' : 'not '}${wished}`)
  }
  writeResults('cluster', { busyBefore, rounds, seconds, keys, wished: WISHED, ...results })
}

async function withEnding<T>(task: (ending: Ending) => Promise<T>): Promise<T> {
  const endings: (() => unknown)[] = []
  const ending = { after: (end: () => unknown) => void endings.push(end) } as Ending
  try {
    return await task(ending)
  } finally {
    for (const end of endings.toReversed()) await end()
  }
}

async function measureFailing(ending: Ending) {
  const { nodes } = await startCluster(ending)
  const [first] = nodes as [ClusterNode]
  const [operator, passphrase] = OPERATOR.split(':')
  const user = { realName: 'Operator', role: 'Operator', passphrase }
  await expect(201, first.call('PUT', `/users/${operator}`, { as: ADMIN, json: user }))
  const { id, type, mechanisms } = key
  await expect(201, first.call('POST', '/keys/generate', { as: ADMIN, json: { id, type, mechanisms } }))
  for (const node of nodes) await until('change', () => isChanged(node))

  const gaps: number[] = []
  for (let round = 0; round < rounds; round++) {
    gaps.push(await withoutWrites(nodes, 'etcd'))
    gaps.push(await withoutWrites(nodes, 'all'))
  }
  console.log(
    `leader killed, its etcd alone and all of it in turn: ${gaps.map(Math.round).join(', ')} ms without writes`,
  )
  return { withoutWritesMs: Math.max(...gaps), ...(await measureQuorum(nodes)) }
}

function write(node: ClusterNode): Promise<Reply> {
  const json = { label: `label ${labels++}` }
  return node.call('PUT', `/keys/${key.id}/label`, { as: ADMIN, json, timeoutMs: LONG_MS })
}

async function isChanged(node: ClusterNode): Promise<boolean> {
  const reply = await write(node).catch(() => null)
  return reply?.status === 204
}

/** The longest time in which one of the nodes, which all have their clients, could change nothing. */
async function withoutWrites(nodes: readonly ClusterNode[], what: 'etcd' | 'all'): Promise<number> {
  const leader = nodes[await leaderOf(nodes)]!
  const watched = what === 'etcd' ? nodes : nodes.filter((node) => node !== leader)
  const endMs = performance.now() + BEFORE_MS + AFTER_MS
  const longest = watched.map(async (node) => {
    let lastMs = performance.now()
    let gapMs = 0
    while (performance.now() < endMs) {
      if (await isChanged(node)) {
        gapMs = Math.max(gapMs, performance.now() - lastMs)
        lastMs = performance.now()
      }
      await wait(PAUSE_MS)
    }
    return Math.max(gapMs, performance.now() - lastMs)
  })
  await wait(BEFORE_MS)
  if (what === 'etcd') process.kill(leader.etcdPid()!, 'SIGKILL')
  else await leader.kill()
  const gapMs = Math.max(...(await Promise.all(longest)))
  if (what === 'all') leader.start()
  for (const node of nodes) await until('change', () => isChanged(node))
  return gapMs
}

/** Both others stand still: their processes are there, and do nothing. */
async function measureQuorum(nodes: readonly ClusterNode[]) {
  const [first, ...others] = nodes as [ClusterNode, ...ClusterNode[]]
  const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
  const target = { host: first.address, port: PORT }
  const rate = async (lasting: number) => (await load(target, key, CONNECTIONS, lasting, directory)).requestsPerSecond
  try {
    await warmUp(target, key, directory)
    const before = await rate(CALM_SECONDS)
    const pids = others.flatMap((node) => [node.etcdPid()!, node.firmwarePid()!])
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    const { undecidedMs, refusedMs } = await refusals(first)
    const alone = await rate(seconds)
    for (const pid of pids) process.kill(pid, 'SIGCONT')
    const beganMs = performance.now()
    await until('change', () => isChanged(first))
    const backMs = performance.now() - beganMs
    const after = await rate(CALM_SECONDS)
    console.log(
      `signatures a second: ${[before, alone, after].map(Math.round).join(', ')}; the second without the others`,
    )
    return { undecidedMs, refusedMs, backMs, signingShare: (2 * alone) / (before + after) }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** How long changes wait: those that came before it was noticed that the others are gone, and after it. */
async function refusals(node: ClusterNode): Promise<{ undecidedMs: number; refusedMs: number }> {
  const undecided: number[] = []
  const refused: number[] = []
  const beganMs = performance.now()
  let isNoticed = false
  const ask = async (): Promise<void> => {
    const askedMs = performance.now()
    const wasNoticed = isNoticed
    const { status } = await write(node)
    if (status !== 503) throw new Error(`A change without a quorum was answered ${status}`)
    const lastedMs = performance.now() - askedMs
    if (wasNoticed) refused.push(lastedMs)
    else undecided.push(lastedMs)
    if (!isNoticed && lastedMs < WISHED.refusedMs)
      console.log(`noticed after ${Math.round(performance.now() - beganMs)} ms that there is no quorum`)
    isNoticed ||= lastedMs < WISHED.refusedMs
  }
  const early: Promise<void>[] = []
  while (!isNoticed) {
    early.push(ask())
    await wait(WISHED.refusedMs)
  }
  await Promise.all(early)
  for (let n = 0; n < REFUSALS; n++) await ask()
  console.log(`refusals: p50 ${quantile(refused, 0.5).toFixed(1)} ms, p99 ${quantile(refused, 0.99).toFixed(1)} ms`)
  return { undecidedMs: Math.max(...undecided), refusedMs: Math.max(...refused) }
}

async function measureJoining(ending: Ending) {
  const { nodes } = await startNodes(ending, { count: 2 })
  const [member, joiner] = nodes as [ClusterNode, ClusterNode]
  await member.stop()
  await fillKeys(member.dataDirectory, keys, { unlock: UNLOCK_PASSPHRASE, admin: ADMIN_PASSPHRASE })
  member.start()
  await until('open member', async () => (await member.call('GET', '/health/ready').catch(() => null))?.status === 200)
  const times: [string, number][] = []
  let lastMs = performance.now()
  const note = (what: string): void => {
    times.push([what, Math.round(performance.now() - lastMs)])
    lastMs = performance.now()
  }
  const { id, json } = await register(member, joiner)
  note('begun')
  await expect(204, joiner.call('POST', '/cluster/join', { as: ADMIN, json, timeoutMs: LONG_MS }))
  note('joined')
  await promote(member, id)
  note('promoted')
  await unlock(joiner)
  note('open')
  const { headers } = await expect(200, member.call('GET', '/keys', { as: ADMIN, timeoutMs: LONG_MS }))
  const other = await expect(200, joiner.call('GET', '/keys', { as: ADMIN, timeoutMs: LONG_MS }))
  if (headers.etag !== other.headers.etag) throw new Error('The nodes have not the same keys')
  console.log(`a node joins one of ${keys} keys, ms: ${times.map(([what, ms]) => `${what} ${ms}`).join(', ')}`)
  return { joinMs: times.slice(1).reduce((sum, [, ms]) => sum + ms, 0) }
}
