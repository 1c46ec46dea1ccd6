// @test long 100 slow
/**
 * A node joins over TLS, and at each step of that it, or the member that lets it in, is killed, or they do not hear each other: it is as it
 * was, and goes on with the same kit, or it has joined. Contract section 3.6.
 */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import test, { type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, expect, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import type { Reply } from '../support/client.ts'
import { type ClusterNode, promote, register, startNodes, until } from '../support/cluster.ts'
import type { Partition } from '../support/partition.ts'
import { fileNeeds } from '../support/tools.ts'
import { cutOff } from './faults.ts'
import { sameRecords } from './records.ts'

await fileNeeds('etcd', 'openssl')

const ROUNDS = process.env.COFFER_SLOW ? 3 : 0 // in each, everything at each step; else one thing at each
const LATER_MS_MAX = 60 // than the step was seen
const CUT_MS_MAX = 15_000 // longer than a joiner waits for anything to come
const OF_THE_MEMBER = 'of-the-member'
const OF_THE_JOINER = 'of-the-joiner'

interface Pair {
  member: ClusterNode
  joiner: ClusterNode
  partition: Partition
}

const restarted = async (node: ClusterNode): Promise<void> => {
  await node.kill()
  node.start()
}

const strikes: Record<string, (pair: Pair) => Promise<void>> = {
  'the joiner is killed': ({ joiner }) => restarted(joiner),
  'the member is killed': ({ member }) => restarted(member),
  async 'they do not hear each other'({ joiner, member, partition }) {
    cutOff({ node: joiner, others: [member], partition })
    await wait(Math.random() * CUT_MS_MAX)
    partition.heal()
  },
}

const seenOf: Record<string, (joiner: ClusterNode) => unknown> = {
  'its kit is opened': () => true,
  'its etcd starts': (joiner) => joiner.etcdPid() !== null,
  'its etcd answers': (joiner) => joiner.etcdStatus(),
  'its records go': async (joiner) => (await stateOf(joiner)) === 'Locked',
}
const STEPS = ['it is registered', ...Object.keys(seenOf), 'it is promoted', 'its records come']

const gone = (): null => null
const stateOf = async (node: ClusterNode): Promise<string | undefined> =>
  (await node.call('GET', '/health/state').catch(gone))?.json<{ state: string }>().state
const isOpen = async (node: ClusterNode): Promise<boolean> => (await stateOf(node)) === 'Operational'

const tryToUnlock = (node: ClusterNode): Promise<Reply | null> =>
  node.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }).catch(gone)

const open = (node: ClusterNode): Promise<boolean> =>
  until('open node', async () => (await isOpen(node)) || (await tryToUnlock(node))?.status === 204)

async function keysOf(node: ClusterNode): Promise<string[]> {
  const reply = await expect(200, node.call('GET', '/keys', { as: ADMIN }))
  return reply.json<{ id: string }[]>().map(({ id }) => id)
}

async function makeKey(node: ClusterNode, id: string): Promise<void> {
  const json = { id, type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  await expect(201, node.call('POST', '/keys/generate', { as: ADMIN, json }))
}

async function keep(t: TestContext, node: ClusterNode): Promise<() => Promise<void>> {
  const { dataDirectory } = node
  const copy = `${dataDirectory}.kept`
  const replace = (to: string, from: string) => {
    rmSync(to, { recursive: true, force: true })
    assert.equal(spawnSync('cp', ['--archive', from, to]).status, 0)
  }
  t.after(() => rmSync(copy, { recursive: true, force: true }))
  assert.equal(await node.stop(), 0)
  replace(copy, dataDirectory)
  node.start()
  return async () => {
    await node.kill()
    replace(dataDirectory, copy)
    node.start()
    await until('open node', () => isOpen(node))
  }
}

/** True once it has joined, whether it has the records yet or not; false where it is alone with all it had. */
async function hasJoined(joiner: ClusterNode): Promise<boolean> {
  const { keys } = await until('open joiner, or one that waits for records', async () => {
    if (await isOpen(joiner)) return { keys: await keysOf(joiner) }
    return (await tryToUnlock(joiner))?.status === 503 ? { keys: [OF_THE_MEMBER] } : null
  })
  if (keys[0] === OF_THE_MEMBER) return true
  assert.deepEqual(keys, [OF_THE_JOINER])
  const members = await expect(200, joiner.call('GET', '/cluster/members', { as: ADMIN }))
  assert.equal(members.json().length, 1)
  await makeKey(joiner, 'passing')
  await expect(204, joiner.call('DELETE', '/keys/passing', { as: ADMIN }))
  return false
}

/** The first answer may be lost: then the member is registered anew, as an administrator would. */
async function registerAmid({ member, joiner }: Pair, strike: () => Promise<void>) {
  const json = { urls: [joiner.peerUrl] }
  const answer = member.call('POST', '/cluster/members', { as: ADMIN, json, timeoutMs: 30_000 }).catch(gone)
  await wait(Math.random() * 1500) // as long as it takes to begin a cluster
  await strike()
  await answer
  for (const node of [member, joiner]) await until('open node', () => isOpen(node))
  assert.deepEqual(await keysOf(member), [OF_THE_MEMBER])
  await until('place for the joiner', async () => {
    const listed = await member.call('GET', '/cluster/members', { as: ADMIN })
    if (listed.status !== 200) return false
    const left = listed.json<{ id: string; name: string }[]>().find(({ name }) => name === '')
    if (left === undefined) return true
    await member.call('DELETE', `/cluster/members/${left.id}`, { as: ADMIN })
    return false
  })
}

async function joinAmid(joiner: ClusterNode, json: object, step: string, strike: () => Promise<void>): Promise<void> {
  let isAnswered = false
  const join = (): Promise<Reply | null> => joiner.call('POST', '/cluster/join', { as: ADMIN, json }).catch(gone)
  const answer = join().finally(() => {
    isAnswered = true
  })
  while (!isAnswered && !(await seenOf[step]!(joiner))) await wait(2)
  await wait(Math.random() * LATER_MS_MAX)
  await strike()
  const status = (await answer)?.status
  const isJoined = await hasJoined(joiner)
  assert.ok(isJoined || status !== 204, 'it was told that it has joined')
  if (isJoined) return
  await until('join with the same kit', async () => {
    const reply = await join()
    assert.ok(reply !== null && [204, 400, 503].includes(reply.status), reply?.text())
    return reply.status === 204
  })
}

async function joinWhile(pair: Pair, step: string, strike: () => Promise<void>): Promise<void> {
  const { member, joiner } = pair
  if (step === 'it is registered') await registerAmid(pair, strike)
  const { id, json } = await register(member, joiner)
  if (seenOf[step] !== undefined) await joinAmid(joiner, json, step, strike)
  else await expect(204, joiner.call('POST', '/cluster/join', { as: ADMIN, json }))

  const isPromoting = step === 'it is promoted'
  await Promise.all([promote(member, id), isPromoting && wait(Math.random() * 6000).then(strike)])
  const isOpening = step === 'its records come'
  await Promise.all([open(joiner), isOpening && wait(Math.random() * 500).then(strike)])
  for (const node of [member, joiner]) await open(node)
}

test('at whichever step of a join it is killed or cut off, a node is as it was or has joined', async (t) => {
  const { nodes, partition } = await startNodes(t, { count: 2, isApart: true })
  const [member, joiner] = nodes as [ClusterNode, ClusterNode]
  const pair = { member, joiner, partition }
  await makeKey(member, OF_THE_MEMBER)
  await makeKey(joiner, OF_THE_JOINER)
  const putBack = [await keep(t, member), await keep(t, joiner)]

  const kinds = Object.entries(strikes)
  const first = Math.floor(Math.random() * kinds.length)
  const once = STEPS.map((step, at) => ({ step, kind: kinds[(first + at) % kinds.length]! }))
  const all = STEPS.flatMap((step) => kinds.map((kind) => ({ step, kind })))
  for (const { step, kind } of ROUNDS === 0 ? once : Array.from({ length: ROUNDS }, () => all).flat()) {
    const [name, strike] = kind
    await t.test(`while ${step}, ${name}`, async () => {
      await Promise.all(putBack.map((put) => put()))
      await joinWhile(pair, step, () => strike(pair))
      for (const node of nodes) assert.deepEqual(await keysOf(node), [OF_THE_MEMBER])
      await sameRecords(nodes)
    })
  }
})
