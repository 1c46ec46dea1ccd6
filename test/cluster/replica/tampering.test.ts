/**
 * Tampering by a member with a valid certificate, or by a holder of its disk: every node refuses it, keeps what it had and goes
 * on reading that, and says so.
 */

import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import test, { type TestContext } from 'node:test'
import type { KeyValue, Write } from '../../../firmware/cluster/etcd/etcd.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { deriveSealKey, seal } from '../../../firmware/crypto/seal.ts'
import { utf8 } from '../../store/rig.ts'
import { startEtcd } from '../../support/etcd.ts'
import { fileNeeds } from '../../support/tools.ts'
import {
  contentOf,
  expectEqual,
  failsWith,
  get,
  type Node,
  openNodes,
  openStores,
  put,
  start,
  stop,
  until,
} from './rig.ts'

await fileNeeds('etcd')

const HEAD = '/coffer/head'

interface Past {
  old: Map<string, Uint8Array>
  now: Map<string, Uint8Array>
  records: string[]
  changed: string
  removed: string
}

const tamperings: [string, (past: Past) => Write[], RegExp][] = [
  ['a record that lies there as it was before', ({ old, changed }) => [one(old, changed)], /without a new head/],
  [
    'a record as it was before, with the head as it was then',
    ({ old, changed }) => [one(old, changed), one(old, HEAD)],
    /older change came/,
  ],
  ['the head as it was before', ({ old }) => [one(old, HEAD)], /older change came/],
  ['the head as it is, once more', ({ now }) => [one(now, HEAD)], /older change came/],
  ['a record that is gone, brought back', ({ old, removed }) => [one(old, removed)], /without a new head/],
  ['a record that is removed', ({ records }) => [{ key: records[0]!, value: null }], /without a new head/],
  [
    'two records in each other’s places',
    ({ now, records }) => [
      { key: records[0]!, value: now.get(records[1]!)! },
      { key: records[1]!, value: now.get(records[0]!)! },
    ],
    /without a new head/,
  ],
  ['garbage in a record', ({ records }) => [{ key: records[0]!, value: utf8('garbage') }], /without a new head/],
  [
    'garbage in a record and in the head',
    ({ records }) => [
      { key: records[0]!, value: utf8('garbage') },
      { key: HEAD, value: utf8('garbage') },
    ],
    /not written by a member/,
  ],
  ['an empty head', () => [{ key: HEAD, value: new Uint8Array() }], /not written by a member/],
  [
    'a head that another domain key has sealed',
    () => [
      { key: HEAD, value: seal(deriveSealKey(new Uint8Array(32), 'coffer cluster head'), utf8('{}'), systemRandom) },
    ],
    /not written by a member/,
  ],
  ['no head', () => [{ key: HEAD, value: null }], /head is missing/],
]

const one = (entries: Map<string, Uint8Array>, key: string): Write => ({ key, value: entries.get(key)! })

async function everything(node: Node): Promise<Map<string, Uint8Array>> {
  const { revision } = await node.etcd.get(HEAD)
  const pages: KeyValue[][] = await Array.fromAsync(node.etcd.pages('/coffer/', revision))
  return new Map(pages.flat().map(({ key, value }) => [key, value]))
}

async function setup(t: TestContext) {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async (first) => {
    for (let n = 0; n < 5; n++) await put(first, `stays${n}`, `${n}`)
  })
  const [a, b] = nodes as [Node, Node]
  await put(a, 'changes', 'old')
  await put(a, 'goes', 'x')
  const old = await everything(a)
  await put(b, 'changes', 'new')
  await put(a, 'goes', null)
  await expectEqual(nodes)
  const now = await everything(a)
  const records = [...now.keys()].filter((key) => key !== HEAD)
  const changed = records.find((key) => Buffer.compare(old.get(key)!, now.get(key)!) !== 0)!
  const removed = [...old.keys()].find((key) => !now.has(key))!
  return { nodes, a, b, past: { old, now, records: records.filter((key) => key !== changed), changed, removed } }
}

async function expectRefused(nodes: readonly Node[], why: RegExp, contents: readonly string[]): Promise<void> {
  for (const [at, node] of nodes.entries()) {
    await until(`${node.name} refuses`, () => node.replica.state === 'refused')
    assert.equal(node.refusals.length, 1)
    assert.match(node.refusals[0]!, why)
    assert.equal(node.replica.refusal, node.refusals[0])
    assert.equal(contentOf(node), contents[at])
    assert.equal(get(node, 'stays1'), '1')
    assert.equal(node.heard.get('changes'), 'new')
    await node.replica.barrier()
    await assert.rejects(put(node, 'more', '1'), failsWith('storage', why))
  }
}

for (const [what, tamper, why] of tamperings) {
  test(`refuses ${what}`, async (t) => {
    const { nodes, a, past } = await setup(t)
    const contents = nodes.map(contentOf)
    const { entry } = await a.etcd.get(HEAD)
    assert.equal((await a.etcd.changeIf(HEAD, entry!.revision, tamper(past))).isDone, true)
    await expectRefused(nodes, why, contents)
  })
}

test('refuses a change of a member whose records are not those that its head says', async (t) => {
  const { nodes, a, b, past } = await setup(t)
  const contents = nodes.map(contentOf)
  // What is between a node and the others changes what it proposes, and leaves the head alone.
  const { changeIf } = a.etcd
  a.etcd.changeIf = (key, revision, writes, timeoutMs) =>
    changeIf(
      key,
      revision,
      writes.map((write) => (write.key === HEAD ? write : { ...write, value: past.now.get(past.records[0]!)! })),
      timeoutMs,
    )
  await assert.rejects(put(a, 'changes', 'newer'), failsWith('busy', /not known/))
  await until('both refuse', () => [a, b].every(({ replica }) => replica.state === 'refused'))
  assert.match(a.refusals[0]!, /arrived with other records/)
  assert.match(b.refusals[0]!, /damaged or not in its place/)
  assert.deepEqual(nodes.map(contentOf), contents)
  assert.equal(b.heard.get('changes'), 'new')
})

test('refuses records that were taken away, or came, while it was away and that is not kept any more', async (t) => {
  const { nodes, a, b, past } = await setup(t)
  stop(b)
  await put(a, 'more', '1')
  const { entry } = await a.etcd.get(HEAD)
  await a.etcd.changeIf(HEAD, entry!.revision, [{ key: past.records[0]!, value: null }])
  await a.etcd.compact((await a.etcd.get(HEAD)).revision)
  openStores(b)
  const before = contentOf(b)
  start(b)
  await assert.rejects(b.replica.caughtUp(), /not those of their head/)
  assert.equal(contentOf(b), before)
  assert.equal(get(b, 'stays1'), '1')
  await until('the other refuses, too', () => nodes.every(({ replica }) => replica.state === 'refused'))
})

test('leaves alone what lies where nobody looks', async (t) => {
  const { nodes, a, b } = await setup(t)
  await a.etcd.put('/coffer/ABCDEF/keys/0000000000000001', utf8('of a generation that is on its way'))
  await a.etcd.put('/coffer/anything', utf8('else'))
  await put(b, 'more', '1')
  await expectEqual(nodes)
})

test('refuses an etcd whose disks were all put back to an older day, also when it has gone on from there', async (t) => {
  const cluster = await startEtcd(t, 'a')
  const nodes = await openNodes(t, cluster, async (first) => put(first, 'stays1', '1'))
  const [a] = nodes as [Node]
  const { member } = a
  const copy = `${member.dataDirectory}.old`
  await put(a, 'changes', 'old')
  await member.kill()
  cpSync(member.dataDirectory, copy, { recursive: true })
  const putBack = async (): Promise<void> => {
    await member.kill()
    rmSync(member.dataDirectory, { recursive: true })
    cpSync(copy, member.dataDirectory, { recursive: true })
    member.start()
    await member.ready()
  }
  member.start()
  await member.ready()
  await until('it follows', () => a.replica.state === 'following')
  for (const value of ['newer', 'new']) await put(a, 'changes', value)

  await putBack()
  await expectRefused([a], /older than those of this node/, [contentOf(a)])
  stop(a)

  const begin = async (why: RegExp): Promise<void> => {
    a.refusals = []
    openStores(a)
    const before = contentOf(a)
    start(a)
    await assert.rejects(a.replica.caughtUp(), why)
    await expectRefused([a], why, [before])
    stop(a)
  }
  await begin(/older than those of this node/)

  // Another node, which has not seen the later days, goes on.
  const [other] = await openNodes(t, cluster, null)
  await put(other!, 'x', '1')
  await put(other!, 'x', '2')
  await begin(/newest change differs/)
  await put(other!, 'x', '3')
  await begin(/not those of their head/)
  assert.equal(get(other!, 'x'), '3')
})
