// @test short 20
/** Tokens and access keys of the transit API on several nodes. Contract section 7.9. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { say } from '../../kms/transit/rig.ts'
import { startEtcd } from '../../support/etcd.ts'
import { fileNeeds } from '../../support/tools.ts'
import { until } from '../replica/rig.ts'
import { expectSame, lock, type Node, openNodes, unlock } from './rig.ts'

await fileNeeds('etcd')

const password = 'passphrase of operator'

async function logIn({ rig, name }: Node): Promise<string> {
  const { status, body } = await say(rig, 'POST', 'auth/userpass/login/operator', { body: { password } })
  assert.equal(status, 200, `${name}: ${JSON.stringify(body)}`)
  return body.auth.client_token
}

async function expectStatus(status: number, token: string, nodes: readonly Node[]): Promise<void> {
  for (const { rig, name } of nodes)
    assert.equal((await say(rig, 'GET', 'auth/token/lookup-self', { token })).status, status, name)
}

const revoke = ({ rig }: Node, token: string) => say(rig, 'POST', 'auth/token/revoke-self', { token })

/** Access keys made here: their tokens. */
async function accessKey({ rig }: Node, name: string): Promise<{ id: string; token: string }> {
  const { status, json } = await rig.call('POST', '/users/operator/access-keys', { as: 'operator', json: { name } })
  assert.equal(status, 201)
  return json()
}

test('what one node has issued serves on all, and what one has ended is over on all with the change', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'))
  const [a, b, c] = nodes as [Node, Node, Node]
  const json = { transit: 'on', tokenHours: 24 }
  const time = new Date().toISOString() // lifetimes are measured by the clock of each node
  for (const { rig } of nodes) {
    assert.equal(await rig.status('PUT', '/config/time', { as: 'admin', json: { time } }), 204)
    assert.equal(await rig.status('PUT', '/config/interfaces', { as: 'admin', json }), 204)
  }
  const made = await a.rig.call('POST', '/keys/generate', {
    as: 'admin',
    json: { id: 'ed', type: 'Curve25519', mechanisms: ['EdDSA_Signature'] },
  })
  assert.equal(made.status, 201)

  for (const [n, maker] of nodes.entries()) {
    const other = nodes[(n + 1) % 3]!
    const [kept, revoked] = [await logIn(maker), await logIn(maker)]
    const { id, token: key } = await accessKey(maker, `key ${n}`)
    for (const token of [kept, revoked, key]) await expectStatus(200, token, [other, maker])
    assert.equal((await revoke(other, revoked)).status, 204)
    assert.equal(await other.rig.status('DELETE', `/users/operator/access-keys/${id}`, { as: 'admin' }), 204)
    await expectSame(nodes)
    await expectStatus(403, revoked, nodes)
    await expectStatus(403, key, nodes)
    await expectStatus(200, kept, nodes)
  }

  const [token, ended, { token: key }] = [await logIn(a), await logIn(a), await accessKey(a, 'lasting')]
  assert.equal((await revoke(b, ended)).status, 204)
  await lock(b)
  await unlock(b)
  await expectStatus(403, ended, nodes)
  for (const each of [token, key]) await expectStatus(200, each, nodes)

  await b.member.kill()
  await c.member.kill()
  await until('nothing can be changed', async () => (await revoke(a, await logIn(a))).status === 503)
  const alone = await logIn(a)
  for (const each of [token, key, alone]) await expectStatus(200, each, [a])
  const body = { input: 'AAAA' }
  const signed = await say(a.rig, 'POST', 'transit/sign/ed', { token: alone, body })
  assert.equal(signed.status, 200, JSON.stringify(signed.body))
  assert.equal((await revoke(a, alone)).status, 503)
  assert.equal((await say(a.rig, 'POST', 'auth/token/create', { token, body: { period: '1h' } })).status, 503)

  b.member.start()
  await until('changes are possible', async () => (await revoke(a, alone)).status === 204)
  await until('the others know', async () => a.rig.appliance.replica?.n === b.rig.appliance.replica?.n)
  await expectStatus(403, alone, [a, b])
})
