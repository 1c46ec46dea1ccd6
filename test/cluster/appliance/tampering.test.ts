/**
 * Tampering by an operator of a member's etcd, one row for each way of detection: every appliance refuses it, says so,
 * changes nothing any more, and signs on with what it had. The rest is in ../replica/tampering.test.ts.
 */

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { Etcd, Write } from '../../../firmware/cluster/etcd/etcd.ts'
import { startEtcd } from '../../support/etcd.ts'
import { fileNeeds } from '../../support/tools.ts'
import { until } from '../replica/rig.ts'
import { expectSame, type Node, openNodes, sign, unlock } from './rig.ts'

await fileNeeds('etcd')

const HEAD = '/coffer/head'
const KEYS_MADE = 3

type Contents = Map<string, Uint8Array>

async function contentsOf(etcd: Etcd): Promise<Contents> {
  const { revision } = await etcd.get(HEAD)
  const pages = await Array.fromAsync(etcd.pages('/coffer/', revision))
  return new Map(pages.flat().map(({ key, value }) => [key, value]))
}

/** Members of one cluster whose key `changed` was another one before; `change` stands between the first and its etcd. */
async function openPair(t: TestContext, change = (writes: readonly Write[]) => writes) {
  const cluster = await startEtcd(t, 'a', 'b')
  const [member] = cluster.members
  const connect = member!.connect
  member!.connect = () => {
    const etcd = connect()
    const { changeIf } = etcd
    etcd.changeIf = (key, revision, writes, ...more) => changeIf(key, revision, change(writes), ...more)
    return etcd
  }
  const nodes = await openNodes(t, cluster, {
    before: async (rig) => {
      for (let n = 0; n < KEYS_MADE; n++) await rig.key(`key${n}`)
      await rig.user('metrics', 'Metrics')
    },
  })
  const [a, b] = nodes as [Node, Node]
  await expectSame(nodes)
  const etcd = connect()
  const old = await contentsOf(etcd)
  const label = (text: string) => a.rig.call('PUT', '/keys/key0/label', { as: 'admin', json: { label: text } })
  assert.equal((await label('another')).status, 204)
  await expectSame(nodes)
  return { nodes, a, b, etcd, old, now: await contentsOf(etcd), label }
}

async function expectRefused(nodes: readonly Node[], why: RegExp): Promise<void> {
  for (const { rig, name } of nodes) {
    await until(`${name} refuses`, () => rig.appliance.replica?.state === 'refused')
    rig.use('metrics', 'passphrase of metrics')
    assert.equal(rig.appliance.state, 'Operational')
    for (let n = 0; n < KEYS_MADE; n++) assert.equal((await sign({ rig }, `key${n}`)).status, 200)
    const { label } = (await rig.call('GET', '/keys/key0', { as: 'admin' })).json()
    assert.equal(label, 'another')
    const refused = await rig.call('PUT', '/namespaces/more', { as: 'admin' })
    assert.equal(refused.status, 500)
    assert.match(refused.text(), why)
    assert.match((await rig.call('GET', '/health/diagnose', { as: 'admin' })).text(), why)
    const metrics = await rig.call('GET', '/metrics', { as: 'metrics', headers: { accept: 'text/plain' } })
    assert.match(metrics.text(), /^coffer_cluster_refused_total 1$/m)
    const { lines } = (await rig.call('GET', '/audit', { as: 'admin' })).json()
    assert.ok(lines.some(({ facts }: { facts?: { refused?: string } }) => why.test(facts?.refused ?? '')))
    assert.ok(rig.entries.some(({ level, message }) => level === 'error' && why.test(message)))
  }
}

const recordIn = (contents: Contents, isIt: (key: string) => boolean): string =>
  [...contents.keys()].find((key) => key.includes('/keys/') && isIt(key))!

for (const [what, tamper, why] of [
  ['a record that is removed', ({ now }) => [[recordIn(now, () => true), null]], /without a new head/],
  [
    'a record as it was before, with the head of then',
    ({ old, now }) => {
      const changed = recordIn(now, (key) => Buffer.compare(now.get(key)!, old.get(key) ?? Buffer.of()) !== 0)
      return [changed, HEAD].map((key) => [key, old.get(key)!] as const)
    },
    /older change came/,
  ],
  ['a head that no member has sealed', () => [[HEAD, new Uint8Array(200)]], /not written by a member/],
  ['no head', () => [[HEAD, null]], /head is missing/],
] satisfies [string, (_: { old: Contents; now: Contents }) => (readonly [string, Uint8Array | null])[], RegExp][]) {
  test(`appliances refuse ${what}, and sign on`, async (t) => {
    const { nodes, etcd, old, now } = await openPair(t)
    await etcd.putAll(tamper({ old, now }).map(([key, value]) => ({ key, value })))
    await expectRefused(nodes, why)
  })
}

test('appliances refuse a change whose records are not those of its head, and sign on, also after a restart', async (t) => {
  let isTampering = false
  const ofAnother = (key: string) => now.get(recordIn(now, (other) => other !== key))!
  const { nodes, b, now, label } = await openPair(t, (writes) =>
    isTampering ? writes.map(({ key, value }) => ({ key, value: key === HEAD ? value : ofAnother(key) })) : writes,
  )
  isTampering = true
  assert.match((await label('lost')).text(), /not known/)
  await expectRefused(nodes, /arrived with other records|damaged or not in its place/)
  await b.reopen(() => {})
  await unlock(b)
  await expectRefused([b], /damaged or not in its place/)
})

test('appliances refuse records that were taken away while one of them was away, and sign on', async (t) => {
  const { nodes, a, b, etcd, now } = await openPair(t)
  await b.reopen(() => {})
  await a.rig.key('more')
  await etcd.putAll([{ key: recordIn(now, () => true), value: null }])
  await etcd.compact((await etcd.get(HEAD)).revision)
  await unlock(b)
  await expectRefused(nodes, /without a new head|not those of their head/)
})
