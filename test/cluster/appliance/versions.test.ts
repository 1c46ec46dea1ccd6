// @test short 20
/** Versions of keys on several nodes: made anywhere, used everywhere, gone everywhere. Contract section 7.11. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { say } from '../../kms/transit/rig.ts'
import { startEtcd } from '../../support/etcd.ts'
import { fileNeeds } from '../../support/tools.ts'
import { expectSame, found, joinNode, lock, type Node, openFirst, openNodes, sign, unlock } from './rig.ts'

await fileNeeds('etcd')

const INPUT = 'AAAA'

async function makeKey({ rig }: Node, id = 'ed'): Promise<void> {
  const json = { id, type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  assert.equal((await rig.call('POST', '/keys/generate', { as: 'admin', json })).status, 201)
}

async function rotate({ rig, name }: Node, id = 'ed'): Promise<void> {
  const { status, text } = await rig.call('POST', `/keys/${id}/versions`, { as: 'admin' })
  assert.equal(status, 201, `${name}: ${text()}`)
}

const versionsOf = async ({ rig }: Node, id = 'ed') =>
  (await rig.call('GET', `/keys/${id}/versions`, { as: 'admin' })).json<{ latest: number; versions: object[] }>()

/** Returns the token of the operator there. */
async function switchOn({ rig }: Node): Promise<string> {
  const json = { transit: 'on', tokenHours: 24 }
  assert.equal(await rig.status('PUT', '/config/interfaces', { as: 'admin', json }), 204)
  const password = 'passphrase of operator'
  const { status, body } = await say(rig, 'POST', 'auth/userpass/login/operator', { body: { password } })
  assert.equal(status, 200, JSON.stringify(body))
  return body.auth.client_token
}

async function ask({ rig, name }: Node, token: string, path: string, body: object) {
  const said = await say(rig, 'POST', `transit/${path}`, { token, body })
  assert.equal(said.status, 200, `${name} ${path}: ${JSON.stringify(said.body)}`)
  return said.body.data
}

/** Each version signs on each node, and each other node verifies it. */
async function expectUsable(nodes: readonly Node[], tokens: readonly string[], versions: readonly number[], id = 'ed') {
  for (const [n, node] of nodes.entries())
    for (const key_version of versions) {
      const { signature } = await ask(node, tokens[n]!, `sign/${id}`, { input: INPUT, key_version })
      assert.ok(signature.startsWith(`vault:v${key_version}:`))
      for (const [m, other] of nodes.entries())
        assert.deepEqual(await ask(other, tokens[m]!, `verify/${id}`, { input: INPUT, signature }), { valid: true })
    }
}

test('versions are made on any node, and used, moved and deleted on all', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'))
  const [a, b, c] = nodes as [Node, Node, Node]
  await makeKey(a)
  const tokens = []
  for (const node of nodes) tokens.push(await switchOn(node))
  for (const node of nodes) {
    await rotate(node)
    await expectSame(nodes)
  }
  await expectUsable(nodes, tokens, [1, 2, 3, 4])

  await Promise.allSettled(nodes.map((node) => rotate(node)))
  await expectSame(nodes)
  const { latest } = await versionsOf(a)
  for (const node of nodes) assert.deepEqual(await versionsOf(node), await versionsOf(a))
  await expectUsable(nodes, tokens, [1, 4, latest])

  await lock(b)
  await rotate(a)
  await unlock(b)
  await expectSame(nodes)
  await expectUsable(nodes, tokens, [1, latest + 1])

  assert.equal(await c.rig.status('POST', '/keys/ed/move', { as: 'admin', json: { newId: 'moved' } }), 200)
  await expectSame(nodes)
  await expectUsable(nodes, tokens, [1, latest, latest + 1], 'moved')
  for (const node of nodes) assert.equal((await sign(node, 'moved')).status, 200)

  const json = { minDecryption: 3, minEncryption: 3, minAvailable: 3 }
  assert.equal(await b.rig.status('PUT', '/keys/moved/versions', { as: 'admin', json }), 204)
  await expectSame(nodes)
  for (const node of nodes) assert.equal((await sign(node, 'moved')).status, 404)
  await expectUsable(nodes, tokens, [3, latest + 1], 'moved')
  assert.equal(await a.rig.status('DELETE', '/keys/moved', { as: 'admin' }), 204)
  await expectSame(nodes)
  for (const { rig } of nodes) assert.equal(await rig.status('GET', '/keys/moved/versions', { as: 'admin' }), 404)
})

test('versions change only while the transit API is on at the node that is asked', async (t) => {
  const [a, b] = (await openNodes(t, await startEtcd(t, 'a', 'b'))) as [Node, Node]
  await makeKey(a)
  await switchOn(b)
  for (const [method, json] of [['POST'], ['PUT', { minDecryption: 1 }]] as const) {
    const { status, text } = await a.rig.call(method, '/keys/ed/versions', { as: 'admin', ...(json && { json }) })
    assert.equal(status, 400, method)
    assert.match(text(), /In a cluster, versions change only while the transit API is on/)
  }
  await rotate(b)
  await expectSame([a, b])
  assert.equal((await versionsOf(a)).latest, 2)
  await switchOn(a)
  await rotate(a)
  await makeKey(a, 'plain')
  await expectSame([a, b])
  assert.equal(await b.rig.status('DELETE', '/keys/plain', { as: 'admin' }), 204)
  await expectSame([a, b])
  assert.equal(await a.rig.status('GET', '/keys/plain', { as: 'admin' }), 404)
})

test('a node that joins has all versions', async (t) => {
  const { members } = await startEtcd(t, 'a', 'b')
  const first = await openFirst(t, members[0]!)
  await makeKey(first)
  for (let n = 0; n < 30; n++) await rotate(first)
  await found(first)
  const second = await joinNode(t, [first], members[1]!)
  await unlock(second)
  await expectSame([first, second])
  assert.deepEqual(await versionsOf(second), await versionsOf(first))
  const tokens = [await switchOn(first), await switchOn(second)]
  await expectUsable([first, second], tokens, [1, 2, 17, 31])
})
