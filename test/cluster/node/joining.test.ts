/** Joins that must not be, and joins that are cut: the node is as it was before, or joined. */

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as pathOf } from 'node:path'
import test, { type TestContext } from 'node:test'
import { CofferError } from '../../../firmware/base/error.ts'
import { type JoinerKit, readKit, sealKit } from '../../../firmware/cluster/membership/kit.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { createClusterCa } from '../../support/cluster-ca.ts'
import { CHEAP, UNLOCK } from '../../support/in-process.ts'
import { fileNeeds } from '../../support/tools.ts'
import {
  BACKUP,
  certify,
  expect,
  keysAt,
  NO_ETCD,
  openNode,
  promote,
  putCertificate,
  register,
  restart,
  type TestNode,
  unlock,
  until,
} from './rig.ts'

await fileNeeds('etcd', 'openssl')

const OWN_UNLOCK = 'unlock passphrase of its own'

async function openPair(t: TestContext) {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca, { unlockPassphrase: OWN_UNLOCK })
  await a.rig.key('of-a')
  await b.rig.key('of-b')
  return { ca, a, b }
}

async function expectAsBefore(node: TestNode): Promise<void> {
  assert.equal(node.rig.appliance.cluster.node.membership, null)
  assert.equal(node.rig.appliance.state, 'Operational')
  assert.deepEqual(await keysAt(node), ['of-b'])
  assert.equal(node.etcd.pid, null, 'no etcd runs')
  await restart(node)
  await unlock(node, OWN_UNLOCK)
  assert.deepEqual(await keysAt(node), ['of-b'])
  await node.rig.key('passing')
  await expect(204, node.rig.call('DELETE', '/keys/passing', { as: 'admin' }))
}

test('a wrong passphrase, an edited kit or one of another cluster is refused, and nothing is dropped', async (t) => {
  const { ca, a, b } = await openPair(t)
  const input = await register(a, b)
  const joinWith = (more: object) =>
    b.rig.call('POST', '/cluster/join', { as: 'admin', json: { ...input, backupPassphrase: BACKUP, ...more } })
  const refused = async (message: RegExp, more: object) => {
    assert.match((await expect(400, joinWith(more))).json().message, message)
    await expectAsBefore(b)
  }
  await refused(/Wrong backup passphrase/, { backupPassphrase: 'not what opens backups' })
  const bytes = Buffer.from(input.joinerKit, 'base64')
  bytes[60]! ^= 1
  await refused(/Wrong backup passphrase, or the joiner kit is damaged/, { joinerKit: bytes.toString('base64') })
  await refused(/not a joiner kit/, { joinerKit: 'AAAA' })
  const nameless = input.members.map((member) => (member.name === '' ? member : { ...member, name: 'a,b=c' }))
  await refused(/a name that no member has/, { members: nameless })

  const elsewhere = await openNode(t, ca)
  const { joinerKit } = await register(elsewhere, b)
  await refused(/of another cluster/, { joinerKit })
})

test('a cluster of another authority is not joined, nor with a certificate for another host', async (t) => {
  const { ca, a } = await openPair(t)
  const b = await openNode(t, ca, { ca: createClusterCa(t), unlockPassphrase: OWN_UNLOCK })
  await b.rig.key('of-b')
  const input = await register(a, b)
  const json = { ...input, backupPassphrase: BACKUP }
  assert.match(
    (await expect(400, b.rig.call('POST', '/cluster/join', { as: 'admin', json }))).json().message,
    /could not be joined/,
  )
  await expectAsBefore(b)
  const members = input.members.map((one) => (one.name === '' ? { ...one, urls: ['https://127.0.0.9:2380'] } : one))
  const other = await b.rig.call('POST', '/cluster/join', { as: 'admin', json: { ...json, members } })
  assert.match((await expect(412, Promise.resolve(other))).json().message, /subject alternative name/)
  await expectAsBefore(b)
})

test('with a certificate for another host that comes while it joins it does not, and goes on once it has one for its own', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b: TestNode = await openNode(t, ca, {
    unlockPassphrase: OWN_UNLOCK,
    service: (service) => ({
      ...service,
      async run(start) {
        await service.run(start)
        if (start.how === 'join') await putCertificate(b, ca, '127.0.0.1')
      },
    }),
  })
  await b.rig.key('of-b')
  const input = await register(a, b)
  const joins = () => b.rig.call('POST', '/cluster/join', { as: 'admin', json: { ...input, backupPassphrase: BACKUP } })
  assert.match((await expect(412, joins())).json().message, /no subject alternative name/)
  await expectAsBefore(b)
  await certify(b, ca)
  await expect(204, joins())
})

async function told(
  node: TestNode,
  joinerKit: string,
  change: (kit: JoinerKit) => Partial<JoinerKit>,
): Promise<string> {
  const sealed = readKit(joinerKit)
  const key = await node.rig.pool.scrypt(new TextEncoder().encode(BACKUP), sealed.salt, CHEAP)
  const kit = sealed.open(key.slice())
  return sealKit({ ...kit, ...change(kit) }, { salt: sealed.salt, key }, systemRandom)
}

test('a cluster that is older than the kit is refused, as is one with other records, and nothing is dropped', async (t) => {
  const { a, b } = await openPair(t)
  const input = await register(a, b)
  const joinWith = (joinerKit: string) =>
    b.rig.call('POST', '/cluster/join', { as: 'admin', json: { ...input, joinerKit, backupPassphrase: BACKUP } })
  const newer = await told(b, input.joinerKit, ({ revision }) => ({ revision: revision + 1 }))
  assert.match((await expect(400, joinWith(newer))).json().message, /the cluster is older than it/)
  await expectAsBefore(b)
  const other = await told(b, input.joinerKit, () => ({ digest: '00'.repeat(32) }))
  assert.match((await expect(400, joinWith(other))).json().message, /not those that the joiner kit is of/)
  await expectAsBefore(b)
})

test('what only its head can tell, a node that has joined finds out before it follows', async (t) => {
  const { a, b } = await openPair(t)
  const input = await register(a, b)
  const newer = await told(b, input.joinerKit, ({ head }) => ({ head: { ...head, n: head.n + 1000 } }))
  const json = { ...input, joinerKit: newer, backupPassphrase: BACKUP }
  await expect(204, b.rig.call('POST', '/cluster/join', { as: 'admin', json }))
  await promote(a, input.members.find(({ learner }) => learner)!.id)
  await until('it is refused', async () => {
    const { status, text } = await b.rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } })
    assert.ok(status === 503 || status === 500, text())
    return status === 500 && /older than when this node was registered/.test(text())
  })
  assert.equal(b.rig.appliance.state, 'Locked')
})

test('cut at any moment of a join, a node is as it was before, or joined', async (t) => {
  const cuts: string[] = []
  /** State of the disk if the power failed now. */
  const cut = (): void => {
    const copy = mkdtempSync(pathOf(tmpdir(), 'coffer-cut-'))
    t.after(() => rmSync(copy, { recursive: true, force: true }))
    cpSync(b.rig.dataDirectory, copy, { recursive: true })
    cuts.push(copy)
  }
  const around = <A extends unknown[], R>(act: (...input: A) => Promise<R>) => {
    return async (...input: A): Promise<R> => {
      cut()
      try {
        return await act(...input)
      } finally {
        cut()
      }
    }
  }
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b: TestNode = await openNode(t, ca, {
    unlockPassphrase: OWN_UNLOCK,
    service: (service) => ({
      ...service,
      run: (start) => (start.how === 'run' ? service.run : around(service.run))(start),
      erase: around(service.erase),
    }),
  })
  await b.rig.key('of-b')
  const input = await register(a, b)
  await expect(204, b.rig.call('POST', '/cluster/join', { as: 'admin', json: { ...input, backupPassphrase: BACKUP } }))
  cut()

  const found: string[] = []
  for (const dataDirectory of cuts) {
    const rig = await b.openRig(dataDirectory, NO_ETCD)
    assert.equal(rig.appliance.state, 'Locked')
    if (rig.appliance.cluster.node.membership !== null) found.push('joined')
    else {
      await unlock({ rig }, OWN_UNLOCK)
      assert.deepEqual(await keysAt({ rig }), ['of-b'])
      found.push('before')
    }
    await rig.pool.close()
    await rig.appliance.close()
  }
  assert.deepEqual(found, ['before', 'before', 'before', 'before', 'joined'])
})

test('a join that was cut goes on with the same kit, and with another one begins anew', async (t) => {
  let cuts = 2
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca, {
    unlockPassphrase: OWN_UNLOCK,
    service: (service) => ({
      ...service,
      async run(start) {
        await service.run(start)
        if (start.how !== 'create' && cuts-- > 0) throw new CofferError('storage', 'It ends here')
      },
    }),
  })
  await a.rig.key('of-a')
  await b.rig.key('of-b')
  const first = await register(a, b)
  const joinWith = (input: typeof first) =>
    b.rig.call('POST', '/cluster/join', { as: 'admin', json: { ...input, backupPassphrase: BACKUP } })
  await expect(500, joinWith(first))
  await expectAsBefore(b)
  assert.equal(await b.etcd.service.hasData(), true)
  await expect(500, joinWith(first))

  const id = first.members.find(({ learner }) => learner)!.id
  await until(
    'it is removed',
    async () => (await a.rig.call('DELETE', `/cluster/members/${id}`, { as: 'admin' })).status === 204,
  )
  const second = await register(a, b)
  await expect(204, joinWith(second))
  await promote(a, second.members.find(({ learner }) => learner)!.id)
  await unlock(b, UNLOCK)
  assert.deepEqual(await keysAt(b), ['of-a'])
  await expect(409, joinWith(second))
})
