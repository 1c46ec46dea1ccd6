/** The etcd of a cluster's member as the boot manager runs it, asked as the firmware asks: real ones, without a firmware. */

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { CofferError, type ErrorCode } from '../../firmware/base/error.ts'
import { connectToEtcd, type Etcd } from '../../firmware/cluster/etcd/etcd.ts'
import type { EtcdStart } from '../../firmware/cluster/etcd/service.ts'
import { type ClusterCa, createClusterCa } from '../support/cluster-ca.ts'
import { createTestEtcd, makeCommonDirectory, type TestEtcd } from '../support/etcd-service.ts'
import { commandLineOf } from '../support/proc.ts'
import { fileNeeds, MEMORY_DIRECTORY } from '../support/tools.ts'

await fileNeeds('etcd', 'openssl')

const DEADLINE_MS = 60_000
const LOOPBACK = '127.0.0.1' // where connections on this machine come from

async function until(condition: () => boolean | Promise<boolean>, what = ''): Promise<void> {
  for (const deadline = Date.now() + DEADLINE_MS; !(await condition()); await wait(20))
    assert.ok(Date.now() < deadline, `nothing came of it: ${what}`)
}

const failsWith =
  (code: ErrorCode, message = /./) =>
  (error: unknown) => {
    assert.ok(error instanceof CofferError, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, message)
    return true
  }

function client(t: TestContext, { service }: TestEtcd): Etcd {
  const etcd = connectToEtcd(service.socket)
  t.after(() => etcd.close())
  return etcd
}

const plain = (etcd: TestEtcd, how: EtcdStart['how'], more: Partial<EtcdStart> = {}): EtcdStart => ({
  how,
  name: 'a',
  peerUrl: etcd.peerUrl,
  members: [],
  token: 'token',
  tls: null,
  ...more,
})

test('nothing is there and nothing runs before it is asked for', async (t) => {
  const etcd = createTestEtcd(t)
  assert.equal(await etcd.service.hasData(), false)
  await etcd.service.stop()
  await etcd.service.erase()
  assert.equal(etcd.starts, 0)
  assert.equal(existsSync(etcd.dataDirectory), false)
})

test('one that was made answers, keeps what it was told, and comes back when it is killed', async (t) => {
  const etcd = createTestEtcd(t)
  await etcd.service.run(plain(etcd, 'create'))
  const asked = client(t, etcd)
  await asked.put('/coffer/x', new Uint8Array([7]))
  assert.equal(await etcd.service.hasData(), true)
  const first = etcd.pid
  await etcd.kill()
  await until(() => etcd.pid !== null)
  assert.notEqual(etcd.pid, first)
  await until(() => etcd.service.state.running)
  const value = async () => (await asked.get('/coffer/x').catch(() => null))?.entry?.value
  await until(async () => (await value())?.[0] === 7, 'a read')
  assert.match(etcd.lines.join('\n'), /The cluster's etcd ended with SIGKILL\. It is started again in 0\.1 s\./)
  assert.deepEqual(etcd.service.warnings(), etcd.lines)
})

test('asked again for the same it goes on; stopped, it is started on what it had', async (t) => {
  const etcd = createTestEtcd(t)
  await etcd.service.run(plain(etcd, 'create'))
  const first = etcd.pid
  await etcd.service.run(plain(etcd, 'run'))
  assert.equal(etcd.pid, first)
  await client(t, etcd).put('/coffer/x', new Uint8Array([7]))
  await etcd.service.stop()
  assert.equal(etcd.pid, null)
  assert.equal(etcd.service.state.running, false)
  assert.equal(await etcd.service.hasData(), true)
  await etcd.service.run(plain(etcd, 'run'))
  const again = client(t, etcd)
  await until(async () => (await again.get('/coffer/x').catch(() => null))?.entry?.value[0] === 7, 'a read')
})

test('none is started empty under an old name, nor a new one on old data', async (t) => {
  const etcd = createTestEtcd(t)
  await assert.rejects(etcd.service.run(plain(etcd, 'run')), failsWith('conflict', /its data is missing/))
  await etcd.service.run(plain(etcd, 'create'))
  for (const how of ['create', 'join'] as const)
    await assert.rejects(etcd.service.run(plain(etcd, how)), failsWith('conflict', /data of a former one/))
  assert.equal(etcd.starts, 1)

  rmSync(join(etcd.dataDirectory, 'member'), { recursive: true })
  await etcd.kill()
  await until(() => etcd.lines.some((line) => /It is not started again: its data is missing/.test(line)))
  await wait(300)
  assert.equal(etcd.starts, 1)
  await assert.rejects(etcd.service.run(plain(etcd, 'run')), failsWith('conflict'))
})

test('erased, nothing of it is left, and it can be made anew', async (t) => {
  const etcd = createTestEtcd(t)
  await etcd.service.run(plain(etcd, 'create'))
  await client(t, etcd).put('/coffer/x', new Uint8Array([7]))
  await etcd.service.erase()
  assert.deepEqual([etcd.pid, existsSync(etcd.directory), await etcd.service.hasData()], [null, false, false])
  await etcd.service.run(plain(etcd, 'create'))
  assert.equal((await client(t, etcd).get('/coffer/x')).entry, null)
})

test('one that does not listen to SIGTERM is killed in time', async (t) => {
  const etcd = createTestEtcd(t)
  await etcd.service.run(plain(etcd, 'create'))
  await etcd.pause()
  const startedAt = performance.now()
  await etcd.service.stop()
  assert.ok(performance.now() - startedAt < 15_000)
  assert.equal(etcd.pid, null)
})

test('one that cannot start is stopped, and says why', async (t) => {
  const etcd = createTestEtcd(t, { listenUrl: () => 'http://192.0.2.1:2380' }) // no address of this machine
  await assert.rejects(etcd.service.run(plain(etcd, 'create')), failsWith('busy', /ended with exit code 1/))
  assert.equal(etcd.pid, null)
  assert.ok(etcd.service.warnings().length > 0)
})

test('texts that would be other arguments are refused', async (t) => {
  const etcd = createTestEtcd(t)
  const tls = { certificate: '', key: new Uint8Array([1]), authority: '' }
  const peerUrl = 'https://127.0.0.1:2380'
  for (const wrong of [
    { name: 'a=b' },
    { name: '--name' },
    { token: 'a,b' },
    { peerUrl: 'http://127.0.0.1:2380' },
    { members: [{ name: 'b', urls: ['https://127.0.0.1:2380,c=https://127.0.0.1:2381'] }] },
  ])
    await assert.rejects(etcd.service.run(plain(etcd, 'create', { peerUrl, tls, ...wrong })), failsWith('invalid'))
  assert.deepEqual(tls.key, new Uint8Array(1)) // wiped
  assert.equal(etcd.starts, 0)
})

interface Member {
  etcd: TestEtcd
  peer: { name: string; urls: [string] }
  address: string
  run(how: EtcdStart['how'], members?: EtcdStart['members'], by?: ClusterCa): Promise<void>
}

/** Members have addresses of one network, 127.x.y.1, .2 and so on, so that parallel tests do not meet. */
function makeMembers(t: TestContext, ca: ClusterCa, ...names: string[]): Member[] {
  const network = `127.${1 + Math.floor(Math.random() * 254)}.${Math.floor(Math.random() * 256)}`
  const common = makeCommonDirectory(t)
  return names.map((name, index) => {
    const etcd = createTestEtcd(t, { name, common })
    const address = `${network}.${index + 1}`
    const peerUrl = `https://${address}:2380`
    return {
      etcd,
      peer: { name, urls: [peerUrl] },
      address,
      run(how, members = [], by = ca) {
        const tls = { ...by.issue(address, LOOPBACK), authority: ca.certificate }
        return etcd.service.run({ how, name, peerUrl, members, token: 'token', tls })
      },
    }
  })
}

/** Members that were reached only just are not changed. */
const onceItMay = (change: () => Promise<unknown>): Promise<void> =>
  until(() =>
    change().then(
      () => true,
      () => false,
    ),
  )

const answers = (asked: Etcd): Promise<void> => onceItMay(() => asked.status(1000))

test('members meet over TLS; one that was removed is told, and is not started again', async (t) => {
  const ca = createClusterCa(t)
  const [a, b] = makeMembers(t, ca, 'a', 'b') as [Member, Member]
  await a.run('create')
  const first = client(t, a.etcd)
  await onceItMay(() => first.addLearner(b.peer.urls))
  await b.run('join', [a.peer, b.peer])
  const learner = (await first.members()).find(({ isLearner }) => isLearner)!
  await onceItMay(() => first.promote(learner.id))
  const promoted = client(t, b.etcd)
  await onceItMay(() => promoted.put('/coffer/x', new Uint8Array([7]))) // once it has heard of it itself
  assert.deepEqual((await first.get('/coffer/x')).entry?.value, new Uint8Array([7]))

  let removed = 0
  b.etcd.service.onRemoved(() => removed++)
  await onceItMay(() => first.removeMember(learner.id))
  await until(() => removed === 1 && b.etcd.pid === null, b.etcd.lines.join('\n'))
  const { starts } = b.etcd
  await wait(500)
  assert.equal(b.etcd.starts, starts)
  assert.match(b.etcd.lines.join('\n'), /It is not started again: it is no longer a member of the cluster/)
  await first.put('/coffer/y', new Uint8Array([8]))
})

test('a joiner with the certificate of another authority does not come in', async (t) => {
  const ca = createClusterCa(t)
  const [a, b] = makeMembers(t, ca, 'a', 'b') as [Member, Member]
  await a.run('create')
  await client(t, a.etcd).addLearner(b.peer.urls)
  await assert.rejects(b.run('join', [a.peer, b.peer], createClusterCa(t)), failsWith('busy'))
  assert.equal(b.etcd.pid, null)
})

test('nothing secret is in its arguments, its environment, its log or a file with a name', async (t) => {
  const ca = createClusterCa(t)
  const [{ etcd, peer, address }] = makeMembers(t, ca, 'a') as [Member]
  const inMemory = () => readdirSync(MEMORY_DIRECTORY).filter((name) => name.startsWith('.'))
  const before = inMemory()
  const { certificate, key } = ca.issue(address, LOOPBACK)
  const words = Buffer.from(key)
    .toString()
    .split('\n')
    .filter((line) => /^[A-Za-z0-9+/=]{40,}$/.test(line))
  assert.ok(words.length > 0)
  const tls = { certificate, key, authority: ca.certificate }
  await etcd.service.run({ how: 'create', name: 'a', peerUrl: peer.urls[0], members: [], token: 'token', tls })
  assert.deepEqual([...key], Array(key.length).fill(0))
  const environment = readFileSync(`/proc/${etcd.pid}/environ`, 'utf8')
  const shown = [commandLineOf(etcd.pid!), environment, ...etcd.lines].join('\n')
  for (const word of words) assert.ok(!shown.includes(word))
  assert.equal(environment, 'GOMEMLIMIT=192MiB\0')
  const isOurs = (name: string) => !before.includes(name) && name.length === 33
  assert.deepEqual(inMemory().filter(isOurs), [])
  assert.equal(statSync(`/proc/${etcd.pid}/fd/4`).mode & 0o777, 0o600)
  assert.ok(readFileSync(`/proc/${etcd.pid}/fd/4`, 'utf8').includes(words[0]!)) // it is there that it reads it
})

test('what a killed one leaves does not hinder the next', async (t) => {
  const etcd = createTestEtcd(t)
  await etcd.service.run(plain(etcd, 'create'))
  for (let i = 0; i < 3; i++) {
    await etcd.kill()
    await until(() => etcd.pid !== null)
    await answers(client(t, etcd))
  }
  await etcd.service.stop()
  rmSync(etcd.service.socket, { force: true }) // where it had to be killed
  writeFileSync(etcd.service.socket, '')
  await etcd.service.run(plain(etcd, 'run'))
  await answers(client(t, etcd))
})
