/** Records that the disk damages after they were read: deleting deletes them, and repairing restores them once. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInSlices } from '../../../firmware/base/slices.ts'
import type { Collection } from '../../../firmware/kms/domain/collections.ts'
import type { Caller } from '../../../firmware/kms/domain/roles.ts'
import { databaseOf } from '../../../firmware/store/sqlite/file.ts'
import { utf8 } from '../../store/rig.ts'
import { openPool } from '../../support/pool.ts'
import { admin, code, createDomainRig, type DomainRig, ED25519, newUser } from './rig.ts'

const pool = await openPool()
const operator: Caller = { userId: 'operator', namespace: '', role: 'Operator' }

const damage = ({ store, vault }: DomainRig, collection: Collection, name: string): void => {
  const statement = databaseOf(store).prepare(`UPDATE "${collection}" SET sealed = zeroblob(60) WHERE slot = ?`)
  assert.equal(statement.run(vault.slotOf(collection, name)).changes, 1)
}

const sign = ({ domain }: DomainRig, id: string) =>
  domain.keyUse.sign({ caller: operator, address: '192.0.2.1' }, id, 'EdDSA', () => utf8('message'))

/** Lost records are reported, and the rest is trusted from the next unlock on. */
async function expectTrusted(rig: DomainRig): Promise<void> {
  assert.match(rig.storeRig.reports.join(), /cannot be told whether others of them are the latest/)
  rig.storeRig.reports.length = 0
  const { users } = rig.reopen()
  await rig.vault.watch()
  await users.create(admin, 'next', newUser('passphrase of next'))
  assert.deepEqual(rig.storeRig.reports, [])
}

async function furnished(t: Parameters<typeof createDomainRig>[0]): Promise<DomainRig> {
  const rig = await createDomainRig(t, pool)
  const { users, namespaces, keys } = rig.domain
  await namespaces.create(admin, 'team')
  for (const id of ['operator', 'other']) await users.create(admin, id, newUser(`passphrase of ${id}`))
  for (const id of ['one', 'two']) await keys.generate(admin, id, ED25519, 'Curve25519')
  await sign(rig, 'one')
  return rig
}

test('a key that was damaged meanwhile is deleted: not listed, and not used', async (t) => {
  const rig = await furnished(t)
  const { keys } = rig.domain
  const version = keys.listVersion('')
  for (const collection of ['keys', 'privateKeys'] as const) damage(rig, collection, 'one')
  await keys.remove(admin, 'one')
  assert.deepEqual(keys.list('', {}), ['two'])
  assert.notEqual(keys.listVersion(''), version)
  assert.throws(() => keys.get('', 'one'), code('notFound'))
  await assert.rejects(sign(rig, 'one'), code('notFound'))
  await keys.generate(admin, 'one', ED25519, 'Curve25519')
  await sign(rig, 'one')
  assert.equal(keys.get('', 'one').operations, 1)
  await expectTrusted(rig)
  assert.deepEqual(rig.domain.keys.list('', {}), ['one', 'two'])
})

test('a user who was damaged meanwhile is deleted, and does not come in any more', async (t) => {
  const rig = await furnished(t)
  const { users } = rig.domain
  const passphrase = () => utf8('passphrase of other')
  const caller = await rig.domain.authenticate('other', passphrase())
  assert.ok(caller !== null && users.isCurrent(caller))
  damage(rig, 'users', 'other')
  await users.remove(admin, 'other')
  assert.deepEqual(users.list(''), ['admin', 'operator'])
  assert.equal(users.isCurrent(caller), false)
  assert.equal(await rig.domain.authenticate('other', passphrase()), null)
  await expectTrusted(rig)
})

test('a namespace that was damaged meanwhile is deleted', async (t) => {
  const rig = await furnished(t)
  const { namespaces, keys } = rig.domain
  damage(rig, 'namespaces', 'team')
  await namespaces.remove(admin, 'team', keys)
  assert.equal(namespaces.exists('team'), false)
  assert.deepEqual(namespaces.list(), [])
  await expectTrusted(rig)
})

test('a user who was damaged meanwhile and gets another passphrase is whole again', async (t) => {
  const rig = await furnished(t)
  damage(rig, 'users', 'other')
  await rig.domain.users.setPassphrase(admin, 'other', utf8('another passphrase'))
  await expectTrusted(rig)
  assert.ok((await rig.domain.authenticate('other', utf8('another passphrase'))) !== null)
})

test('a key that was damaged meanwhile and is mended from elsewhere is there once, with its uses', async (t) => {
  const rig = await furnished(t)
  const { keys } = rig.domain
  const copy = rig.vault.replicate(() => assert.fail())
  const rows = [...copy.rows()]
  const version = keys.listVersion('')
  for (const collection of ['keys', 'privateKeys'] as const) damage(rig, collection, 'one')
  damage(rig, 'users', 'other')
  damage(rig, 'namespaces', 'team')
  const comparison = copy.compare()
  for (const { collection, row } of rows) await runInSlices(comparison.add(collection, row))
  const { generation } = rig.vault
  await runInSlices(comparison.adopt({ head: copy.head(), generation, withinTransaction() {}, partly() {} }))
  assert.deepEqual(keys.list('', {}), ['one', 'two'])
  assert.equal(keys.size(''), 2)
  assert.equal(keys.listVersion(''), version)
  assert.deepEqual(rig.domain.users.list(''), ['admin', 'operator', 'other'])
  assert.deepEqual(rig.domain.namespaces.list(), ['team'])
  assert.equal(keys.get('', 'one').operations, 1)
  await sign(rig, 'one')
  assert.equal(keys.get('', 'one').operations, 2)
  rig.vault.standAlone()
  await keys.remove(admin, 'one')
  assert.deepEqual(keys.list('', {}), ['two'])
  assert.deepEqual(rig.reopen().keys.list('', {}), ['two'])
})
