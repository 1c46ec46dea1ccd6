// @test short 55 slow
/** Whole appliances that share their records: what is told to one is known to all, and each goes on without the others. */

import assert from 'node:assert/strict'
import { verify } from 'node:crypto'
import test from 'node:test'
import { EtcdError } from '../../../firmware/cluster/etcd/error.ts'
import { startEtcd } from '../../support/etcd.ts'
import { UNLOCK } from '../../support/in-process.ts'
import { fileNeeds } from '../../support/tools.ts'
import { failsWith, until } from '../replica/rig.ts'
import { BRISK, expectSame, found, joinNode, lock, type Node, openFirst, openNodes, sign, unlock } from './rig.ts'

await fileNeeds('etcd')

const KEYS = Number(process.env.COFFER_SLOW ? 10_000 : 300)

test('what was there before is there on all; what one is told it knows at once, and the others when they are asked', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'), { before: (rig) => rig.key('old') })
  for (const node of nodes) assert.equal((await sign(node, 'old')).status, 200)
  for (let n = 0; n < KEYS; n++) {
    const [maker, user] = [nodes[n % 3]!, nodes[(n + 1 + (n % 2)) % 3]!]
    await maker.rig.key(`key${n}`)
    assert.equal((await sign(user, `key${n}`)).status, 200, `${maker.name} made it, ${user.name} is to use it`)
    if (n % 10 === 0) assert.equal((await sign(maker, `key${n}`)).status, 200)
  }
  await expectSame(nodes)
  const lists = await Promise.all(nodes.map(({ rig }) => rig.call('GET', '/keys', { as: 'admin' })))
  for (const { json, headers } of lists) {
    assert.equal(json().length, KEYS + 1)
    assert.equal(headers.etag, lists[0]!.headers.etag)
  }
})

test('a passphrase, a tag and a user are right on every node once one of them has said so', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'), {
    before: (rig) => rig.key('tagged', { restrictions: { tags: ['berlin'] } }),
  })
  for (let n = 0; n < 10; n++) {
    const [first, other] = [nodes[n % 3]!, nodes[(n + 1) % 3]!]
    await first.rig.user(`user${n}`, 'Operator')
    other.rig.use(`user${n}`, `passphrase of user${n}`)
    assert.equal((await sign(other, 'tagged', `user${n}`)).status, 403)
    assert.equal(await first.rig.status('PUT', `/users/user${n}/tags/berlin`, { as: 'admin' }), 204)
    assert.equal((await sign(other, 'tagged', `user${n}`)).status, 200)

    const passphrase = `another passphrase ${n}`
    assert.equal(
      await other.rig.status('POST', `/users/user${n}/passphrase`, { as: 'admin', json: { passphrase } }),
      204,
    )
    first.rig.use(`user${n}`, passphrase)
    assert.equal((await sign(first, 'tagged', `user${n}`)).status, 200)
    assert.equal(await first.rig.status('DELETE', `/users/user${n}`, { as: 'admin' }), 204)
  }
  const [a, b] = nodes as [Node, Node, Node]
  assert.equal(await a.rig.status('PUT', '/keys/tagged/cert', { as: 'admin', body: 'cert', headers: PEM }), 201)
  const etag = (await a.rig.call('GET', '/keys/tagged/cert', { as: 'admin' })).headers.etag!
  assert.equal(await b.rig.status('DELETE', '/keys/tagged/cert', { as: 'admin', headers: { 'if-match': etag } }), 204)
})

const PEM = { 'content-type': 'application/x-pem-file' }

test('a key that another node has replaced is not used any more, also where it was open', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'), { before: (rig) => rig.key('x') })
  const [a, b] = nodes as [Node, Node, Node]
  assert.ok(await signsWith(b, 'x'))
  assert.equal(await a.rig.status('DELETE', '/keys/x', { as: 'admin' }), 204)
  await until('it is gone', async () => (await sign(b, 'x')).status === 404)
  await a.rig.key('x')
  assert.ok(await signsWith(b, 'x'))

  // Both changes come as one to a node that was away.
  await lock(b)
  assert.equal(await a.rig.status('DELETE', '/keys/x', { as: 'admin' }), 204)
  await a.rig.key('x')
  await unlock(b)
  assert.ok(await signsWith(b, 'x'))
  // And to one that was there, and reads everything anew.
  await b.member.kill()
  // Where that was the leader, changes are refused until another one is elected.
  const status = (line: string, json?: object) =>
    a.rig.status(line.split(' ')[0]!, line.split(' ')[1]!, { as: 'admin', json })
  await until('it is deleted', async () => (await status('DELETE /keys/x')) === 204)
  const anew = { id: 'x', type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  await until('it is made anew', async () => (await status('POST /keys/generate', anew)) === 201)
  const etcd = a.member.connect()
  await etcd.compact((await etcd.get('/coffer/head')).revision)
  b.member.start()
  await until('it has the newest', async () => b.rig.appliance.replica?.n === a.rig.appliance.replica?.n)
  assert.ok(await signsWith(b, 'x'))
})

async function signsWith(node: Node, id: string): Promise<boolean> {
  const { json, status, text } = await sign(node, id)
  assert.equal(status, 200, text())
  const { text: pem } = await node.rig.call('GET', `/keys/${id}/public.pem`, { as: 'admin' })
  return verify(null, Buffer.from('AAAA', 'base64'), pem(), Buffer.from(json().signature, 'base64'))
}

test('a node that was locked has what the others have before it is unlocked', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'))
  const [a, b] = nodes as [Node, Node, Node]
  await lock(b)
  assert.equal(b.rig.appliance.state, 'Locked')
  for (let n = 0; n < 20; n++) await a.rig.key(`key${n}`)
  await unlock(b)
  const { json } = await b.rig.call('GET', '/keys', { as: 'admin' })
  assert.equal(json().length, 20)
  await expectSame(nodes)
})

test('operations are counted on all nodes together, and what one has counted the others have when it is locked', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), {
    before: async (rig) => {
      await rig.key('x')
      await sign({ rig }, 'x')
    },
  })
  const [a, b] = nodes as [Node, Node]
  const counted = async ({ rig }: Node, id = 'x'): Promise<number> =>
    (await rig.call('GET', `/keys/${id}`, { as: 'admin' })).json().operations
  for (let n = 0; n < 5; n++) assert.equal((await sign(b, 'x')).status, 200)
  for (let n = 0; n < 2; n++) assert.equal((await sign(a, 'x')).status, 200)
  assert.deepEqual([await counted(a), await counted(b)], [3, 5])
  await lock(b)
  await until('the counts of the other have come', async () => (await counted(a)) === 8)
  await unlock(b)
  assert.equal(await counted(b), 5)
  assert.equal(await a.rig.status('POST', '/keys/x/move', { as: 'admin', json: { newId: 'y' } }), 200)
  await until('it has moved', async () => (await b.rig.status('GET', '/keys/y', { as: 'admin' })) === 200)
  assert.deepEqual([await counted(a, 'y'), await counted(b, 'y')], [8, 5])
  await a.rig.appliance.open().flush()
  await until('all of it has come', async () => (await counted(b, 'y')) === 8)
  assert.equal((await sign(b, 'y')).status, 200)
  assert.equal(await counted(b, 'y'), 9)
})

test('a node that starts unattended and waits for the others is unlocked once, also where somebody gives the passphrase meanwhile', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'), {
    before: (rig) => rig.key('x'),
    link: { timeouts: { ...BRISK, openingMsMax: 60_000 } },
  })
  const [a, b] = nodes as [Node, Node, Node]
  assert.equal(await b.rig.status('PUT', '/config/unattended-boot', { as: 'admin', json: { status: 'on' } }), 204)
  await b.member.kill()
  await b.rig.appliance.lock()
  await a.rig.key('y')
  const { connect } = b.member
  let opened = 0
  Object.assign(b.member, {
    connect() {
      opened++
      return connect()
    },
  })
  await b.reopen(() => {})
  assert.deepEqual([b.rig.appliance.state, opened], ['Locked', 1])
  const unlocking = unlock(b)
  await until('the passphrase was right', () => opened === 2)
  b.member.start()
  await unlocking
  await until('it follows', () => b.rig.appliance.replica?.state === 'following')
  assert.equal((await sign(b, 'y')).status, 200)
  await b.rig.key('z')
  await a.rig.key('zz')
  await expectSame(nodes)
  const { lines } = (await b.rig.call('GET', '/audit', { as: 'admin' })).json()
  assert.deepEqual(
    lines.filter(({ kind }: { kind: string }) => kind === 'refusal'),
    [],
  )
})

test('without the others keys are used and read, and changes are refused; afterwards all goes on', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'), { before: (rig) => rig.key('x') })
  const [a, b, c] = nodes as [Node, Node, Node]
  await Promise.all([b.member.kill(), c.member.kill()])
  await until('it is noticed', () => a.rig.appliance.replica?.state === 'isolated')
  assert.equal((await sign(a, 'x')).status, 200)
  assert.equal(await a.rig.status('GET', '/keys/x', { as: 'admin' }), 200)
  assert.equal(await a.rig.status('GET', '/keys/y', { as: 'admin' }), 404)
  assert.equal(await a.rig.status('GET', '/health/ready'), 200)
  const json = { id: 'y', type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  const refused = await a.rig.call('POST', '/keys/generate', { as: 'admin', json })
  assert.equal(refused.status, 503)
  assert.equal(refused.headers['retry-after'], '1')
  await lock(a)
  await unlock(a) // with the copy it has
  assert.equal((await sign(a, 'x')).status, 200)
  b.member.start()
  await until(
    'they are back',
    async () => (await a.rig.status('POST', '/keys/generate', { as: 'admin', json })) === 201,
  )
  assert.equal((await sign(b, 'y')).status, 200)
  c.member.start()
  await until('all are back', () => nodes.every(({ rig }) => rig.appliance.replica?.state === 'following'))
  await expectSame(nodes)
})

test('no client is told to repeat a change that may have been made', async (t) => {
  const [a, b] = (await openNodes(t, await startEtcd(t, 'a', 'b'))) as [Node, Node]
  await b.member.pause()
  const json = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  const unknown = await a.rig.call('POST', '/keys/generate', { as: 'admin', json })
  assert.equal(unknown.status, 503)
  assert.match(unknown.json().message, /not known whether/)
  assert.equal(unknown.headers['retry-after'], undefined)
  b.member.resume()
  await until('it follows', () => a.rig.appliance.replica?.state === 'following')
})

test('who has not heard of the others for too long is Failed, until it has', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), {
    before: (rig) => rig.key('x'),
    link: { isolatedMaxMs: 700 },
  })
  const [a, b] = nodes as [Node, Node]
  await b.member.kill()
  await until('it is Failed', () => a.rig.appliance.state === 'Failed')
  assert.match(a.rig.appliance.failure!, /not answered for too long/)
  assert.equal((await sign(a, 'x')).status, 412)
  const { json } = await a.rig.call('GET', '/health/diagnose')
  assert.match(JSON.stringify(json()), /not answered for too long/)
  b.member.start()
  await until('it is not', () => a.rig.appliance.state === 'Operational')
  assert.equal((await sign(a, 'x')).status, 200)
  assert.equal(a.rig.appliance.failure, undefined)
})

test('a node that has nothing yet is not opened without the others', async (t) => {
  const cluster = await startEtcd(t, 'a', 'b', 'c')
  const [first, second, third] = cluster.members
  const a = await openFirst(t, first!)
  await a.rig.key('x')
  await found(a)
  const b = await joinNode(t, [a], second!)
  await second!.kill()
  const { status, headers } = await b.rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } })
  assert.equal(status, 503)
  assert.equal(headers['retry-after'], '1')
  assert.equal(b.rig.appliance.state, 'Locked')
  await third!.kill()
  second!.start()
  await unlock(b)
  assert.equal((await sign(b, 'x')).status, 200)
})

test('who cannot found a cluster stays alone, and what it has changes as before', async (t) => {
  const { members } = await startEtcd(t, 'a')
  const etcd = members[0]!.connect()
  await etcd.put('/coffer/head', new Uint8Array(8))
  const a = await openFirst(t, members[0]!)
  await assert.rejects(found(a), failsWith('conflict', /cluster already/))
  assert.equal(a.isMember, false)
  await a.rig.key('x')
  await members[0]!.kill()
  await assert.rejects(found(a), (error) => error instanceof EtcdError && error.code === 'unavailable')
  await a.rig.key('y')
  await lock(a)
  await unlock(a)
  assert.equal((await sign(a, 'y')).status, 200)
  assert.equal(a.rig.appliance.replica, null)
})

test('an appliance founds one cluster', async (t) => {
  const [a] = await openNodes(t, await startEtcd(t, 'a'))
  await assert.rejects(found(a!), failsWith('conflict', /in a cluster already/))
  await a!.rig.key('x')
})

test('a backup that is restored on one node is there on all of them; one of another domain key is not restored', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b', 'c'), {
    before: async (rig) => {
      await rig.key('old')
      await rig.user('backup', 'Backup')
      const json = { newPassphrase: PASSPHRASE, currentPassphrase: '' }
      assert.equal(await rig.status('PUT', '/config/backup-passphrase', { as: 'admin', json }), 204)
    },
  })
  const [a, b, c] = nodes as [Node, Node, Node]
  assert.equal((await sign(a, 'old')).status, 200)
  await a.rig.appliance.open().flush()
  const backup = await backupOf(a)
  await a.rig.key('new')
  assert.equal(await a.rig.status('DELETE', '/keys/old', { as: 'admin' }), 204)
  await until('others have it', async () => (await sign(c, 'new')).status === 200)
  await lock(c)

  const former = (await b.rig.call('GET', '/keys', { as: 'admin' })).headers.etag
  assert.equal(await restore(b, backup), 204)
  assert.equal((await sign(b, 'old')).status, 200)
  assert.equal(await b.rig.status('GET', '/keys/new', { as: 'admin' }), 404)
  assert.notEqual((await b.rig.call('GET', '/keys', { as: 'admin' })).headers.etag, former)
  await until('the others have it', async () => (await sign(a, 'old')).status === 200)
  assert.equal(await a.rig.status('GET', '/keys/new', { as: 'admin' }), 404)
  await unlock(c)
  assert.equal((await sign(c, 'old')).status, 200)
  assert.equal(await c.rig.status('GET', '/keys/new', { as: 'admin' }), 404)
  await a.rig.key('newer')
  assert.equal((await sign(c, 'newer')).status, 200)
  await expectSame(nodes)
  const etcd = a.member.connect()
  await until('what was replaced is gone', async () => {
    const places = new Set<string>()
    for await (const page of etcd.pages('/coffer/', (await etcd.get('/coffer/head')).revision))
      for (const { key } of page) places.add(key.split('/')[2]!)
    return places.size === 2 // the head, and what there is
  })

  const other = await openFirst(t, a.member)
  await other.rig.user('backup', 'Backup')
  const json = { newPassphrase: PASSPHRASE, currentPassphrase: '' }
  assert.equal(await other.rig.status('PUT', '/config/backup-passphrase', { as: 'admin', json }), 204)
  const foreign = await backupOf(other)
  assert.equal(await restore(b, foreign), 412)
  assert.equal(await restore(b, foreign.subarray(0, foreign.length - 9)), 400)
  assert.equal((await sign(b, 'newer')).status, 200)
  await a.rig.key('newest')
  assert.equal((await sign(b, 'newest')).status, 200)
})

test('a namespace comes and goes with all its keys, as backups have it, also while it is being deleted', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), {
    before: async (rig) => {
      await rig.user('many~admin', 'Administrator')
      await rig.user('backup', 'Backup')
      const json = { newPassphrase: PASSPHRASE, currentPassphrase: '' }
      assert.equal(await rig.status('PUT', '/config/backup-passphrase', { as: 'admin', json }), 204)
    },
  })
  const [a, b] = nodes as [Node, Node]
  b.rig.use('many~admin', 'passphrase of many~admin')
  const without = await backupOf(a)
  assert.equal(await a.rig.status('PUT', '/namespaces/many', { as: 'admin' }), 204)
  for (let n = 0; n < MANY; n++) await a.rig.key(`key${n}`, {}, 'many~admin')
  const full = await backupOf(a)
  const listed = async (count: number): Promise<void> => {
    await expectSame(nodes)
    const [own, other] = await Promise.all(nodes.map(({ rig }) => rig.call('GET', '/keys', { as: 'many~admin' })))
    assert.deepEqual([own!.json().length, other!.json().length], [count, count])
    assert.equal(own!.headers.etag, other!.headers.etag)
  }
  for (let n = 0; n < 2; n++) {
    assert.equal(await restore(a, without), 204)
    await expectSame(nodes)
    for (const { rig } of nodes) assert.deepEqual((await rig.call('GET', '/namespaces', { as: 'admin' })).json(), [])
    assert.equal(await restore(a, full), 204)
    await listed(MANY)
  }
  for (let n = 0; n < 2; n++) {
    assert.equal(await b.rig.status('DELETE', '/namespaces/many', { as: 'admin' }), 204)
    assert.equal(await restore(a, full), 204)
    await listed(MANY)
  }
  assert.equal(await b.rig.status('DELETE', '/namespaces/many', { as: 'admin' }), 204)
  await until('its name is free', async () => (await a.rig.status('PUT', '/namespaces/many', { as: 'admin' })) === 204)
  await listed(0)
})

const MANY = 120 // keys: more than go at once
const PASSPHRASE = 'words that open a backup'

async function backupOf({ rig }: Node): Promise<Uint8Array<ArrayBuffer>> {
  const { status, bytes } = await rig.call('POST', '/system/backup?format=coffer', { as: 'backup' })
  assert.equal(status, 200)
  return new Uint8Array(bytes)
}

const restore = ({ rig }: Node, backup: Uint8Array<ArrayBuffer>): Promise<number> =>
  rig.status('POST', `/system/restore?backupPassphrase=${encodeURIComponent(PASSPHRASE)}`, {
    as: 'admin',
    body: backup,
    headers: { 'content-type': 'application/octet-stream' },
  })

test('the rest of a deleted namespace goes, whichever member deleted it, and nothing of a new one with its name', async (t) => {
  const nodes = await openNodes(t, await startEtcd(t, 'a', 'b'), {
    before: async (rig) => {
      await rig.user('many~admin', 'Administrator')
      assert.equal(await rig.status('PUT', '/namespaces/many', { as: 'admin' }), 204)
      for (let n = 0; n < 150; n++) await rig.key(`key${n}`, {}, 'many~admin')
    },
  })
  const [a, b] = nodes as [Node, Node]
  assert.equal(await a.rig.status('DELETE', '/namespaces/many', { as: 'admin' }), 204)
  await until(
    'it is gone on the other',
    async () => (await b.rig.call('GET', '/namespaces', { as: 'admin' })).json().length === 0,
  )
  await lock(b) // which goes on with it, too
  await unlock(b)
  await until(
    'it can be made anew',
    async () => (await b.rig.status('PUT', '/namespaces/many', { as: 'admin' })) === 204,
  )
  b.rig.use('many~admin', 'passphrase of many~admin')
  await b.rig.key('key0', {}, 'many~admin')
  await expectSame(nodes)
  assert.equal(await a.rig.status('GET', '/keys/key0', { as: 'many~admin' }), 200)
  assert.equal((await a.rig.call('GET', '/keys', { as: 'many~admin' })).json().length, 1)
})
