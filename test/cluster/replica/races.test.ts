/** Events between two steps of a node: no step relies on what was true before, and no caller waits for ever. */

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { CofferError, wrongState } from '../../../firmware/base/error.ts'
import { runAuthorized } from '../../../firmware/base/request-authorization.ts'
import { EtcdError } from '../../../firmware/cluster/etcd/error.ts'
import type { Etcd, ReadResult, Status } from '../../../firmware/cluster/etcd/etcd.ts'
import { removeObsolete } from '../../../firmware/cluster/replica/replacement.ts'
import { REPLICA_TIMEOUTS } from '../../../firmware/cluster/replica/timeouts.ts'
import { databaseOf } from '../../../firmware/store/sqlite/file.ts'
import { commit, utf8 } from '../../store/rig.ts'
import { startEtcd } from '../../support/etcd.ts'
import { fileNeeds } from '../../support/tools.ts'
import { createModel } from './model.ts'
import {
  contentOf,
  expectEqual,
  failsWith,
  load,
  makeNode,
  type Node,
  openNodes,
  openStores,
  put,
  start,
  stop,
  until,
} from './rig.ts'

await fileNeeds('etcd')

test('a node that finds a damaged record changes nothing before it has it from the others', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async (first) => {
    await commit(first.vault, [{ collection: 'privateKeys', name: 'one', value: new Uint8Array(100) }])
  })
  const [, b] = nodes as [Node, Node]
  stop(b)
  openStores(b)
  databaseOf(b.store).exec('UPDATE "privateKeys" SET sealed = zeroblob(100)')
  start(b)
  await b.replica.caughtUp()
  await b.vault.watch() // looks at what nobody follows
  await assert.rejects(put(b, 'x', '1'), failsWith('busy', /has not got yet/))
  b.replica.repair()
  await until('it has it again', () =>
    put(b, 'x', '1').then(
      () => true,
      () => false,
    ),
  )
  await expectEqual(nodes)
  assert.deepEqual(
    nodes.flatMap(({ refusals, troubles }) => [...refusals, ...troubles]),
    [],
  )
})

for (const [who, what] of [
  ['this node', 'changed'],
  ['this node', 'removed'],
  ['another one', 'changed'],
  ['another one', 'removed'],
] as const) {
  test(`a record that is damaged here, which nobody has noticed, and that ${who} has ${what}, stops nobody`, async (t) => {
    const of = (value: Uint8Array | null) => [{ collection: 'privateKeys', name: 'one', value }]
    const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), (first) =>
      commit(first.vault, of(new Uint8Array(100))),
    )
    const [a, b] = nodes as [Node, Node]
    await expectEqual(nodes)
    databaseOf(b.store).exec('UPDATE "privateKeys" SET sealed = zeroblob(100)')
    const next = of(what === 'changed' ? new Uint8Array(50) : null)
    if (who === 'this node') {
      await assert.rejects(commit(b.vault, next), failsWith('busy', /damaged and comes from the others/))
      const isDone = () => commit(b.vault, next).then(() => true, expectBusy)
      await until('it is done', isDone)
    } else await commit(a.vault, next)
    await expectEqual(nodes)
    await put(a, 'x', '1')
    await expectEqual(nodes)
    await put(b, 'y', '1')
    await expectEqual(nodes)
    assert.deepEqual(
      nodes.flatMap(({ refusals, troubles }) => [...refusals, ...troubles]),
      [],
    )
  })
}

const expectBusy = (error: CofferError): boolean => {
  assert.equal(error.code, 'busy')
  return false
}

for (const table of ['keys', 'privateKeys']) {
  test(`a node whose head has damaged ${table} as they lie there has them from the others`, async (t) => {
    const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), (first) =>
      commit(first.vault, [
        { collection: 'keys', name: 'one', value: utf8('one=1') },
        { collection: 'privateKeys', name: 'one', value: new Uint8Array(100) },
      ]),
    )
    const [a, b] = nodes as [Node, Node]
    stop(b)
    openStores(b) // as a vault that is alone
    databaseOf(b.store).exec(`UPDATE "${table}" SET sealed = zeroblob(100)`)
    for (let n = 0; n < 2; n++) {
      b.vault.close()
      b.vault = b.rig.vault(b.store)
      b.vault.follow('keys', () => {})
      await b.vault.watch()
    }
    stop(b)
    b.rig.reports.length = 0
    openStores(b)
    assert.doesNotMatch(b.rig.reports.join(), /cannot be told/, 'its head has them')
    start(b)
    await b.replica.caughtUp()
    await expectEqual(nodes)
    await put(b, 'x', '1')
    await put(a, 'y', '1')
    await expectEqual(nodes)
    assert.deepEqual(
      nodes.flatMap(({ refusals }) => refusals),
      [],
    )
  })
}

/** Nodes of a model that loses nothing. The second one has all that the first had; `between` stands between it and its etcd. */
async function pair(t: TestContext, between: (etcd: Etcd, node: () => Node) => Partial<Etcd>): Promise<[Node, Node]> {
  const etcd = createModel().connect((below) => below - 1)
  const first = makeNode(t, 'a', etcd)
  const second: Node = makeNode(t, 'b', { ...etcd, ...between(etcd, () => second) })
  for (const node of [first, second]) openStores(node)
  await put(first, 'x', '1')
  await load(first)
  start(first)
  await first.replica.caughtUp()
  return [first, second]
}

test('a refusal that waits for the newest ends when the node is locked', async (t) => {
  let isAsked = false
  const [a, b] = await pair(t, ({ get }, node) => ({
    async get(key, options) {
      const found = await get(key, options)
      if (key === '/coffer/head') isAsked = found.entry!.revision > (node().position.read()?.revision ?? found.revision)
      return found
    },
    async *watch() {
      await new Promise(() => {}) // tells nothing
    },
  }))
  b.timeouts = { ...REPLICA_TIMEOUTS, heartbeatMs: 2 ** 30, heartbeatMsMax: 2 ** 30, outcomeMsMax: 2 ** 30 }
  start(b)
  await b.replica.caughtUp()
  await put(a, 'x', '2')
  const change = b.vault.change(() => {
    throw new CofferError('conflict', 'It is there')
  })
  await until('it has seen that there is something newer', () => isAsked)
  b.replica.close()
  await assert.rejects(change, failsWith('unavailable', /./))
})

/** As a member that was killed after it was promoted, and has yet to read again that it was. */
const asLearner = (old: () => ReadResult | null, { get }: Etcd): Partial<Etcd> => ({
  async get(key, options) {
    const found = old()
    if (found === null) return get(key, options)
    if (!options?.isLocal) throw new EtcdError('learner', 'rpc not supported for learner')
    return found
  },
  status: async () => ({ leader: '1' }) as Status,
})

test('what a member has that was killed, and thinks that it has no vote, is not taken for an older cluster', async (t) => {
  let old: ReadResult | null = null
  let asked = 0
  const answer = (): ReadResult | null => {
    asked++
    return old
  }
  const [a, b] = await pair(t, (etcd) => asLearner(answer, etcd))
  b.timeouts = { ...REPLICA_TIMEOUTS, heartbeatMs: 1 }
  start(b)
  await b.replica.caughtUp()
  const before = await a.etcd.get('/coffer/head')
  await put(a, 'x', '2')
  await until('it has the newest', () => b.replica.n === a.replica.n)
  old = before
  asked = 0
  await until('it has looked several times', () => asked > 10)
  old = null
  await put(b, 'x', '3')
  assert.deepEqual([b.refusals, b.replica.state], [[], 'following'])
})

test('a learner that takes long to read all follows once it is promoted, and does not rest first', async (t) => {
  let own: ReadResult | null = null
  const [a, b] = await pair(t, (etcd, node) => ({
    ...asLearner(() => own, etcd),
    async *pages(...these) {
      yield* etcd.pages(...these)
      node().laterMs += 1_000_000
    },
  }))
  own = await a.etcd.get('/coffer/head')
  start(b)
  await b.replica.usable()
  await assert.rejects(put(b, 'x', '2'), failsWith('busy', /no vote yet/))
  own = null
  await until('it changes something', () =>
    put(b, 'x', '3').then(
      () => true,
      () => false,
    ),
  )
})

test('a new node that is long in reading all is waited for, though it is late with its questions meanwhile', async (t) => {
  let late = 0
  let isReading = false
  const [, b] = await pair(t, (etcd) => ({
    async get(key, options) {
      if (!isReading) return etcd.get(key, options)
      late++
      throw new EtcdError('unavailable', 'no answer in time')
    },
    async *pages(...these) {
      isReading = true
      await until('it was late several times', () => late > 5)
      isReading = false
      yield* etcd.pages(...these)
    },
  }))
  b.timeouts = { ...REPLICA_TIMEOUTS, heartbeatMs: 1, openingMsMax: 0 }
  start(b)
  await b.replica.usable()
  await until('it follows', () => b.replica.state === 'following')
  await put(b, 'x', '2')
})

test('records are replaced only while the caller may do so', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async (first) => put(first, 'x', '1'))
  const [a] = nodes as [Node, Node]
  const contents = nodes.map(contentOf)
  const rows = [...a.vault.replicate(() => Promise.reject(wrongState())).rows()]
  let isAdmitted = true
  function* untilTheLast() {
    yield* rows
    isAdmitted = false
  }
  const check = (): void => {
    if (!isAdmitted) throw new CofferError('forbidden', 'The user was deleted')
  }
  const replacing = runAuthorized(check, () => a.replica.replaceAll(untilTheLast()))
  await assert.rejects(replacing, failsWith('forbidden', /was deleted/))
  assert.deepEqual(nodes.map(contentOf), contents)
  await until('nothing of it is left', async () => {
    const pages = await Array.fromAsync(a.etcd.pages('/coffer/', (await a.etcd.get('/coffer/head')).revision))
    return pages.flat().length === 1 + rows.length
  })
})

test('records are replaced once at a time, and again as soon as that is done', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), async (first) => put(first, 'x', '1'))
  const [a] = nodes as [Node, Node]
  const rows = [...a.vault.replicate(() => Promise.reject(wrongState())).rows()]
  for (let n = 0; n < 3; n++) {
    const { generation } = a.vault
    const replacing = a.replica.replaceAll(rows)
    await assert.rejects(a.replica.replaceAll(rows), failsWith('busy', /being replaced/))
    await replacing
    assert.notEqual(a.vault.generation, generation)
  }
  await expectEqual(nodes)
})

test('records that were replaced are removed by another node when the one that looks first has not heard of it', async (t) => {
  const [member] = (await startEtcd(t, 'a')).members
  const etcd = member!.connect()
  const left = async () => (await Array.fromAsync(etcd.pages('/', (await etcd.get('/')).revision))).flat().length
  await etcd.put('/coffer/AB/keys/0000000000000001', utf8('a record'))
  await etcd.put('/coffer/obsolete/AB', utf8(''))
  await removeObsolete(etcd, () => 'AB')
  assert.equal(await left(), 2)
  await removeObsolete(etcd, () => 'CD')
  assert.equal(await left(), 0)
})
