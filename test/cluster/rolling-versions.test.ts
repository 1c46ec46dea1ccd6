// @test long 40
/** A cluster of three whose nodes are updated one after the other from a version that knows no versions of keys. Contract section 7.11. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { ADMIN, expect } from '../support/appliance.ts'
import { type Cluster, type ClusterNode, startCluster, until } from '../support/cluster.ts'
import { buildOfCommit, needsCommit } from '../support/earlier-build.ts'
import { fileNeeds } from '../support/tools.ts'

await fileNeeds('etcd', 'openssl')

/** The last one that knows no versions of keys. */
const BEFORE = '3a4a243e'

const OPERATOR = 'signer:words of an operator'

/** With another program it is an update. The node unlocks by itself. */
async function restart(node: ClusterNode, program?: string): Promise<void> {
  await node.stop()
  node.start(program)
  await until('an open node', async () => (await node.call('GET', '/health/ready').catch(() => null))?.status === 200)
}

/** Asks again after a 503, which leaves open whether the change was made. */
async function change(node: ClusterNode, method: string, path: string, json?: unknown): Promise<void> {
  let isUncertain = false
  await until(`${method} ${path}`, async () => {
    const reply = await node.call(method, path, { as: ADMIN, ...(json !== undefined && { json }) })
    const wasMade = isUncertain && [404, 409].includes(reply.status)
    if (reply.status === 503) isUncertain = true
    else assert.ok(reply.status < 300 || wasMade, `${reply.request}: ${reply.status} ${reply.text()}`)
    return reply.status !== 503
  })
}

async function makeKeys({ nodes }: Cluster, round: string): Promise<void> {
  for (const [n, node] of nodes.entries()) {
    const next = nodes[(n + 1) % nodes.length]!
    for (const kind of ['kept', 'moved', 'deleted']) {
      const json = { id: `${kind}-${round}-${n}`, type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
      await change(node, 'POST', '/keys/generate', json)
    }
    await change(next, 'PUT', `/keys/kept-${round}-${n}/label`, { label: `label ${n}` })
    await change(next, 'POST', `/keys/moved-${round}-${n}/move`, { newId: `new-${round}-${n}` })
    await change(next, 'DELETE', `/keys/deleted-${round}-${n}`)
  }
}

/** Adds the second version. A 503 leaves open whether it was added, so each round looks first and adds to nothing but what it saw. */
async function addVersion(node: ClusterNode, id: string): Promise<void> {
  const path = `/keys/${id}/versions`
  await until(`a version of ${id}`, async () => {
    const shown = await node.call('GET', path, { as: ADMIN })
    if (shown.status === 503) return false
    assert.equal(shown.status, 200)
    if (shown.json<{ latest: number }>().latest === 2) return true
    const reply = await node.call('POST', path, { as: ADMIN, headers: { 'if-match': shown.headers.etag! } })
    assert.ok([201, 412, 503].includes(reply.status), `${reply.request}: ${reply.status} ${reply.text()}`)
    return reply.status === 201
  })
}

const latestOf = async (node: ClusterNode, id: string): Promise<number> =>
  (await expect(200, node.call('GET', `/keys/${id}/versions`, { as: ADMIN }))).json<{ latest: number }>().latest

const idsOf = async (node: ClusterNode): Promise<string[]> =>
  (await expect(200, node.call('GET', '/keys', { as: ADMIN }))).json<{ id: string }[]>().map(({ id }) => id)

test('old and new nodes change keys side by side; once all are updated, versions are there on all', {
  ...needsCommit(BEFORE),
}, async (t) => {
  const before = await buildOfCommit(BEFORE)
  const cluster = await startCluster(t)
  const { nodes } = cluster
  await change(nodes[0]!, 'PUT', '/users/signer', {
    realName: 'Signer',
    role: 'Operator',
    passphrase: OPERATOR.split(':')[1],
  })
  for (const node of nodes) await restart(node, before)
  await makeKeys(cluster, 'before')
  for (const [n, node] of nodes.entries()) {
    await restart(node)
    await makeKeys(cluster, `update-${n}`)
  }
  const expected = ['before', 'update-0', 'update-1', 'update-2']
    .flatMap((round) => [0, 1, 2].flatMap((n) => [`kept-${round}-${n}`, `new-${round}-${n}`]))
    .sort()
  for (const node of nodes) {
    await until('all keys', async () => (await idsOf(node)).length === expected.length)
    assert.deepEqual(await idsOf(node), expected)
  }
  for (const node of nodes) await change(node, 'PUT', '/config/interfaces', { transit: 'on', tokenHours: 24 })
  for (const [n, id] of expected.entries()) await addVersion(nodes[n % 3]!, id)
  for (const id of expected)
    for (const node of nodes) {
      assert.equal(await latestOf(node, id), 2, `${node.name} ${id}`)
      const json = { mode: 'EdDSA', message: 'AAAA' }
      await expect(200, node.call('POST', `/keys/${id}/sign`, { as: OPERATOR, json }))
    }
})
