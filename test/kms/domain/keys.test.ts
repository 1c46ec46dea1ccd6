/** Rules of keys that need races, a failing disk or many keys to show. Contract sections 3.2, 4.6, 6.2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { collectGarbage } from '../../../firmware/base/garbage.ts'
import { runInSlices } from '../../../firmware/base/slices.ts'
import type { CryptoPool } from '../../../firmware/crypto/types.ts'
import { bucketOf } from '../../../firmware/kms/domain/key-counts.ts'
import { encodeKey } from '../../../firmware/kms/domain/key-record.ts'
import type { NewKey } from '../../../firmware/kms/domain/keys.ts'
import type { Operational } from '../../../firmware/kms/domain/operational.ts'
import type { Caller } from '../../../firmware/kms/domain/roles.ts'
import { databaseOf } from '../../../firmware/store/sqlite/file.ts'
import type { Vault } from '../../../firmware/store/vault.ts'
import { commit, utf8 } from '../../store/rig.ts'
import { openPool } from '../../support/pool.ts'
import { admin, code, createDomainRig, ED25519, newUser } from './rig.ts'

const pool = await openPool()

const boss: Caller = { userId: 'ns~boss', namespace: 'ns', role: 'Administrator' }
const operator = { caller: { userId: 'operator', namespace: '', role: 'Operator' }, address: '192.0.2.1' } as const

const generate = ({ keys }: Operational, id: string, caller = admin) => keys.generate(caller, id, ED25519, 'Curve25519')
const sign = ({ keyUse }: Operational, id: string) => keyUse.sign(operator, id, 'EdDSA', () => utf8('message'))

test('of two generations of one key at the same time, one wins', async (t) => {
  const { domain } = await createDomainRig(t, pool)
  const results = await Promise.allSettled([generate(domain, 'one'), generate(domain, 'one')])
  assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  assert(results.every((result) => result.status === 'fulfilled' || code('conflict')(result.reason)))
  assert.deepEqual(domain.keys.list('', {}), ['one'])
})

test('a key moved onto the id of one being generated keeps it', async (t) => {
  const { domain } = await createDomainRig(t, pool)
  await generate(domain, 'first')
  const publicKey = domain.keys.publicKey('', 'first')
  const generation = generate(domain, 'second')
  await domain.keys.move(admin, 'first', 'second')
  await assert.rejects(generation, code('conflict'))
  assert.deepEqual(domain.keys.publicKey('', 'second'), publicKey)
})

test('a key being generated when its namespace goes is not made, even if the name returns', async (t) => {
  const rig = await createDomainRig(t, pool)
  await rig.domain.namespaces.create(admin, 'ns')
  const generation = generate(rig.domain, 'one', boss)
  await rig.domain.namespaces.remove(admin, 'ns', rig.domain.keys)
  await rig.domain.namespaces.create(admin, 'ns')
  await assert.rejects(generation, code('forbidden'))
  assert.deepEqual(rig.domain.keys.list('ns', {}), [])
  assert.deepEqual(rig.reopen().keys.list('ns', {}), [])
})

test('a key being generated or imported at a lock is not made', async (t) => {
  const rig = await createDomainRig(t, pool)
  const generation = generate(rig.domain, 'one')
  const data = new Uint8Array(32).fill(1)
  const imported = rig.domain.keys.importFields(admin, 'two', ED25519, 'Curve25519', { data })
  rig.reopen()
  await assert.rejects(generation, code('unavailable'))
  await assert.rejects(imported, code('unavailable'))
  assert.deepEqual(data, new Uint8Array(32))
  assert.deepEqual(rig.domain.keys.list('', {}), [])
})

test('imported secrets are wiped whatever comes of them', async (t) => {
  const { domain } = await createDomainRig(t, pool)
  const good = new Uint8Array(32).fill(1)
  await domain.keys.importFields(admin, 'one', ED25519, 'Curve25519', { data: good })
  const short = new Uint8Array(31).fill(1)
  await assert.rejects(domain.keys.importFields(admin, 'two', ED25519, 'Curve25519', { data: short }), code('invalid'))
  const pem = utf8('-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n')
  await assert.rejects(domain.keys.importPem(admin, 'three', ED25519, pem), code('invalid'))
  for (const bytes of [good, short, pem]) assert(bytes.every((byte) => byte === 0))
})

test('a failing disk changes nothing in memory', async (t) => {
  const rig = await createDomainRig(t, pool)
  const { keys } = rig.domain
  await rig.domain.users.create(admin, 'operator', newUser('operator passphrase'))
  await generate(rig.domain, 'one')
  await keys.addTag(admin, 'one', 'tag')
  const before = { ...keys.get('', 'one') }
  const version = keys.listVersion('')
  rig.fail(true)
  await assert.rejects(generate(rig.domain, 'two'), code('storage'))
  await assert.rejects(keys.setLabel(admin, 'one', 'x'), code('storage'))
  await assert.rejects(keys.addTag(admin, 'one', 'x'), code('storage'))
  await assert.rejects(keys.removeTag(admin, 'one', 'tag'), code('storage'))
  await assert.rejects(keys.move(admin, 'one', 'two'), code('storage'))
  await assert.rejects(keys.remove(admin, 'one'), code('storage'))
  await assert.rejects(keys.setCertificate(admin, 'one', 'application/octet-stream', utf8('x')), code('storage'))
  assert.deepEqual({ ...keys.get('', 'one') }, before)
  assert.equal(keys.listVersion(''), version)
  assert.deepEqual(keys.list('', {}), ['one'])
  rig.fail(false)
  await keys.removeTag(admin, 'one', 'tag')
  await sign(rig.domain, 'one')
  rig.fail(true)
  await assert.rejects(rig.domain.flush(), code('storage'))
  rig.fail(false)
  assert.equal(rig.reopen().keys.get('', 'one').operations, 1)
})

test('counts stop at what 31 bits hold', async (t) => {
  const rig = await createDomainRig(t, pool)
  await rig.domain.users.create(admin, 'operator', newUser('operator passphrase'))
  await generate(rig.domain, 'one')
  const publicKey = rig.domain.keys.publicKey('', 'one')
  const { versions: _none, ...entry } = rig.domain.keys.get('', 'one')
  const key = { ...entry, operations: 2 ** 31 - 2 }
  await commit(rig.storeRig.vault(rig.store), [{ collection: 'keys', name: 'one', value: encodeKey(key, publicKey) }])
  rig.reopen()
  for (let i = 0; i < 3; i++) await sign(rig.domain, 'one')
  assert.equal(rig.domain.keys.get('', 'one').operations, 2147483647)
  assert.equal(rig.reopen().keys.get('', 'one').operations, 2147483647)
})

test('a key deleted or moved while it waits to be used is used no more, or under its new id', async (t) => {
  // The workers open no key before its first use: that is when the private key is read.
  let release = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const waiting: CryptoPool = {
    ...pool,
    sign(key, mode, message) {
      const copy = message.slice()
      return gate.then(() => pool.sign(key, mode, copy))
    },
  }
  const { domain } = await createDomainRig(t, waiting)
  await domain.users.create(admin, 'operator', newUser('operator passphrase'))
  await generate(domain, 'deleted')
  await generate(domain, 'moved')
  const ofDeleted = sign(domain, 'deleted')
  const ofMoved = sign(domain, 'moved')
  await domain.keys.remove(admin, 'deleted')
  await domain.keys.move(admin, 'moved', 'elsewhere')
  release()
  await assert.rejects(ofDeleted, code('notFound'))
  assert.equal((await ofMoved).length, 64)
  assert.equal(domain.keys.get('', 'elsewhere').operations, 1)
})

test('an Operator deleted since the request came uses no key', async (t) => {
  const { domain } = await createDomainRig(t, pool)
  await domain.users.create(admin, 'operator', newUser('operator passphrase'))
  await generate(domain, 'one')
  await domain.users.remove(admin, 'operator')
  await assert.rejects(sign(domain, 'one'), code('forbidden'))
})

test('damaged keys are neither missing nor replaced, and the others work', async (t) => {
  const rig = await createDomainRig(t, pool)
  await rig.domain.users.create(admin, 'operator', newUser('operator passphrase'))
  await generate(rig.domain, 'good')
  const slots = (table: string) =>
    (databaseOf(rig.store).prepare(`SELECT slot FROM "${table}"`).safeIntegers().all() as { slot: bigint }[]).map(
      (row) => row.slot,
    )
  const [goodSlot] = slots('keys')
  const [goodPrivate] = slots('privateKeys')
  await generate(rig.domain, 'bad')
  rig.reopen(() => {
    databaseOf(rig.store).prepare('UPDATE keys SET sealed = zeroblob(20) WHERE slot <> ?').run(goodSlot)
  })
  const { keys } = rig.domain
  assert.deepEqual(keys.list('', {}), ['good'])
  assert.throws(() => keys.get('', 'bad'), code('storage'))
  await assert.rejects(generate(rig.domain, 'bad'), code('storage'))
  await assert.rejects(keys.move(admin, 'good', 'bad'), code('storage'))
  await assert.rejects(keys.remove(admin, 'bad'), code('storage'))
  assert.equal((await sign(rig.domain, 'good')).length, 64)
  assert.equal(slots('keys').length, 2)

  rig.reopen(() => {
    databaseOf(rig.store).prepare('UPDATE "privateKeys" SET sealed = zeroblob(20) WHERE slot = ?').run(goodPrivate)
  })
  await assert.rejects(sign(rig.domain, 'good'), code('storage'))
  assert.equal(rig.domain.keys.get('', 'good').operations, 1)
})

test('counts of operations that cannot be read do not keep the others from the disk', async (t) => {
  const rig = await createDomainRig(t, pool)
  await rig.domain.users.create(admin, 'operator', newUser('operator passphrase'))
  const [good, bad] = ['one', 'two'] // of two buckets
  assert.notEqual(bucketOf({ namespace: '', id: good }), bucketOf({ namespace: '', id: bad }))
  for (const id of [good, bad]) await generate(rig.domain, id)
  await sign(rig.domain, bad)
  await rig.domain.flush()
  databaseOf(rig.store).prepare('UPDATE counts SET sealed = zeroblob(20)').run()
  for (const id of [good, bad]) await sign(rig.domain, id)
  await rig.domain.flush()
  assert(rig.entries.some(({ level, message }) => level === 'error' && /cannot store the counts/.test(message)))
  const { keys } = rig.reopen()
  assert.equal(keys.get('', good).operations, 1)
  assert.equal(keys.get('', bad).operations, 0)
})

test('deleting a namespace removes keys, private keys and certificates of that namespace alone', async (t) => {
  const rig = await createDomainRig(t, pool)
  await rig.domain.namespaces.create(admin, 'ns')
  await generate(rig.domain, 'one')
  for (const id of ['one', 'two']) await generate(rig.domain, id, boss)
  await rig.domain.keys.setCertificate(boss, 'one', 'application/octet-stream', utf8('certificate'))
  const rows = (table: string) =>
    (databaseOf(rig.store).prepare(`SELECT count(*) AS n FROM "${table}"`).get() as { n: number }).n
  assert.deepEqual(['keys', 'privateKeys', 'certificates', 'namespaces'].map(rows), [3, 3, 1, 1])
  await rig.domain.namespaces.remove(admin, 'ns', rig.domain.keys)
  assert.deepEqual(['keys', 'privateKeys', 'certificates', 'namespaces'].map(rows), [1, 1, 0, 0])
  assert.deepEqual(rig.reopen().keys.list('', {}), ['one'])
})

/** Every record as it is now; what is returned makes the records these again, as a restore in a cluster does. */
function keepRecords(vault: Vault): () => Promise<void> {
  const copy = vault.replicate(() => assert.fail())
  const rows = [...copy.rows()].map(({ collection, row }) => ({
    collection,
    row: { ...row, sealed: row.sealed.slice() },
  }))
  const adoption = { head: copy.head(), generation: '00'.repeat(12), withinTransaction() {}, partly() {} }
  vault.standAlone()
  return async () => {
    const comparison = vault.replicate(() => assert.fail()).compare()
    for (const { collection, row } of rows) await runInSlices(comparison.add(collection, row))
    await runInSlices(comparison.adopt(adoption))
    vault.standAlone()
  }
}

test('a restored key that was moved once is not taken for one that had its former id later', async (t) => {
  const aes: NewKey = { mechanisms: ['AES_Encryption_CBC'], tags: [], label: '' }
  const ecdsa: NewKey = { mechanisms: ['ECDSA_Signature'], tags: [], label: '' }
  const use = ({ keyUse }: Operational, id: string, { mechanisms }: NewKey) => {
    const input = () => new Uint8Array(32)
    if (mechanisms === aes.mechanisms) return keyUse.encrypt(operator, id, 'AES_CBC', input, () => new Uint8Array(16))
    return keyUse.sign(operator, id, mechanisms === ecdsa.mechanisms ? 'ECDSA' : 'EdDSA', input)
  }
  for (const [type, key, laterType, laterKey] of [
    ['EC_P256', ecdsa, 'Curve25519', ED25519],
    ['Curve25519', ED25519, 'Curve25519', ED25519],
    ['Generic', aes, 'Generic', aes],
  ] as const) {
    const { domain, vault } = await createDomainRig(t, pool)
    await domain.users.create(admin, 'operator', newUser('operator passphrase'))
    await domain.keys.generate(admin, 'first', key, type, 256)
    await domain.keys.move(admin, 'first', 'second')
    const before = { ...domain.keys.get('', 'second') }
    const restore = keepRecords(vault)
    await domain.keys.remove(admin, 'second')
    await domain.keys.generate(admin, 'first', laterKey, laterType, 256)
    await use(domain, 'first', laterKey)
    const later = domain.keys.get('', 'first')
    await domain.keys.remove(admin, 'first')
    await restore()
    const restored = domain.keys.get('', 'second')
    assert.notEqual(restored, later, type)
    assert.deepEqual({ ...restored, ref: 0 }, { ...before, ref: 0 })
    await use(domain, 'second', key)
    assert.equal(restored.operations, 1)
  }
})

test('20,000 keys open and are listed in order', async (t) => {
  const rig = await createDomainRig(t, pool)
  const publicKey = { modulus: new Uint8Array(256).fill(1), publicExponent: Uint8Array.of(1, 0, 1) }
  const ids = Array.from({ length: 20_000 }, (_, i) => `key-${(i * 7919) % 20_000}`)
  await commit(
    rig.storeRig.vault(rig.store),
    ids.map((id) => ({
      collection: 'keys',
      name: id,
      value: encodeKey(
        {
          ...{ namespace: '', id, type: 'RSA', typeName: 'RSA', mechanisms: ['RSA_Signature_PKCS1'] },
          ...{ tags: ['a'], label: id, operations: 3, certificate: null },
        },
        publicKey,
      ),
    })),
  )
  const { keys } = rig.reopen()
  assert.deepEqual(keys.list('', {}), [...ids].sort())
  assert.deepEqual(keys.list('', { label: 'key-777' }), ['key-777'])
  assert.deepEqual(
    keys.list('', { prefix: 'key-1999' }),
    [...ids].sort().filter((id) => id.startsWith('key-1999')),
  )
  assert.deepEqual(keys.publicKey('', 'key-5'), publicKey)
})

/** A key of the given tags and label, as it would be stored. */
const tagged = (id: string, tags: readonly string[], label = '') => ({
  collection: 'keys',
  name: id,
  value: encodeKey(
    {
      ...{ namespace: '', id, type: 'Curve25519', typeName: 'Curve25519', mechanisms: ['EdDSA_Signature'] },
      ...{ tags, label, operations: 0, certificate: null },
    },
    { data: new Uint8Array(32) },
  ),
})

test('tags and labels of deleted keys do not stay in memory', async (t) => {
  const rig = await createDomainRig(t, pool)
  const addGoing = async () => {
    await commit(rig.vault, [tagged('going', ['blue', 'red'])])
    const tags = new WeakRef(rig.domain.keys.get('', 'going').tags)
    await rig.domain.keys.remove(admin, 'going')
    return tags
  }
  const tags = await addGoing()
  const others = Array.from({ length: 1000 }, (_, n) => tagged(`other-${n}`, [`tag-${n}`], `label ${n}`))
  await commit(rig.vault, others)
  assert.deepEqual(rig.domain.keys.get('', 'other-999').tags, ['tag-999'])
  await nextTurn() // a dereferenced object stays to the end of the turn
  collectGarbage()
  assert.equal(tags.deref(), undefined)
})

test('a key has a bounded number of tags; one that has more from an older version keeps them', async (t) => {
  const { domain, vault } = await createDomainRig(t, pool)
  const tags = Array.from({ length: 33 }, (_, n) => `tag-${n}`)
  await commit(vault, [tagged('older', tags), { collection: 'privateKeys', name: 'older', value: new Uint8Array(32) }])
  await generate(domain, 'key')
  for (const tag of tags.slice(0, 32)) assert(await domain.keys.addTag(admin, 'key', tag))
  await assert.rejects(domain.keys.addTag(admin, 'key', 'more'), code('invalid'))
  assert.equal(await domain.keys.addTag(admin, 'key', 'tag-0'), false)
  await domain.keys.removeTag(admin, 'key', 'tag-0')
  assert(await domain.keys.addTag(admin, 'key', 'more'))
  await assert.rejects(domain.keys.addTag(admin, 'older', 'more'), code('invalid'))
  await domain.keys.setLabel(admin, 'older', 'label')
  await domain.keys.move(admin, 'older', 'moved')
  assert.equal(domain.keys.get('', 'moved').tags.length, 33)
})
