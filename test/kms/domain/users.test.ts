/** Rules of users and namespaces that need races or a failing disk to show. Contract sections 7.3 to 7.5. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../../firmware/kms/domain/roles.ts'
import { databaseOf } from '../../../firmware/store/sqlite/file.ts'
import { utf8 } from '../../store/rig.ts'
import { openPool } from '../../support/pool.ts'
import { ADMIN, admin, code, createDomainRig, newUser } from './rig.ts'

const pool = await openPool()

const boss: Caller = { userId: 'ns~boss', namespace: 'ns', role: 'Administrator' }

test('of two creations of one user at the same time, one wins', async (t) => {
  const { domain } = await createDomainRig(t, pool)
  const [first, second] = await Promise.allSettled([
    domain.users.create(admin, 'one', newUser('passphrase one')),
    domain.users.create(admin, 'one', newUser('passphrase two', 'Metrics')),
  ])
  assert.equal(first.status, 'fulfilled')
  assert(second.status === 'rejected' && code('conflict')(second.reason))
  assert.deepEqual(domain.users.list(''), ['admin', 'one'])
  assert.equal(domain.users.get('one').role, 'Operator')
})

test('a namespace created during a derivation keeps root Administrators out', async (t) => {
  const { domain } = await createDomainRig(t, pool)
  const creation = domain.users.create(admin, 'ns~one', newUser('passphrase one'))
  await domain.namespaces.create(admin, 'ns')
  await assert.rejects(creation, code('forbidden'))
  assert.equal(domain.users.find('ns~one'), undefined)
})

test('a namespace deleted during a derivation ends what its Administrator began', async (t) => {
  const { domain } = await createDomainRig(t, pool)
  await domain.namespaces.create(admin, 'ns')
  await domain.users.create(boss, 'ns~old', newUser('passphrase old'))
  const creation = domain.users.create(boss, 'ns~one', newUser('passphrase one'))
  const change = domain.users.setPassphrase(boss, 'ns~old', utf8('passphrase new'))
  await domain.namespaces.remove(admin, 'ns', domain.keys)
  await assert.rejects(creation, code('forbidden'))
  await assert.rejects(change, code('forbidden'))
  assert.deepEqual(domain.users.list('ns'), ['ns~old'])
})

test('a user deleted during a derivation is not revived by a new passphrase', async (t) => {
  const rig = await createDomainRig(t, pool)
  await rig.domain.users.create(admin, 'one', newUser('passphrase one'))
  const change = rig.domain.users.setPassphrase(admin, 'one', utf8('passphrase two'))
  await rig.domain.users.remove(admin, 'one')
  await assert.rejects(change, code('notFound'))
  assert.deepEqual(rig.reopen().users.list(''), ['admin'])
})

test('tags added during a derivation survive it', async (t) => {
  const { domain } = await createDomainRig(t, pool)
  await domain.users.create(admin, 'one', newUser('passphrase one'))
  const change = domain.users.setPassphrase(admin, 'one', utf8('passphrase two'))
  await domain.users.addTag(admin, 'one', 'tag')
  await change
  assert.deepEqual(domain.users.tags('one'), ['tag'])
})

test('what a lock interrupts writes nothing', async (t) => {
  const rig = await createDomainRig(t, pool)
  await rig.domain.users.create(admin, 'old', newUser('passphrase old'))
  const creation = rig.domain.users.create(admin, 'one', newUser('passphrase one'))
  const change = rig.domain.users.setPassphrase(admin, 'old', utf8('passphrase new'))
  rig.reopen()
  await assert.rejects(creation, code('unavailable'))
  await assert.rejects(change, code('unavailable'))
  assert.deepEqual(rig.domain.users.list(''), ['admin', 'old'])
  assert(await rig.domain.authenticate('old', utf8('passphrase old')))
})

test('everything about users and namespaces is there after a lock', async (t) => {
  const rig = await createDomainRig(t, pool)
  await rig.domain.namespaces.create(admin, 'ns')
  await rig.domain.namespaces.create(admin, 'gone')
  await rig.domain.namespaces.remove(admin, 'gone', rig.domain.keys)
  await rig.domain.users.create(boss, 'ns~one', newUser('passphrase one'))
  await rig.domain.users.addTag(boss, 'ns~one', 'b')
  await rig.domain.users.addTag(boss, 'ns~one', 'a')
  const { users, namespaces } = rig.reopen()
  assert.deepEqual(namespaces.list(), ['ns'])
  assert.deepEqual(users.list(''), ['admin', 'ns~one'])
  assert.deepEqual(users.tags('ns~one'), ['a', 'b'])
  assert.equal(users.get('ns~one').realName, 'Someone')
})

test('a failing disk changes nothing in memory', async (t) => {
  const rig = await createDomainRig(t, pool)
  const { users, namespaces, keys } = rig.domain
  await users.create(admin, 'one', newUser('passphrase one'))
  await namespaces.create(admin, 'ns')
  const version = users.listVersion('')
  rig.fail(true)
  await assert.rejects(users.create(admin, 'two', newUser('passphrase two')), code('storage'))
  await assert.rejects(users.setPassphrase(admin, 'one', utf8('passphrase new')), code('storage'))
  await assert.rejects(users.addTag(admin, 'one', 'tag'), code('storage'))
  await assert.rejects(users.remove(admin, 'one'), code('storage'))
  await assert.rejects(namespaces.create(admin, 'other'), code('storage'))
  await assert.rejects(namespaces.remove(admin, 'ns', keys), code('storage'))
  assert.deepEqual(users.list(''), ['admin', 'one'])
  assert.deepEqual(users.tags('one'), [])
  assert.deepEqual(namespaces.list(), ['ns'])
  assert.equal(users.listVersion(''), version)
  assert(await rig.domain.authenticate('one', utf8('passphrase one')))
})

test('a damaged user is neither missing nor replaced, and the others work', async (t) => {
  const rig = await createDomainRig(t, pool)
  const rows = () => databaseOf(rig.store).prepare('SELECT count(*) AS n FROM users').get() as { n: number }
  const before = databaseOf(rig.store).prepare('SELECT slot FROM users').safeIntegers().all() as { slot: bigint }[]
  await rig.domain.users.create(admin, 'one', newUser('passphrase one'))
  rig.reopen(() => {
    const known = before.map(({ slot }) => slot).join()
    const damage = `UPDATE users SET sealed = zeroblob(length(sealed)) WHERE slot NOT IN (${known})`
    assert.equal(databaseOf(rig.store).prepare(damage).run().changes, 1)
  })
  const { users } = rig.domain
  assert.deepEqual(users.list(''), ['admin'])
  assert.throws(() => users.get('one'), code('storage'))
  await assert.rejects(users.create(admin, 'one', newUser('passphrase two')), code('storage'))
  assert.throws(() => rig.domain.authenticate('one', utf8('passphrase one')), code('storage'))
  assert.equal(rows().n, 2)
  assert(await rig.domain.authenticate('admin', utf8(ADMIN)))
})

test('a damaged namespace is neither missing nor replaced', async (t) => {
  const rig = await createDomainRig(t, pool)
  await rig.domain.namespaces.create(admin, 'ns')
  rig.reopen(() => {
    databaseOf(rig.store).exec('UPDATE namespaces SET sealed = zeroblob(length(sealed))')
  })
  const { namespaces } = rig.domain
  assert.deepEqual(namespaces.list(), [])
  await assert.rejects(namespaces.create(admin, 'ns'), code('storage'))
  assert.throws(() => namespaces.exists('ns'), code('storage'))
  await assert.rejects(namespaces.remove(admin, 'ns', rig.domain.keys), code('storage'))
  await namespaces.create(admin, 'other')
})
