// @test long 125
/** How a cluster comes to be, grows and shrinks: contract section 3.6, each appliance with a real etcd, over TLS. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { splitLine } from '../../support/client.ts'
import { createClusterCa } from '../../support/cluster-ca.ts'
import { ADMIN, UNLOCK } from '../../support/in-process.ts'
import { fileNeeds } from '../../support/tools.ts'
import { BRISK } from '../appliance/rig.ts'
import {
  BACKUP,
  certify,
  expect,
  forceNew,
  freeAddress,
  join,
  keysAt,
  membersAt,
  networkOf,
  openNode,
  promote,
  register,
  restart,
  unlock,
  until,
} from './rig.ts'

await fileNeeds('etcd', 'openssl')

test('a node that is alone makes a cluster, which another joins: both have all keys and users, and those made since', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca, { unlockPassphrase: 'another unlock passphrase' })
  await a.rig.key('of-a')
  await a.rig.user('operator', 'Operator')
  await b.rig.key('of-b')
  assert.equal(a.etcd.pid, null, 'alone it runs no etcd')
  const [alone] = await membersAt(a)

  const { members, joinerKit } = await register(a, b)
  const { deviceId } = a.rig.appliance
  assert.deepEqual(
    members.map(({ name, urls, learner }) => ({ name, urls, learner })).sort((one) => (one.learner ? 1 : -1)),
    [
      { name: deviceId, urls: [a.url], learner: false },
      { name: '', urls: [b.url], learner: true },
    ],
  )
  assert.notEqual(members.find(({ name }) => name === deviceId)!.id, alone!.id)
  assert.deepEqual(await membersAt(a), members)
  await a.rig.key('made-meanwhile')

  const input = { members, joinerKit, backupPassphrase: BACKUP }
  await expect(204, b.rig.call('POST', '/cluster/join', { as: 'admin', json: input }))
  assert.equal(b.rig.appliance.state, 'Locked')
  const { id } = members.find(({ learner }) => learner)!
  await promote(a, id)
  await expect(403, b.rig.call('POST', '/unlock', { json: { passphrase: 'another unlock passphrase' } }))
  b.rig.nowMs += 1000
  await unlock(b, UNLOCK)

  assert.deepEqual(await keysAt(b), ['made-meanwhile', 'of-a'])
  await b.rig.key('made-there')
  await until('it is on the first', async () => (await keysAt(a)).includes('made-there'))
  assert.deepEqual(
    (await membersAt(b)).map(({ name, learner }) => [name, learner]).sort(),
    [
      [a.rig.appliance.deviceId, false],
      [b.rig.appliance.deviceId, false],
    ].sort(),
  )
  assert.equal(b.rig.appliance.configuration.network.ipAddress, b.address, 'its own settings have stayed')
  assert.match(joinerKit, /^[A-Za-z0-9+/=]+$/)

  // Both are members also after a restart.
  await restart(b)
  assert.equal(b.rig.appliance.state, 'Locked')
  await unlock(b, UNLOCK)
  assert.deepEqual(await keysAt(b), ['made-meanwhile', 'made-there', 'of-a'])
  assert.equal((await membersAt(b)).length, 2)
})

test('a learner opens with what has come to it, and goes on reading that; it changes nothing until it is promoted', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca)
  await a.rig.key('before')
  await a.rig.user('operator', 'Operator')
  b.rig.use('operator', 'passphrase of operator')
  const { members, joinerKit } = await register(a, b)
  const input = { members, joinerKit, backupPassphrase: BACKUP }
  await expect(204, b.rig.call('POST', '/cluster/join', { as: 'admin', json: input }))
  await unlock(b, UNLOCK)
  const sign = { as: 'operator', json: { mode: 'EdDSA', message: 'AAAA' } }
  await expect(200, b.rig.call('POST', '/keys/before/sign', sign))
  const refused = await expect(503, b.rig.call('PUT', '/namespaces/x', { as: 'admin' }))
  assert.match(refused.json().message, /no vote yet/)
  assert.match(
    (await expect(412, b.rig.call('GET', '/cluster/members', { as: 'admin' }))).json().message,
    /no vote yet/,
  )
  assert.equal(await b.rig.status('POST', '/cluster/force-new', { as: `unlock:${UNLOCK}` }), 412)
  await a.rig.key('since')
  await until('it has come', async () => (await b.rig.call('POST', '/keys/since/sign', sign)).status === 200)

  await restart(b)
  await unlock(b, UNLOCK)
  b.rig.use('operator', 'passphrase of operator')
  await expect(200, b.rig.call('POST', '/keys/since/sign', sign))
  await promote(a, members.find(({ learner }) => learner)!.id)
  await until('it has a vote', async () => (await b.rig.call('PUT', '/namespaces/x', { as: 'admin' })).status === 204)
  await expect(200, b.rig.call('GET', '/cluster/members', { as: 'admin' }))

  // Right after that, another one: etcd refuses it until all were reached for five seconds.
  const c = await openNode(t, ca)
  await expect(201, a.rig.call('POST', '/cluster/members', { as: 'admin', json: { urls: [c.url] } }))
})

test('what is no reason to begin a cluster leaves the node alone, with nothing of an etcd', async (t) => {
  const ca = createClusterCa(t)
  const node = await openNode(t, ca, { ca: null })
  const add = (urls: string[]) => node.rig.call('POST', '/cluster/members', { as: 'admin', json: { urls } })
  const other = 'https://127.0.0.9:2380'
  assert.match((await expect(412, add([other]))).json().message, /No cluster CA is set/)
  await certify(node, ca)
  for (const url of ['https://127.0.0.9', 'https://127.0.0.9:2381', 'https://127.0.0.9:2380/x', 'https://a,b:2380'])
    assert.match((await expect(400, add([url]))).json().message, /^urls: not an https URL with port 2380/)
  const [own] = await membersAt(node)
  await expect(400, node.rig.call('DELETE', `/cluster/members/${own!.id}`, { as: 'admin' }))
  const network = { ipAddress: '127.0.0.8', netmask: '255.0.0.0', gateway: '0.0.0.0' }
  await expect(204, node.rig.call('PUT', '/config/network', { as: 'admin', json: network }))
  assert.match((await expect(412, add([other]))).json().message, /has no subject alternative name 127\.0\.0\.8/)
  assert.equal(node.etcd.starts, 0)
  assert.equal(node.rig.appliance.cluster.node.membership, null)
})

test('one at a time joins; members are changed and removed by their ids, the last one is not', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca)
  const call = (line: string, json?: unknown) => a.rig.call(...splitLine(line), { as: 'admin', json })
  const { members } = await register(a, b)
  const learner = members.find(({ learner }) => learner)!
  const own = members.find(({ name }) => name !== '')!
  assert.match(
    (await expect(409, call('POST /cluster/members', { urls: ['https://127.0.0.9:2380'] }))).text(),
    /joining/,
  )
  await expect(412, call(`POST /cluster/members/${learner.id}/promote`))
  await expect(404, call('POST /cluster/members/1/promote'))
  await expect(404, call('DELETE /cluster/members/1'))
  await expect(404, call('PUT /cluster/members/1', { urls: [b.url] }))
  await expect(400, call(`PUT /cluster/members/${learner.id}`, { urls: ['https://127.0.0.9'] }))
  await expect(204, call(`PUT /cluster/members/${learner.id}`, { urls: ['https://127.0.0.9:2380'] }))
  assert.deepEqual((await membersAt(a)).find(({ id }) => id === learner.id)!.urls, ['https://127.0.0.9:2380'])
  await expect(204, call(`DELETE /cluster/members/${learner.id}`))
  assert.deepEqual(await membersAt(a), [own])
  const elsewhere = { urls: ['https://127.0.0.7:2380'] }
  assert.match((await expect(412, call(`PUT /cluster/members/${own.id}`, elsewhere))).text(), /127\.0\.0\.7/)
  assert.match((await expect(400, call(`DELETE /cluster/members/${own.id}`))).json().message, /only member/)

  const etag = (await call('GET /cluster/members')).headers.etag!
  const ifMatch = { headers: { 'if-match': etag } }
  assert.equal(await a.rig.status('GET', '/cluster/members', { as: 'admin', headers: { 'if-none-match': etag } }), 304)
  await register(a, b)
  assert.equal(await a.rig.status('GET', '/cluster/members', { as: 'admin', ...ifMatch }), 412)
})

test('in a cluster its CA stays, and a certificate that the others would refuse is refused', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  await register(a, await openNode(t, ca))
  const put = (path: string, body: string) =>
    a.rig.call('PUT', `/config/tls/${path}`, {
      as: 'admin',
      body,
      headers: { 'content-type': 'application/x-pem-file' },
    })
  assert.match((await expect(412, put('cluster-ca.pem', ca.certificate))).json().message, /in a cluster/)
  const { text: csr } = await a.rig.call('POST', '/config/tls/csr.pem', { as: 'admin', json: { commonName: 'node' } })
  assert.match(
    (await expect(412, put('cert.pem', ca.sign(csr(), '127.0.0.1')))).json().message,
    /subject alternative name/,
  )
  await expect(201, put('cert.pem', ca.sign(csr(), a.address, '127.0.0.1')))
  await until('its etcd shows the new one', () => a.etcd.starts === 2 && a.etcd.pid !== null)
  await until('and answers', async () => (await a.rig.call('GET', '/cluster/members', { as: 'admin' })).status === 200)

  await expect(201, put('cert.pem', ca.sign(csr(), a.address, '127.0.0.7')))
  await until('its etcd answers', async () => (await a.rig.status('GET', '/cluster/members', { as: 'admin' })) === 200)
  const own = (await membersAt(a)).find(({ learner }) => !learner)!
  const json = { urls: ['https://127.0.0.7:2380'] }
  await expect(204, a.rig.call('PUT', `/cluster/members/${own.id}`, { as: 'admin', json }))
  assert.match((await expect(412, put('cert.pem', ca.sign(csr(), a.address)))).json().message, /127\.0\.0\.7/)
})

test('a node that gets another address tells the others first, with a certificate for it and while they answer', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca)
  await join(a, b)
  const { id } = (await membersAt(a)).find(({ name }) => name === b.rig.appliance.deviceId)!
  const move = (ipAddress: string) => {
    const json = { ipAddress, netmask: '255.0.0.0', gateway: '0.0.0.0' }
    return b.rig.call('PUT', '/config/network', { as: 'admin', json })
  }
  const urlsAt = async (node: typeof a) => (await membersAt(node)).find((member) => member.id === id)!.urls
  const address = freeAddress()
  assert.match((await expect(412, move(address))).json().message, /subject alternative name/)
  assert.equal(b.rig.appliance.configuration.network.ipAddress, b.address)

  const { text: csr } = await b.rig.call('POST', '/config/tls/csr.pem', { as: 'admin', json: { commonName: 'node' } })
  const put = (...addresses: string[]) =>
    b.rig.call('PUT', '/config/tls/cert.pem', {
      as: 'admin',
      body: ca.sign(csr(), ...addresses, '127.0.0.1'),
      headers: { 'content-type': 'application/x-pem-file' },
    })
  await expect(201, put(b.address, address))
  await until('the others are told', async () => (await move(address)).status === 204)
  await until('they know', async () => (await urlsAt(a))[0] === `https://${address}:2380`)
  await expect(412, put(b.address))
  await expect(201, put(address))
  await restart(b)
  await unlock(b, UNLOCK)
  await until('they find it', async () => (await a.rig.call('PUT', '/namespaces/x', { as: 'admin' })).status === 204)
  assert.deepEqual(await urlsAt(b), [`https://${address}:2380`])

  // A member that the others cannot reach any more can correct its wrong address.
  await expect(201, put(address, b.address))
  await a.etcd.service.stop()
  await until('it misses them', async () => (await b.rig.call('PUT', '/namespaces/y', { as: 'admin' })).status === 503)
  b.laterMs -= 60_000 // however long it took to find out, it has just happened
  await expect(503, move(b.address))
  b.laterMs += 120_000
  await until('it has moved', async () => (await move(b.address)).status === 204)
  assert.equal(b.rig.appliance.configuration.network.ipAddress, b.address)
})

test('a node that is locked before it has moved stays where it is, also for the others', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca)
  const address = freeAddress()
  await certify(b, ca, address)
  await join(a, b)
  const ownAt = async (node: typeof a) =>
    (await membersAt(node)).find(({ name }) => name === b.rig.appliance.deviceId)!.urls

  await a.etcd.pause() // so that it takes as long as the lock
  const moving = b.rig.call('PUT', '/config/network', { as: 'admin', json: networkOf(address) })
  await wait(200)
  await expect(204, b.rig.call('POST', '/lock', { as: 'admin' }))
  a.etcd.resume()
  await expect(412, moving)
  assert.equal(b.rig.appliance.configuration.network.ipAddress, b.address)
  assert.equal(b.rig.appliance.configuration.peers.host, b.address)
  await until('it is there', async () => (await a.rig.status('GET', '/cluster/members', { as: 'admin' })) === 200)
  assert.deepEqual(await ownAt(a), [b.url])
  await unlock(b, UNLOCK)
  assert.deepEqual(await ownAt(b), [b.url])
})

test('a removed member is Failed, also after a restart, and may continue alone with its records', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca)
  await a.rig.key('common')
  await join(a, b)
  const id = (await membersAt(a)).find(({ name }) => name === b.rig.appliance.deviceId)!.id
  await until(
    'it is removed',
    async () => (await a.rig.call('DELETE', `/cluster/members/${id}`, { as: 'admin' })).status === 204,
  )
  await until('it hears of it', () => b.rig.appliance.state === 'Failed')
  assert.match(b.rig.appliance.failure!, /have removed this node/)
  const added = (await a.rig.call('GET', '/audit', { as: 'admin' }))
    .json()
    .lines.map(({ facts }: { facts?: { hosts?: string } }) => facts?.hosts)
  assert.ok(added.includes(`${b.address}:2380`), 'whom it has registered')
  assert.equal((await membersAt(a)).length, 1)
  await a.rig.key('later')

  await restart(b)
  assert.equal(b.rig.appliance.state, 'Failed')
  assert.equal(await b.rig.status('POST', '/unlock', { json: { passphrase: UNLOCK } }), 412)

  await expect(401, forceNew(b, 'not the unlock passphrase'))
  await expect(429, forceNew(b, UNLOCK))
  b.rig.nowMs += 1000
  await expect(401, forceNew(b, UNLOCK, 'admin'))
  await expect(401, forceNew(b, ADMIN))
  b.rig.nowMs += 1000
  await expect(204, forceNew(b, UNLOCK))
  assert.equal(b.rig.appliance.state, 'Locked')
  assert.equal(await b.etcd.service.hasData(), false)
  await unlock(b, UNLOCK)
  const { lines } = (await b.rig.call('GET', '/audit', { as: 'admin' })).json() as {
    lines: { action: string; result: number; facts: object }[]
  }
  const heard = lines.filter(({ action }) => action === 'cluster').map(({ result, facts }) => [result, facts])
  assert.deepEqual(heard, [[410, { failed: 'The other members of the cluster have removed this node' }]])
  assert.deepEqual(await keysAt(b), ['common'])
  await b.rig.key('alone-again')
  assert.deepEqual(
    (await membersAt(b)).map(({ name, urls }) => [name, urls]),
    [[b.rig.appliance.deviceId, [b.url]]],
  )
  await restart(b)
  await unlock(b, UNLOCK)
  assert.deepEqual(await keysAt(b), ['alone-again', 'common'])
})

test('a node that is removed while its firmware is not there hears of it once it is there again', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca)
  await join(a, b)
  const id = (await membersAt(a)).find(({ name }) => name === b.rig.appliance.deviceId)!.id
  const { dataDirectory, pool, appliance } = b.rig
  await pool.close()
  await appliance.close()
  await until(
    'it is removed',
    async () => (await a.rig.call('DELETE', `/cluster/members/${id}`, { as: 'admin' })).status === 204,
  )
  await until('its etcd has ended', () => b.etcd.pid === null)
  const { starts } = b.etcd
  b.rig = await b.openRig(dataDirectory)
  await until('it hears of it', () => b.rig.appliance.state === 'Failed')
  assert.match(b.rig.appliance.failure!, /have removed this node/)
  assert.equal(b.etcd.starts, starts + 1)
})

test('who removes itself is Failed', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca)
  await join(a, b)
  const id = (await membersAt(b)).find(({ name }) => name === b.rig.appliance.deviceId)!.id
  // On a busy computer it may be done although the answer to it came too late: 503, and 412 from then on.
  await until('it is removed', async () => {
    const { status } = await b.rig.call('DELETE', `/cluster/members/${id}`, { as: 'admin' })
    return status === 204 || b.rig.appliance.state === 'Failed'
  })
  assert.equal(b.rig.appliance.state, 'Failed')
  assert.equal((await membersAt(a)).length, 1)
})

test('of two nodes, one that has lost the other goes on alone with all that it had', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca)
  await a.rig.key('common')
  await join(a, b)
  await b.rig.key('made-there')
  assert.match((await expect(412, forceNew(b, UNLOCK))).json().message, /answers/)
  await a.rig.pool.close()
  await a.rig.appliance.close()
  await a.etcd.service.stop()
  await until('it is missed', async () => (await b.rig.call('PUT', '/namespaces/x', { as: 'admin' })).status === 503)
  await expect(412, forceNew(b, UNLOCK))
  assert.deepEqual(await keysAt(b), ['common', 'made-there'])

  b.laterMs += 60_000
  await expect(401, forceNew(b, 'not the unlock passphrase'))
  b.rig.nowMs += 1000
  await until('it goes on alone', async () => (await forceNew(b, UNLOCK)).status === 204)
  assert.equal(b.rig.appliance.state, 'Locked')
  await unlock(b, UNLOCK)
  assert.deepEqual(await keysAt(b), ['common', 'made-there'])
  await expect(204, b.rig.call('PUT', '/namespaces/x', { as: 'admin' }))
  assert.equal(b.etcd.pid, null)
})

test('how long the others have not answered is counted from their last answer, whether or not the node is locked', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca, { link: { timeouts: BRISK, isolatedMaxMs: 600_000 } })
  await join(a, b)
  const unlockAlone = async () => {
    await unlock(b, UNLOCK)
    const { cluster, replica } = b.rig.appliance
    await until('it is noticed', () => replica!.lostMs > 0 && cluster.node.lostMs > 0)
    return replica!.lostMs
  }
  const lock = () => expect(204, b.rig.call('POST', '/lock', { as: 'admin' }))
  await lock()
  const lockedAtMs = performance.now()
  await wait(LOCKED_MS) // in which they answer
  await a.etcd.pause()
  const lostMs = await unlockAlone()
  assert.ok(lostMs < performance.now() - lockedAtMs, 'since before it was locked')

  await lock()
  b.laterMs += 3600_000 // in which they do not
  assert.ok((await unlockAlone()) > 3600_000)
  await until('it is Failed', () => b.rig.appliance.state === 'Failed')
  assert.match(b.rig.appliance.failure!, /not answered for too long/)
  a.etcd.resume()
  await until('it is not', () => b.rig.appliance.state === 'Operational')
  await until(
    'it has what the others have',
    async () => (await b.rig.call('PUT', '/namespaces/x', { as: 'admin' })).status < 300,
  )
})

const LOCKED_MS = 10_000

test('a node in no cluster is forced into none', async (t) => {
  const node = await openNode(t, createClusterCa(t))
  await expect(401, forceNew(node, 'not the unlock passphrase'))
  node.rig.nowMs += 1000
  assert.match((await expect(412, forceNew(node, UNLOCK))).json().message, /in no cluster/)
  assert.equal(node.rig.appliance.state, 'Operational')
  await expect(204, node.rig.call('POST', '/lock', { as: 'admin' }))
  await expect(412, forceNew(node, UNLOCK))
  assert.equal(node.rig.appliance.state, 'Locked')
})

test('who is erased leaves the cluster first', async (t) => {
  const ca = createClusterCa(t)
  const asked: string[] = []
  const bootManager = {
    request: async (action: string) => void asked.push(action),
    slot: async () => {},
    receive: () => {},
  }
  const a = await openNode(t, ca)
  const b = await openNode(t, ca, { more: { bootManager } })
  await join(a, b)
  await until('others may be removed', async () => (await membersAt(a)).length === 2)
  await new Promise((resolve) => setTimeout(resolve, 5500)) // etcd refuses a removal before
  await expect(204, b.rig.call('POST', '/system/factory-reset', { as: 'admin' }))
  assert.deepEqual(asked, ['factoryReset'])
  await until('the other one is alone', async () => (await membersAt(a)).length === 1)
  await a.rig.key('still-there')
})
