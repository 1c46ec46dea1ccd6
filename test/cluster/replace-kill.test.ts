// @test long 30 slow
/**
 * Restore, backup and the deletion of a namespace in a cluster whose node that does them is killed: all nodes have what was there before,
 * or all have what was to come. Contract sections 3.6 and 8.3.
 */

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { form } from '../backup/rig.ts'
import { ADMIN, expect } from '../support/appliance.ts'
import type { Call, Reply } from '../support/client.ts'
import { type ClusterNode, startCluster, until } from '../support/cluster.ts'
import { fileNeeds } from '../support/tools.ts'
import { sameRecords } from './records.ts'

await fileNeeds('etcd', 'openssl')

const [RESTORES, DELETIONS, BACKUPS] = process.env.COFFER_SLOW ? [40, 20, 20] : [3, 3, 1]
const KEYS = 150 // of the namespace: more than go at once
const AT_ONCE = 6
const [EARLIER, LATER] = [0.8, 1.3]
const TEAM = '/namespaces/team'
const SAVER = 'saver:words of the saver'
const CHIEF = 'team~chief:words of the chief'

type State = 'with the namespace' | 'without it'

interface Stage {
  nodes: readonly ClusterNode[]
  records: Record<State, string>
  backups: Record<State, Call>
}

const settled = (nodes: readonly ClusterNode[]): Promise<string> => sameRecords(nodes, { withCounts: false })

async function setStage(nodes: readonly ClusterNode[]): Promise<Stage> {
  const [first] = nodes as [ClusterNode]
  const user = (as: string, realName: string, role: string) => {
    const [id, passphrase] = as.split(':')
    return expect(201, first.call('PUT', `/users/${id}`, { as: ADMIN, json: { realName, role, passphrase } }))
  }
  await user(SAVER, 'Saver', 'Backup')
  await user(CHIEF, 'Chief', 'Administrator')
  await expect(204, first.call('PUT', TEAM, { as: ADMIN }))
  const left = Array.from({ length: KEYS }, (_, n) => `key${n}`).values() // which they share
  const make = async (): Promise<void> => {
    for (const id of left) {
      const json = { id, type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
      await expect(201, first.call('POST', '/keys/generate', { as: CHIEF, json }))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, make))
  const full = { records: await settled(nodes), backup: await backupOf(first) }
  await expect(204, first.call('DELETE', TEAM, { as: ADMIN }))
  const without = { records: await restGone(nodes), backup: await backupOf(first) }
  assert.notEqual(full.records, without.records)
  return {
    nodes,
    records: { 'with the namespace': full.records, 'without it': without.records },
    backups: { 'with the namespace': full.backup, 'without it': without.backup },
  }
}

/** Deleted records go in pieces, of which nobody sees anything but that the name is not free yet. */
async function restGone(nodes: readonly ClusterNode[]): Promise<string> {
  const [first] = nodes as [ClusterNode]
  await until('free name', async () => (await first.call('PUT', TEAM, { as: ADMIN })).status === 204)
  await expect(204, first.call('DELETE', TEAM, { as: ADMIN }))
  return settled(nodes)
}

const backupOf = async (node: ClusterNode): Promise<Call> => restoring(await expect(200, askBackup(node)))

async function restoring({ bytes }: Reply): Promise<Call> {
  const sent = new Response(form({}, new Uint8Array(bytes)))
  return { as: ADMIN, body: new Uint8Array(await sent.arrayBuffer()), type: sent.headers.get('content-type')! }
}

const askBackup = (node: ClusterNode): Promise<Reply> =>
  node.call('POST', '/system/backup?format=coffer', { as: SAVER })

const restore = ({ nodes, records, backups }: Stage, state: State): Promise<void> =>
  restoreAt(nodes[0]!, backups[state], nodes, records[state])

/** As soon as the cluster answers, which has just lost one of its nodes, perhaps its leader. */
async function restoreAt(
  node: ClusterNode,
  backup: Call,
  nodes: readonly ClusterNode[],
  records: string,
): Promise<void> {
  await until('restored', async () => {
    const { status } = await node.call('POST', '/system/restore', backup)
    assert.ok(status === 204 || status === 503, `it has answered ${status}`)
    return status === 204
  })
  assert.equal(await settled(nodes), records)
}

const isOpen = (node: ClusterNode): Promise<boolean> =>
  node.call('GET', '/health/ready').then(
    ({ status }) => status === 200,
    () => false,
  )

async function killAmid({ nodes }: Stage, node: ClusterNode, call: Promise<Reply>, afterMs: number) {
  const answer = call.catch(() => null)
  await wait(afterMs)
  await node.kill()
  const reply = await answer
  node.start()
  await until('open node', () => isOpen(node))
  await settled(nodes)
  return reply
}

async function lastsMs(call: () => Promise<Reply>): Promise<number> {
  const beganMs = performance.now()
  await call()
  return performance.now() - beganMs
}

/** Steps of a node from one state to another, killed again and again, on one node after the other. */
async function killOften(
  t: TestContext,
  stage: Stage,
  kills: number,
  [from, to]: readonly [State, State],
  act: (node: ClusterNode) => Promise<Reply>,
): Promise<void> {
  const { nodes, records } = stage
  await restore(stage, from)
  let windowMs = await lastsMs(() => act(nodes[0]!)) // follows the load of the machine, so that both outcomes are met
  const seen = { before: 0, after: 0 }
  for (let n = 0; n < kills; n++) {
    await restore(stage, from)
    const node = nodes[n % nodes.length]!
    const reply = await killAmid(stage, node, act(node), Math.random() * windowMs)
    const found = await settled(nodes)
    const isSame = found === records[from]
    if (!isSame && found !== records[to]) {
      assert.equal(to, 'without it', 'a mixture') // only what was deleted has a rest
      assert.equal(await restGone(nodes), records[to])
    }
    assert.ok(reply === null || reply.status >= 500 || !isSame, `it has answered ${reply?.status}`)
    seen[isSame ? 'before' : 'after']++
    windowMs *= isSame ? LATER : EARLIER
  }
  t.diagnostic(JSON.stringify(seen))
}

test('a node killed while it restores, deletes or backs up has done all of it or nothing, on all nodes', async (t) => {
  const { nodes } = await startCluster(t)
  const stage = await setStage(nodes)
  const { backups } = stage

  await t.test(`${RESTORES} restores`, (t) =>
    killOften(t, stage, RESTORES!, ['without it', 'with the namespace'], (node) =>
      node.call('POST', '/system/restore', backups['with the namespace']),
    ),
  )
  await t.test(`${DELETIONS} deletions of a namespace`, (t) =>
    killOften(t, stage, DELETIONS!, ['with the namespace', 'without it'], (node) =>
      node.call('DELETE', TEAM, { as: ADMIN }),
    ),
  )
  await t.test(`${BACKUPS} backups: what came whole is whole, and nothing has changed`, async () => {
    await restore(stage, 'with the namespace')
    const windowMs = await lastsMs(() => askBackup(nodes[0]!))
    for (let n = 0; n < BACKUPS!; n++) {
      const node = nodes[n % nodes.length]!
      const reply = await killAmid(stage, node, askBackup(node), Math.random() * windowMs * LATER)
      assert.equal(await settled(nodes), stage.records['with the namespace'])
      if (reply === null) continue
      await restoreAt(node, await restoring(reply), nodes, stage.records['with the namespace'])
    }
  })
})
