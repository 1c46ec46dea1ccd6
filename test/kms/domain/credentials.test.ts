/** Remembered credentials. Contract section 7.2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { utf8 } from '../../store/rig.ts'
import { openPool } from '../../support/pool.ts'
import { ADMIN, admin, CHEAP, code, createDomainRig, newUser } from './rig.ts'

const pool = await openPool()

test('a right passphrase is derived once and then remembered for five minutes', async (t) => {
  const { domain, derivations, ...rig } = await createDomainRig(t, pool)
  const clock = rig as { nowMs: number }
  assert.equal(clock.nowMs, 0)
  const login = () => domain.authenticate('admin', utf8(ADMIN))
  assert.deepEqual(await login(), admin)
  assert.deepEqual(await login(), admin)
  assert.equal(derivations.length, 1)
})

test('remembered credentials are answered without a promise, so that a signature waits for no turn of it', async (t) => {
  const { domain } = await createDomainRig(t, pool)
  assert(domain.authenticate('admin', utf8(ADMIN)) instanceof Promise)
  await domain.authenticate('admin', utf8(ADMIN))
  assert.deepEqual(domain.authenticate('admin', utf8(ADMIN)), admin)
  assert(domain.authenticate('admin', utf8('admin passphrasf')) instanceof Promise)
})

test('what was remembered is forgotten five minutes after its last use, and twelve hours after its derivation', async (t) => {
  const rig = await createDomainRig(t, pool)
  const login = () => rig.domain.authenticate('admin', utf8(ADMIN))
  await login()
  rig.nowMs = 299_999
  await login()
  assert.equal(rig.derivations.length, 1)
  rig.nowMs = 599_998
  await login()
  assert.equal(rig.derivations.length, 1)
  rig.nowMs = 899_998
  assert.deepEqual(await login(), admin)
  assert.equal(rig.derivations.length, 2)
  const againMs = rig.nowMs
  while (rig.nowMs < againMs + 12 * 3_600_000 - 240_000) {
    rig.nowMs += 240_000
    if (rig.nowMs < againMs + 12 * 3_600_000) await login()
  }
  assert.equal(rig.derivations.length, 2)
  rig.nowMs = againMs + 12 * 3_600_000
  assert.deepEqual(await login(), admin)
  assert.equal(rig.derivations.length, 3)
})

test('a wrong passphrase is derived each time, also beside a remembered right one', async (t) => {
  const { domain, derivations } = await createDomainRig(t, pool)
  await domain.authenticate('admin', utf8(ADMIN))
  for (let i = 0; i < 2; i++) assert.equal(await domain.authenticate('admin', utf8('admin passphrasf')), null)
  assert.equal(await domain.authenticate('admin', new Uint8Array()), null)
  assert.equal(derivations.length, 4)
  assert.deepEqual(await domain.authenticate('admin', utf8(ADMIN)), admin)
  assert.equal(derivations.length, 4)
})

test('an unknown user costs the same derivation as a wrong passphrase', async (t) => {
  const { domain, derivations } = await createDomainRig(t, pool)
  assert.equal(await domain.authenticate('nobody', utf8(ADMIN)), null)
  assert.equal(await domain.authenticate('nobody', utf8(ADMIN)), null)
  assert.deepEqual(derivations, [CHEAP, CHEAP])
})

test('equal requests at the same time share one derivation, others do not', async (t) => {
  const { domain, derivations } = await createDomainRig(t, pool)
  const right = Array.from({ length: 50 }, () => domain.authenticate('admin', utf8(ADMIN)))
  const wrong = Array.from({ length: 50 }, () => domain.authenticate('admin', utf8('not the passphrase')))
  const unknown = Array.from({ length: 50 }, () => domain.authenticate('nobody', utf8(ADMIN)))
  assert((await Promise.all(right)).every((caller) => caller?.userId === 'admin'))
  assert((await Promise.all([...wrong, ...unknown])).every((caller) => caller === null))
  assert.equal(derivations.length, 3)
})

test('a new passphrase, a deleted user and a lock make it forget', async (t) => {
  const rig = await createDomainRig(t, pool)
  const { users } = rig.domain
  const login = (passphrase: string) => rig.domain.authenticate('one', utf8(passphrase))
  await users.create(admin, 'one', newUser('the first one'))
  assert(await login('the first one'))
  await users.setPassphrase(admin, 'one', utf8('the second one'))
  assert.equal(await login('the first one'), null)
  assert(await login('the second one'))
  await users.remove(admin, 'one')
  assert.equal(await login('the second one'), null)
  await users.create(admin, 'one', newUser('the second one', 'Metrics'))
  const before = rig.derivations.length
  assert.equal((await login('the second one'))?.role, 'Metrics')
  assert.equal(rig.derivations.length, before + 1)
  rig.reopen()
  assert(await login('the second one'))
  assert.equal(rig.derivations.length, before + 2)
})

test('changing tags keeps what is remembered', async (t) => {
  const { domain, derivations } = await createDomainRig(t, pool)
  await domain.users.create(admin, 'one', newUser('the first one'))
  await domain.authenticate('one', utf8('the first one'))
  const before = derivations.length
  await domain.users.addTag(admin, 'one', 'tag')
  assert(await domain.authenticate('one', utf8('the first one')))
  assert.equal(derivations.length, before)
})

test('a user changed or deleted while the passphrase is derived is not let in', async (t) => {
  const { domain } = await createDomainRig(t, pool)
  await domain.users.create(admin, 'one', newUser('the first one'))
  const login = domain.authenticate('one', utf8('the first one'))
  await domain.users.remove(admin, 'one')
  assert.equal(await login, null)
})

test('a lock while a passphrase is derived ends in unavailable', async (t) => {
  const { domain } = await createDomainRig(t, pool)
  const login = Promise.resolve(domain.authenticate('admin', utf8(ADMIN)))
  domain.close()
  await assert.rejects(login, code('unavailable'))
})

test('only what is remembered is recalled, and nothing is derived for it', async (t) => {
  const { domain, derivations } = await createDomainRig(t, pool)
  assert.equal(domain.recall('admin', utf8(ADMIN)), null)
  assert.equal(domain.recall('nobody', utf8(ADMIN)), null)
  await domain.authenticate('admin', utf8(ADMIN))
  assert.deepEqual(domain.recall('admin', utf8(ADMIN)), admin)
  assert.equal(domain.recall('admin', utf8('admin passphrasf')), null)
  assert.equal(derivations.length, 1)
})

test('a hundred guesses from one prefix wait behind somebody else, and behind who was right before', async (t) => {
  const { domain, derivations } = await createDomainRig(t, pool)
  const derived: number[] = []
  const note = () => derived.push(derivations.length)
  const flood = { rank: 'unknown', prefix: '192.0.2.1' } as const
  const guesses = Array.from({ length: 100 }, (_, n) => domain.authenticate(`user${n}`, utf8('a guess of them'), flood))
  const elsewhere = domain.authenticate('admin', utf8(ADMIN), { rank: 'unknown', prefix: '192.0.2.2' })
  assert.deepEqual(await elsewhere, admin)
  note()
  await domain.users.create(admin, 'one', newUser('the first one'))
  const known = domain.authenticate('one', utf8('the first one'), { ...flood, rank: 'known' })
  assert.equal((await known)?.userId, 'one')
  note()
  assert.ok(derived[0]! <= 3 && derived[1]! <= 7, derived.join(' '))
  assert.deepEqual(new Set(await Promise.all(guesses)), new Set([null]))
  assert.equal(derivations.length, 103)
})
