/** The client of etcd against real ones, that are killed, stopped and lose their past. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { EtcdError, type EtcdErrorCode } from '../../../firmware/cluster/etcd/error.ts'
import type { Etcd, KeyValue, Revision } from '../../../firmware/cluster/etcd/etcd.ts'
import { startEtcd } from '../../support/etcd.ts'
import { fileNeeds } from '../../support/tools.ts'

await fileNeeds('etcd')

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (bytes: Uint8Array | null | undefined): string | null => (bytes ? new TextDecoder().decode(bytes) : null)
const HEAD = '/coffer/head'

const failsWith = (code: EtcdErrorCode) => (error: unknown) => {
  assert.ok(error instanceof EtcdError, String(error))
  assert.equal(error.code, code, error.message)
  return true
}

async function take(watch: AsyncGenerator<Revision>, count: number): Promise<Revision[]> {
  const revisions: Revision[] = []
  while (revisions.length < count) revisions.push((await watch.next()).value)
  return revisions
}

async function everything(etcd: Etcd, prefix: string, revision: number): Promise<KeyValue[]> {
  const entries: KeyValue[] = []
  for await (const page of etcd.pages(prefix, revision)) entries.push(...page)
  return entries
}

async function onceItMay(change: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await change()
    } catch (error) {
      assert.match((error as { code: string }).code, /^(precondition|unhealthy)$/)
      await wait(50)
    }
  }
}

test('changes all or nothing, on what a key was last changed at', async (t) => {
  const { members } = await startEtcd(t, 'a')
  const etcd = members[0]!.connect()
  const missing = await etcd.get(HEAD)
  assert.equal(missing.entry, null)

  const first = await etcd.changeIf(HEAD, 0, [
    { key: HEAD, value: utf8('1') },
    { key: '/coffer/x', value: new Uint8Array([0, 255]) },
  ])
  assert.equal(first.isDone, true)
  const { entry, revision } = await etcd.get(HEAD)
  assert.deepEqual([text(entry!.value), entry!.revision, revision], ['1', first.revision, first.revision])
  assert.deepEqual((await etcd.get('/coffer/x')).entry!.value, new Uint8Array([0, 255]))

  const late = await etcd.changeIf(HEAD, 0, [{ key: HEAD, value: utf8('2') }])
  assert.deepEqual(late, { isDone: false, revision: first.revision })
  const second = await etcd.changeIf(HEAD, first.revision, [
    { key: HEAD, value: utf8('2') },
    { key: '/coffer/x', value: null },
  ])
  assert.deepEqual(second, { isDone: true, revision: first.revision + 1 })
  assert.equal((await etcd.get('/coffer/x')).entry, null)
  assert.equal(text((await etcd.get(HEAD, { revision: first.revision })).entry!.value), '1')
  await assert.rejects(etcd.get(HEAD, { revision: second.revision + 1 }), failsWith('future'))
})

test('what is too large or asked twice is refused, and nothing of it is done', async (t) => {
  const { members } = await startEtcd(t, 'a')
  const etcd = members[0]!.connect()
  const { revision } = await etcd.get(HEAD)
  await assert.rejects(etcd.put('/coffer/x', new Uint8Array(2_000_000)), failsWith('tooLarge'))
  const twice = ['1', '2'].map((value) => ({ key: HEAD, value: utf8(value) }))
  await assert.rejects(etcd.changeIf(HEAD, 0, twice), failsWith('refused'))
  assert.equal((await etcd.get(HEAD)).revision, revision)
})

test('reads everything as it was at one revision, also where a page is larger than an answer may be', async (t) => {
  const { members } = await startEtcd(t, 'a')
  const etcd = members[0]!.connect()
  const large = randomBytes(1_400_000)
  const names = Array.from({ length: 600 }, (_, at) => `/coffer/g/${String(at).padStart(4, '0')}`)
  for (let at = 0; at < names.length; at += 100)
    await etcd.changeIf(
      HEAD,
      0,
      names.slice(at, at + 100).map((key) => ({ key, value: utf8(key) })),
    )
  for (const at of [3, 4, 5, 6, 7, 8, 9]) await etcd.put(names[at]!, large)
  await etcd.put('/coffer0', utf8('behind'))
  await etcd.put('/coffe', utf8('before'))
  const { revision } = await etcd.get(HEAD)
  await etcd.put(names[20]!, utf8('later'))
  await etcd.changeIf(HEAD, 0, [{ key: names[21]!, value: null }])

  const entries = await everything(etcd, '/coffer/', revision)
  assert.deepEqual(
    entries.map(({ key }) => key),
    names,
  )
  for (const { key, value } of entries) {
    if (value.length > 1000) assert.deepEqual(Buffer.from(value), large)
    else assert.equal(text(value), key)
  }
  assert.deepEqual(await everything(etcd, '/nothing/', revision), [])
})

test('watches every revision from one on, whole and in order, and ends when it is told to', async (t) => {
  const { members } = await startEtcd(t, 'a')
  const etcd = members[0]!.connect()
  let { revision } = await etcd.get(HEAD)
  const from = revision + 1
  const changes = Array.from({ length: 30 }, (_, n) => [
    { key: HEAD, value: utf8(String(n)) },
    { key: '/coffer/x', value: n % 3 === 0 ? utf8(`x${n}`) : null },
    { key: `/coffer/large/${n % 4}`, value: randomBytes(n % 10 === 0 ? 700_000 : 10) },
    { key: `/coffer/large/${(n % 4) + 10}`, value: randomBytes(n % 10 === 0 ? 700_000 : 10) },
  ])
  const revisions: number[] = []
  for (const [n, change] of changes.entries()) {
    if (n === 15) await etcd.put('/other', utf8('not watched'))
    const done = await etcd.changeIf(HEAD, n === 0 ? 0 : revision, change)
    assert.equal(done.isDone, true)
    revision = done.revision
    revisions.push(revision)
  }
  const stop = new AbortController()
  const watch = etcd.watch('/coffer/', from, stop.signal)
  const seen = await take(watch, changes.length)
  assert.deepEqual(
    seen.map(({ revision }) => revision),
    revisions,
  )
  for (const [n, { writes }] of seen.entries()) {
    const expected = new Map(changes[n]!.map(({ key, value }) => [key, value && Buffer.from(value)]))
    if (n % 3 === 2) expected.delete('/coffer/x') // removed when it was not there: nothing happens
    assert.deepEqual(new Map(writes.map(({ key, value }) => [key, value && Buffer.from(value)])), expected)
  }

  const next = watch.next()
  await etcd.put('/coffer/y', utf8('while it waits'))
  assert.equal(text((await next).value.writes[0].value), 'while it waits')
  const last = watch.next()
  stop.abort()
  await assert.rejects(last, failsWith('unavailable'))
})

test('says when what is to be watched or read has been compacted', async (t) => {
  const { members } = await startEtcd(t, 'a')
  const etcd = members[0]!.connect()
  for (const value of ['1', '2', '3']) await etcd.put('/coffer/x', utf8(value))
  const { revision } = await etcd.get('/coffer/x')
  await etcd.compact(revision)
  await assert.rejects(etcd.compact(revision), failsWith('compacted'))
  await assert.rejects(everything(etcd, '/coffer/', revision - 1), failsWith('compacted'))
  const { signal } = new AbortController()
  await assert.rejects(etcd.watch('/coffer/', revision - 1, signal).next(), failsWith('compacted'))
  assert.equal(text((await take(etcd.watch('/coffer/', revision, signal), 1))[0]!.writes[0]!.value), '3')
})

test('one that is missing, killed or stopped is unavailable in time, and answers again afterwards', async (t) => {
  const { members } = await startEtcd(t, 'a')
  const etcd = members[0]!.connect()
  await etcd.put('/coffer/x', utf8('1'))
  const { revision } = await etcd.get('/coffer/x')
  const { signal } = new AbortController()

  await members[0]!.pause()
  await assert.rejects(etcd.get('/coffer/x', { timeoutMs: 100 }), failsWith('unavailable'))
  await assert.rejects(etcd.put('/coffer/x', utf8('2'), 100), failsWith('unavailable'))
  members[0]!.resume()
  await members[0]!.ready()

  const watch = etcd.watch('/coffer/', revision + 10, signal)
  const cut = assert.rejects(watch.next(), failsWith('unavailable'))
  await etcd.get('/coffer/x')
  await members[0]!.kill()
  await cut
  await assert.rejects(etcd.get('/coffer/x'), failsWith('unavailable'))
  members[0]!.start()
  await members[0]!.ready()
  const { entry } = await etcd.get('/coffer/x')
  assert.match(text(entry!.value)!, /^[12]$/, 'what it did not answer was done or not')

  await members[0]!.pause()
  const waiting = [etcd.get('/coffer/x'), etcd.watch('/coffer/', 1, signal).next()]
  etcd.close()
  for (const one of waiting) await assert.rejects(one, failsWith('unavailable'))
  members[0]!.resume()
})

test('without a quorum it changes nothing, yet tells what its member has', async (t) => {
  const { members } = await startEtcd(t, 'a', 'b', 'c')
  const [a, b, c] = members.map((member) => member.connect())
  await a!.put('/coffer/x', utf8('1'))
  assert.equal(text((await b!.get('/coffer/x')).entry!.value), '1')
  assert.equal(text((await c!.get('/coffer/x')).entry!.value), '1')
  await Promise.all(members.slice(1).map((member) => member.kill()))
  await assert.rejects(a!.get('/coffer/x', { timeoutMs: 500 }), failsWith('unavailable'))
  const changed = a!.changeIf('/coffer/x', 0, [{ key: '/coffer/x', value: utf8('2') }], 500)
  await assert.rejects(changed, failsWith('unavailable'))
  const { entry, revision } = await a!.get('/coffer/x', { isLocal: true })
  assert.equal(text(entry!.value), '1')
  const pages = await Array.fromAsync(a!.pages('/coffer/', revision, { isLocal: true }))
  assert.deepEqual(
    pages.flat().map(({ key }) => key),
    ['/coffer/x'],
  )
})

test('adds a learner, which is promoted once it follows, and removes a member', async (t) => {
  const cluster = await startEtcd(t, 'a')
  const etcd = cluster.members[0]!.connect()
  const [self] = await etcd.members()
  assert.deepEqual(self, { id: self!.id, name: 'a', urls: [cluster.peerUrlOf('a')], isLearner: false })
  assert.match(self!.id, /^[0-9a-f]{1,16}$/)
  assert.equal((await etcd.get(HEAD)).memberId, self!.id)

  const { member, members } = await etcd.addLearner([cluster.peerUrlOf('b')])
  assert.deepEqual(member, { id: member.id, name: '', urls: [cluster.peerUrlOf('b')], isLearner: true })
  assert.equal(members.length, 2)
  await assert.rejects(etcd.addLearner([cluster.peerUrlOf('c')]), failsWith('precondition'))
  await assert.rejects(etcd.promote(member.id), failsWith('precondition'))
  await assert.rejects(etcd.promote('1'), failsWith('notFound'))
  await assert.rejects(etcd.removeMember('1'), failsWith('notFound'))

  const joined = cluster.join('b')
  await joined.ready()
  const follower = joined.connect()
  assert.equal((await follower.status()).isLearner, true)
  await assert.rejects(follower.get(HEAD), failsWith('learner'))
  await assert.rejects(follower.members(), failsWith('learner'))
  assert.equal((await follower.get(HEAD, { isLocal: true })).memberId, member.id)
  await onceItMay(() => etcd.promote(member.id))
  const { leader, memberId, version, errors } = await follower.status()
  assert.deepEqual([leader, memberId, errors], [self!.id, member.id, []])
  assert.match(version, /^3\./)
  assert.ok((await etcd.status()).databaseBytes > 0)
  await onceItMay(() => etcd.updateMember(member.id, [cluster.peerUrlOf('b2')]))
  assert.deepEqual((await etcd.members()).find(({ id }) => id === member.id)!.urls, [cluster.peerUrlOf('b2')])
  await onceItMay(() => etcd.removeMember(member.id))
  assert.deepEqual(
    (await etcd.members()).map(({ name }) => name),
    ['a'],
  )
})
