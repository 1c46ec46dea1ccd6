// @test long 60
/** Faults of one node are repaired by the others, or reported: its disk, its age, its etcd. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { seal } from '../../../firmware/crypto/seal.ts'
import type { KeyIndex } from '../../../firmware/kms/domain/key-index.ts'
import { databaseOf, openStore } from '../../../firmware/store/sqlite/file.ts'
import { startEtcd } from '../../support/etcd.ts'
import { fileNeeds } from '../../support/tools.ts'
import { until } from '../replica/rig.ts'
import { expectSame, found, joinNode, keyOf, lock, type Node, openFirst, openNodes, sign, unlock } from './rig.ts'

await fileNeeds('etcd')

function edit({ rig, number }: Node, sql: string): void {
  const store = openStore({ dataDirectory: rig.dataDirectory, deviceKey: keyOf(number) })
  databaseOf(store).exec(sql)
  store.close()
}

for (const [what, sql] of [
  ['keys were taken away', 'DELETE FROM keys'],
  ['users were taken away', 'DELETE FROM users'],
  ['keys are damaged', "UPDATE keys SET sealed = x'00'"],
  ['private keys are damaged', 'UPDATE "privateKeys" SET sealed = zeroblob(60)'],
  ['private keys were taken away', 'DELETE FROM "privateKeys"'],
  ['what says which records there are is missing', 'DELETE FROM heads'],
] as const) {
  test(`a node has again from the others what it lost: ${what}`, async (t) => {
    const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), { before: (rig) => rig.key('x') })
    const [a, b] = nodes as [Node, Node]
    await b.reopen(() => edit(b, sql))
    await unlock(b)
    await until('it signs', async () => (await sign(b, 'x')).status === 200)
    await a.rig.key('y')
    assert.equal((await sign(b, 'y')).status, 200)
    await until('it can change things', async () => (await b.rig.status('DELETE', '/keys/y', { as: 'admin' })) === 204)
    await expectSame(nodes)
  })
}

for (const table of ['keys', 'privateKeys']) {
  test(`a node that was locked before its damaged ${table} were replaced has them again afterwards`, async (t) => {
    const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'), { before: (rig) => rig.key('x') })
    const [a, b] = nodes as [Node, Node, Node]
    await expectSame(nodes)
    await b.reopen(() => edit(b, `UPDATE "${table}" SET sealed = zeroblob(60)`))
    await b.member.kill()
    await unlock(b) // with the copy it has
    await until('the damage is found', () => b.rig.entries.some(({ message }) => message.includes('cannot be told')))
    await lock(b)
    b.member.start()
    await b.member.ready()
    await unlock(b)
    const json = { id: 'y', type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
    await until(
      'it can change things',
      async () => (await b.rig.status('POST', '/keys/generate', { as: 'admin', json })) === 201,
    )
    // Private keys are looked at after the unlock: changes go on meanwhile
    await until('its key is there again', async () => (await sign(b, 'x')).status === 200)
    await a.rig.key('z')
    await expectSame(nodes)
    for (const { rig } of nodes) assert.equal(rig.appliance.replica!.refusal, null)
  })
}

test('a node of which records were taken away is not opened without the others', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), { before: (rig) => rig.key('x') })
  const [a, b] = nodes as [Node, Node]
  await b.reopen(() => edit(b, 'DELETE FROM keys'))
  await a.member.kill()
  await assert.rejects(unlock(b), /503/)
  assert.equal(b.rig.appliance.state, 'Locked')
  a.member.start()
  await unlock(b)
  assert.equal((await sign(b, 'x')).status, 200)
})

test('a node of older software than the newest change takes follows no more, and is Failed', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), { before: (rig) => rig.key('x') })
  const [a, b] = nodes as [Node, Node]
  const domainKey = a.rig.appliance.deriveKey('coffer cluster head')
  const etcd = a.member.connect()
  await etcd.put('/coffer/head', seal(domainKey, new TextEncoder().encode('{"minimum":2}'), systemRandom))
  for (const { rig } of nodes) {
    await until('it is Failed', () => rig.appliance.state === 'Failed')
    assert.match(rig.appliance.failure!, /newer software/)
  }
  await b.reopen(() => {})
  await assert.rejects(unlock(b), /newer software/)
})

test('metrics and diagnosis tell of the cluster, and the audit log of what was refused', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), { before: (rig) => rig.user('metrics', 'Metrics') })
  const [a, b] = nodes as [Node, Node]
  const text = async ({ rig }: Node) =>
    (await rig.call('GET', '/metrics', { as: 'metrics', headers: { accept: 'text/plain' } })).text()
  const before = await text(a)
  assert.match(before, /^coffer_cluster_members 2$/m)
  assert.match(before, /^coffer_cluster_quorum 1$/m)
  assert.match(before, /^coffer_cluster_refused_total 0$/m)
  const diagnosis = async ({ rig }: Node) =>
    JSON.stringify((await rig.call('GET', '/health/diagnose', { as: 'admin' })).json())
  assert.match(await diagnosis(a), /following the others/)
  await b.member.kill()
  await until('it is noticed', async () => /^coffer_cluster_quorum 0$/m.test(await text(a)))
  assert.match(await text(a), /^coffer_cluster_behind_seconds 0\.\d+|^coffer_cluster_behind_seconds [1-9]/m)
  assert.match(await diagnosis(a), /have not answered/)
  b.member.start()
  await until('they are back', async () => /^coffer_cluster_quorum 1$/m.test(await text(a)))
  await a.member.connect().put('/coffer/head', new Uint8Array(80))
  await until('it is refused', async () => /^coffer_cluster_refused_total 1$/m.test(await text(a)))
  assert.match(await diagnosis(a), /not written by a member/)
  const { json } = await a.rig.call('GET', '/audit', { as: 'admin' })
  const line = json().lines.find(({ action }: { action: string }) => action === 'cluster')
  assert.match(line.facts.refused, /not written by a member/)
  assert.equal(line.kind, 'refusal')
})

test('a node that has nothing yet gets much in pieces, and goes on where it was cut', async (t) => {
  const { members } = await startEtcd(t, 'a', 'b')
  const a = await openFirst(t, members[0]!)
  for (let n = 0; n < 300; n++) await a.rig.key(`key${n}`)
  await found(a)
  const b = await joinNode(t, [a], members[1]!)
  const unlocking = unlock(b).catch((error: Error) => error.message)
  await until('some of it is there', () => b.rig.appliance.writes > 1 || b.rig.appliance.state === 'Operational')
  await b.reopen(() => {})
  await unlocking
  await unlock(b)
  assert.equal((await b.rig.call('GET', '/keys', { as: 'admin' })).json().length, 300)
  assert.equal((await sign(b, 'key299')).status, 200)
  await lock(b)
  await unlock(b)
  await expectSame([a, b])
})

test('what one node’s index fails over it tries again a few times, then refuses, says so and signs on until it is unlocked anew', async (t) => {
  const before = async (rig: Node['rig']): Promise<void> => {
    for (const id of ['x', 'y']) await rig.key(id)
    await rig.user('metrics', 'Metrics')
  }
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), { before })
  const [a, b] = nodes as [Node, Node]
  await expectSame(nodes)
  b.rig.use('metrics', 'passphrase of metrics')
  const index = Reflect.get(b.rig.appliance.open().keys, 'index') as KeyIndex
  index.of('').entries.delete('x') // as a fault of the software leaves it
  const n = b.rig.appliance.replica!.n
  const label = ({ rig }: Node, key: string) =>
    rig.call('PUT', `/keys/${key}/label`, { as: 'admin', json: { label: 'secret label' } })
  assert.equal((await label(a, 'x')).status, 204)
  const diagnosis = async () => (await b.rig.call('GET', '/health/diagnose', { as: 'admin' })).text()
  const metrics = async () =>
    (await b.rig.call('GET', '/metrics', { as: 'metrics', headers: { accept: 'text/plain' } })).text()
  await until('it is told', () => b.rig.appliance.replica?.syncFailure !== null)
  assert.match(await diagnosis(), /Not following the others for \d+ seconds: unexpected TypeError|cannot apply them/)
  assert.match(await metrics(), /^coffer_cluster_behind_seconds (0\.\d*[1-9]|[1-9])/m)
  await until('it is refused', () => b.rig.appliance.replica?.state === 'refused')
  const why = /records of the cluster: this node cannot apply them \(unexpected TypeError\)/
  assert.equal(b.rig.appliance.state, 'Operational')
  assert.equal((await sign(b, 'y')).status, 200)
  const refused = await label(b, 'y')
  assert.deepEqual([refused.status, why.test(refused.text())], [500, true])
  assert.match(await diagnosis(), why)
  assert.match(await metrics(), /^coffer_cluster_refused_total 1$/m)
  const { lines } = (await b.rig.call('GET', '/audit', { as: 'admin' })).json()
  assert.equal(lines.filter(({ facts }: { facts?: { refused?: string } }) => why.test(facts?.refused ?? '')).length, 1)
  const told = b.rig.entries.filter(({ level, source }) => level === 'error' && source === 'cluster')
  assert.deepEqual(
    told.map(({ message }) => message.replace(/^\[\d+\] /, '')),
    ['cannot follow the cluster: unexpected TypeError', b.rig.appliance.replica!.refusal],
  )
  assert.doesNotMatch(JSON.stringify(b.rig.entries), /secret label/)
  assert.equal(b.rig.appliance.replica!.n, n)
  assert.equal((await label(a, 'y')).status, 204)
  assert.equal(a.rig.appliance.replica!.state, 'following')
  await lock(b)
  await unlock(b)
  await expectSame(nodes)
  assert.equal((await b.rig.call('GET', '/keys/x', { as: 'admin' })).json().label, 'secret label')
  assert.equal((await sign(b, 'x')).status, 200)
})
