// @test long 40
/** Nodes with a copy each: what one changes the others have, nothing is done on what is old, and what was answered stays. */

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { CofferError, wrongState } from '../../../firmware/base/error.ts'
import { runInSlices } from '../../../firmware/base/slices.ts'
import { writeReplacement } from '../../../firmware/cluster/replica/replacement.ts'
import { REPLICA_TIMEOUTS } from '../../../firmware/cluster/replica/timeouts.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { createSetHash, emptySet } from '../../../firmware/store/record-set.ts'
import { databaseOf } from '../../../firmware/store/sqlite/file.ts'
import type { Change } from '../../../firmware/store/store.ts'
import type { Vault } from '../../../firmware/store/vault.ts'
import { commit, createStoreRig, text, utf8 } from '../../store/rig.ts'
import { startEtcd } from '../../support/etcd.ts'
import { fileNeeds } from '../../support/tools.ts'
import {
  expectEqual,
  failsWith,
  get,
  increment,
  load,
  type Node,
  openNodes,
  openStores,
  put,
  restart,
  start,
  stop,
  until,
} from './rig.ts'

await fileNeeds('etcd')

test('what was there before, and each change since, is on every node; its own a node reads at once', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'), async (first) => {
    for (let n = 0; n < 30; n++) await put(first, `old${n}`, `${n}`)
    await commit(first.vault, [{ collection: 'privateKeys', name: 'large', value: new Uint8Array(90_000).fill(1) }])
    await put(first, 'old3', null)
  })
  const [a, b, c] = nodes
  await expectEqual(nodes)
  assert.equal(get(c!, 'old29'), '29')
  assert.equal(b!.vault.generation, a!.vault.generation)
  assert.equal(b!.vault.get('privateKeys', 'large')!.length, 90_000)

  for (let n = 0; n < 50; n++) {
    const writer = nodes[n % 3]!
    await put(writer, `new${n}`, 'x')
    assert.equal(get(writer, `new${n}`), 'x')
    assert.equal(writer.heard.get(`new${n}`), 'x')
    const reader = nodes[(n + 1) % 3]!
    await reader.replica.barrier()
    assert.equal(get(reader, `new${n}`), 'x')
  }
  await put(b!, 'old4', null)
  await a!.replica.barrier()
  assert.equal(get(a!, 'old4'), null)
  await expectEqual(nodes)
  assert.deepEqual(
    nodes.map(({ replica }) => replica.state),
    ['following', 'following', 'following'],
  )
  assert.deepEqual(
    nodes.flatMap(({ refusals, troubles }) => [...refusals, ...troubles]),
    [],
  )
})

test('changes of several nodes at once are each decided on what the one before has left', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'), async () => {})
  const results = await Promise.all(
    nodes.flatMap((node) => Array.from({ length: 40 }, () => increment(node, 'counter'))),
  )
  assert.deepEqual(
    results.sort((one, other) => one - other),
    Array.from({ length: 120 }, (_, n) => n + 1),
  )
  await expectEqual(nodes)
  assert.equal(get(nodes[0]!, 'counter'), '120')
})

test('a refusal, or a change that finds nothing to do, is decided on the newest, too', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async (first) => put(first, 'x', 'there'))
  const [a, b] = nodes
  const take = (node = b!) =>
    node.vault.change(() => {
      if (!node.heard.has('x')) throw new CofferError('notFound', 'No such key')
      return { changes: [{ collection: 'keys', name: 'x', value: null }], result: 'taken' }
    })
  const ensure = (node = b!) =>
    node.vault.change(() => ({
      changes: node.heard.has('x') ? [] : [{ collection: 'keys', name: 'x', value: utf8('x=made') }],
      result: undefined,
    }))
  for (let n = 0; n < 30; n++) {
    assert.equal(await take(a), 'taken')
    await assert.rejects(take(b), failsWith('notFound', /No such key/))
    await ensure(a)
    await ensure(b)
    assert.equal(await take(b), 'taken')
    await ensure(a)
    assert.equal(get(a!, 'x'), 'made')
  }
  await expectEqual(nodes)
})

test('what one turn brings is one transaction: a refusal among it harms nobody, a slot may change twice', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async () => {})
  const [a] = nodes
  const { entry } = await a!.etcd.get('/coffer/head')
  const refused = a!.vault.change(() => {
    throw new CofferError('conflict', 'It is taken')
  })
  const made = [
    put(a!, 'x', '1'),
    put(a!, 'x', '2'),
    put(a!, 'y', '1'),
    put(a!, 'y', null),
    a!.vault.change(() => ({ changes: [], result: undefined })),
    put(a!, 'z', '1'),
  ]
  await assert.rejects(refused, failsWith('conflict', /It is taken/))
  await Promise.all(made)
  assert.equal((await a!.etcd.get('/coffer/head')).entry!.revision, entry!.revision + 1)
  assert.deepEqual([get(a!, 'x'), get(a!, 'y'), get(a!, 'z')], ['2', null, '1'])
  await expectEqual(nodes)
  assert.equal(await a!.vault.change(() => ({ changes: [], result: 7 })), 7)
  const beside = a!.vault.change(() => ({
    changes: [],
    result: 7,
    withinTransaction: () => assert.fail('it is of one node'),
  }))
  await assert.rejects(beside, /of one node changes alone/)
})

test('many changes, also large ones, go in several transactions', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async () => {})
  const value = 'v'.repeat(30_000)
  await Promise.all([
    ...Array.from({ length: 500 }, (_, n) => put(nodes[0]!, `n${n}`, String(n))),
    ...Array.from({ length: 20 }, (_, n) => put(nodes[0]!, `large${n}`, value)),
  ])
  await nodes[1]!.replica.barrier()
  assert.equal(get(nodes[1]!, 'large19'), value)
  await expectEqual(nodes)
})

test('a change that is too large for etcd is refused with the reason, and others that came with it are made', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a'), async () => {})
  const [a] = nodes
  for (const size of [1.6, 3]) {
    const huge = 'x'.repeat(size * 1024 * 1024)
    const refused = assert.rejects(put(a!, 'huge', huge), failsWith('invalid', /1\.5 MiB/))
    await Promise.all([put(a!, 'small', '1'), refused, put(a!, 'another', '2')])
  }
  assert.deepEqual([get(a!, 'small'), get(a!, 'huge'), get(a!, 'another')], ['1', null, '2'])
})

test('a node that was away goes on where it was, and reads everything where that is not kept any more', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async (first) => {
    for (let n = 0; n < 20; n++) await put(first, `old${n}`, '1')
  })
  const [a, b] = nodes
  for (const isCompacted of [false, true]) {
    stop(b!)
    for (let n = 0; n < 20; n += 2) await put(a!, `old${n}`, isCompacted ? '3' : '2')
    await put(a!, `old${isCompacted ? 1 : 3}`, null)
    await put(a!, `new${isCompacted}`, 'x')
    if (isCompacted) await a!.etcd.compact((await a!.etcd.get('/coffer/head')).revision)
    openStores(b!)
    start(b!)
    await b!.replica.caughtUp()
    assert.equal(get(b!, `new${isCompacted}`), 'x')
    await expectEqual(nodes)
    await put(b!, `back${isCompacted}`, 'x')
    await expectEqual(nodes)
  }
  await restart(a!)
  await increment(a!, 'counter')
  await expectEqual(nodes)
})

async function vaultOf(t: TestContext, changes: Change[]): Promise<Vault> {
  const rig = createStoreRig(t)
  const vault = rig.vault(rig.open())
  await commit(vault, changes)
  return vault
}

async function rowsOf(t: TestContext, textOf: (n: number) => string | null, count: number) {
  const changes = Array.from({ length: count }, (_, n) => [`many${n}`, textOf(n)] as const).flatMap(([name, value]) =>
    value === null ? [] : [{ collection: 'keys', name, value: utf8(`${name}=${value}`) }],
  )
  const vault = await vaultOf(t, changes)
  return [...vault.replicate(() => Promise.reject(wrongState())).rows()]
}

/** So many come, so many are others than before, so many go. */
const MANY = 1500
const replaced = (n: number) => (n % 3 === 0 ? null : `${n % 3}`)

test('records that are all replaced by others are adopted in pieces, beside which others have their turn', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async (first) => {
    await commit(
      first.vault,
      Array.from({ length: MANY / 2 }, (_, n) => ({
        ...{ collection: 'keys', name: `many${n}`, value: utf8(`many${n}=old`) },
      })),
    )
  })
  const [a, b] = nodes as [Node, Node]
  const rows = await rowsOf(t, replaced, MANY)
  const replacing = a.replica.replaceAll(rows)
  const seen = new Set<number>()
  for (const { generation } = b.vault; b.vault.generation === generation; ) {
    seen.add(b.heard.size)
    for (const [name, value] of b.heard) assert.equal(get(b, name), value)
    await turn()
  }
  await replacing
  await expectEqual(nodes)
  assert.ok(seen.size > 2, `${seen.size} turns in between`)
  await expectEqual(nodes)
  await put(b, 'more', '1')
  await expectEqual(nodes)
})

test('a node that is stopped among them is not used as it is, and reads all again', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async (first) => put(first, 'old', '1'))
  const [a, b] = nodes as [Node, Node]
  const rows = await rowsOf(t, replaced, MANY)
  const replacing = a.replica.replaceAll(rows)
  while (b.heard.size <= 1) await turn()
  assert.ok(b.heard.size < rows.length)
  assert.equal(b.position.read(), null)
  await assert.rejects(put(b, 'more', '1'), failsWith('busy', /has not got yet/))
  stop(b)
  openStores(b)
  start(b)
  await b.replica.usable()
  assert.notEqual(b.position.read(), null)
  await replacing
  await expectEqual(nodes)
})

test('records that a member was ended over before they became the cluster’s are removed by it, and cannot become that', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async (first) => put(first, 'old', '1'))
  const [a, b] = nodes as [Node, Node]
  const generations = async () => {
    const { revision } = await a.etcd.get('/coffer/head')
    const pages = await Array.fromAsync(a.etcd.pages('/coffer/', revision))
    return new Set(pages.flat().flatMap(({ key }) => /^\/coffer\/([0-9A-F]+)\//.exec(key)?.[1] ?? []))
  }
  const copy = (await vaultOf(t, [])).replicate(() => Promise.reject(wrongState()))
  const rows = await rowsOf(t, replaced, 300)
  const { generation, reservation } = await writeReplacement({ etcd: a.etcd, copy, random: systemRandom }, rows)
  await restart(b)
  await put(b, 'more', '1')
  await put(b, 'more', '2')
  assert.ok((await generations()).has(generation), 'another may still write them')
  await restart(a)
  await until('they are gone', async () => !(await generations()).has(generation))
  const { entry } = await a.etcd.get('/coffer/head')
  const { isDone } = await a.etcd.changeIf('/coffer/head', entry!.revision, [], undefined, reservation)
  assert.equal(isDone, false)
  await expectEqual(nodes)
})

test('what comes is looked at before any of it is adopted', async (t) => {
  const rows = await rowsOf(t, replaced, MANY)
  rows.at(-1)!.row.sealed.fill(0, 60)
  const set = emptySet()
  const { add } = createSetHash('keys', new Uint8Array(32).fill(3))
  for (const { row } of rows) add(set, row.slot, row.sealed)
  const vault = await vaultOf(t, [{ collection: 'keys', name: 'old', value: utf8('old=1') }])
  const copy = vault.replicate(() => Promise.reject(wrongState()))
  const comparison = copy.compare()
  for (const { collection, row } of rows) await runInSlices(comparison.add(collection, row))
  const adoption = {
    head: { n: 9, sets: new Map([['keys', set]]) },
    generation: 'AB',
    withinTransaction() {},
    partly() {},
  }
  await assert.rejects(runInSlices(comparison.adopt(adoption)), failsWith('invalid', /damaged or not in its place/))
  assert.equal([...copy.rows()].length, 1)
  assert.equal(text(vault.get('keys', 'old')), 'old=1')
})

test('etcds that are killed one after the other cost no change that was answered', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'), async () => {})
  const made: string[] = []
  let isOver = false
  const writers = nodes.map(async (node) => {
    for (let n = 0; !isOver; n++) {
      const name = `${node.name}${n}`
      await put(node, name, 'x').then(
        () => made.push(name),
        (error) => failsWith('busy', /not known|does not answer/)(error),
      )
      if (!node.heard.has(name)) await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })
  for (const { member } of nodes) {
    await member.kill()
    const before = made.length
    await until('the others go on', () => made.length > before + 10)
    member.start()
    await member.ready()
  }
  isOver = true
  await Promise.all(writers)
  await until('all follow', () => nodes.every(({ replica }) => replica.state === 'following'))
  await Promise.all(nodes.map(({ replica }) => replica.barrier()))
  await expectEqual(nodes)
  for (const name of made) assert.equal(get(nodes[0]!, name), 'x', name)
  assert.deepEqual(
    nodes.flatMap(({ refusals }) => refusals),
    [],
  )
})

test('without a quorum what is there is read, nothing is changed, and all goes on by itself', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'), async (first) => put(first, 'x', '1'))
  const [a, b, c] = nodes
  await b!.member.pause()
  await c!.member.pause()
  const onItsWay = put(a!, 'x', '2').then(
    () => 'done',
    (error: CofferError) => `${error.code}: ${error.message}`,
  )
  await until('it is noticed', () => a!.replica.state === 'isolated')
  await assert.rejects(put(a!, 'y', '1'), failsWith('busy', /does not answer/))
  await a!.replica.barrier()
  assert.equal(get(a!, 'x'), '1')
  const lostMs = a!.replica.lostMs
  a!.laterMs += 60_000
  assert.ok(a!.replica.lostMs >= lostMs + 60_000)
  assert.equal(await onItsWay, 'busy: It is not known whether this was done')

  b!.member.resume()
  c!.member.resume()
  await until('all follow', () => nodes.every(({ replica }) => replica.state === 'following'))
  assert.equal(a!.replica.lostMs, 0)
  await put(a!, 'y', '1')
  await Promise.all(nodes.map(({ replica }) => replica.barrier()))
  await expectEqual(nodes)
  assert.match(get(c!, 'x')!, /^[12]$/)
})

test('a node whose disk is full says so once, and has all that came meanwhile when there is room again', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async (first) => put(first, 'x', '1'))
  const [a, b] = nodes
  const fill = (): void => {
    const database = databaseOf(b!.store)
    database.pragma(`max_page_count = ${database.pragma('page_count', { simple: true })}`)
  }
  fill()
  for (let n = 0; n < 20; n++) await put(a!, `n${n}`, 'v'.repeat(10_000))
  await until('it is told', () => b!.troubles.length > 0)
  assert.equal(b!.replica.syncFailure, 'The disk is full (database or disk is full)')
  assert.ok(b!.replica.behindMs > 0)
  await put(a!, 'x', null)
  await new Promise((resolve) => setTimeout(resolve, 1000)) // it tries again and again
  assert.deepEqual(b!.troubles, [b!.replica.syncFailure])
  stop(b!)
  openStores(b!)
  fill()
  b!.timeouts = { ...REPLICA_TIMEOUTS, openingMsMax: 0 }
  start(b!)
  await b!.replica.usable() // with the copy of before
  assert.equal(get(b!, 'x'), '1')
  const before = b!.replica.n
  assert.equal([...b!.vault.list('keys')].length, b!.heard.size)
  databaseOf(b!.store).pragma(`max_page_count = ${1 << 30}`)
  await expectEqual(nodes)
  assert.ok(b!.replica.n > before)
  assert.deepEqual([b!.refusals, b!.replica.syncFailure, b!.replica.behindMs], [[], null, 0])
})

test('a record that this node cannot open any more comes from the others; one alone loads none of such', async (t) => {
  const cluster = await startEtcd(t, 'a', 'b')
  const nodes = await openNodes(t, cluster, async (first) => {
    for (const name of ['x', 'y', 'z']) await put(first, name, '1')
  })
  const [a, b] = nodes
  for (const meanwhile of [false, true]) {
    databaseOf(b!.store).exec('UPDATE keys SET sealed = zeroblob(100) WHERE slot = (SELECT max(slot) FROM keys)')
    stop(b!)
    if (meanwhile) await put(a!, 'more', '1')
    openStores(b!)
    assert.equal(b!.heard.size, 2)
    void b!.vault.watch()
    start(b!)
    await b!.replica.caughtUp()
    await expectEqual(nodes)
    await put(b!, 'again', String(meanwhile))
    await expectEqual(nodes)
    await put(b!, 'again', null)
    await expectEqual(nodes)
  }
  a!.replica.close()
  await a!.etcd.changeIf('/other', 0, [{ key: '/coffer/head', value: null }])
  databaseOf(a!.store).exec('UPDATE keys SET sealed = zeroblob(100)')
  await assert.rejects(load(a!), failsWith('storage', /damaged/))
})

test('nothing is loaded where there are records of a cluster already', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a'), async (first) => put(first, 'x', '1'))
  nodes[0]!.replica.close()
  await assert.rejects(load(nodes[0]!), failsWith('conflict', /already/))
})

test('who closes leaves nobody waiting', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a'), async () => {})
  const [a] = nodes
  await a!.member.pause()
  const waiting = [put(a!, 'x', '1'), put(a!, 'y', '1')].map((made) => assert.rejects(made, CofferError))
  const barrier = a!.replica.barrier()
  await new Promise((resolve) => setTimeout(resolve, 50))
  waiting.push(assert.rejects(put(a!, 'z', '1'), CofferError))
  stop(a!)
  a!.etcd.close()
  await Promise.all([...waiting, barrier])
  a!.member.resume()
})
