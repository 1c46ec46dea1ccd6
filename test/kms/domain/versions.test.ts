// @test short 15
/** Versions of keys over a real store: what survives, and what is gone. Contract section 7.11. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CryptoPool } from '../../../firmware/crypto/types.ts'
import type { Caller } from '../../../firmware/kms/domain/roles.ts'
import { databaseOf } from '../../../firmware/store/sqlite/file.ts'
import { utf8 } from '../../store/rig.ts'
import { openPool } from '../../support/pool.ts'
import { admin, code, type DomainRig, ED25519 } from './rig.ts'
import { AES, MESSAGE, operator, rigWithOperator, rotatedRig, sign, verify, versionsOf } from './versions-rig.ts'

const pool = await openPool()

const boss: Caller = { userId: 'ns~boss', namespace: 'ns', role: 'Administrator' }

const rowsOf = ({ store }: DomainRig) =>
  Object.fromEntries(
    ['keys', 'privateKeys', 'certificates'].map((table) => [
      table,
      databaseOf(store).prepare(`SELECT count(*) FROM "${table}"`).pluck().get(),
    ]),
  )

test('each version signs and verifies for itself, also after a lock; without a number it is version 1', async (t) => {
  const rig = await rotatedRig(t, pool)
  const signatures = await Promise.all([1, 2, 3].map((version) => sign(rig.domain, 'one', version)))
  const domain = rig.reopen()
  for (const [at, signature] of signatures.entries())
    for (const version of [1, 2, 3])
      assert.equal(await verify(domain, 'one', signature, version), version === at + 1, `${at + 1} by ${version}`)
  assert.ok(await verify(domain, 'one', await sign(domain, 'one'), 1))
  assert.deepEqual(domain.keys.publicKey('', 'one'), domain.keys.publicKey('', 'one', 1))
  await assert.rejects(sign(domain, 'one', 4), code('notFound'))
  assert.equal(domain.keys.getAnyVersion('', 'one').operations, 4)
})

test('a key moves with all its versions, and leaves none behind', async (t) => {
  const rig = await rotatedRig(t, pool)
  const before = versionsOf(rig.domain, 'one')
  const signature = await sign(rig.domain, 'one', 3)
  const rows = rowsOf(rig)
  await rig.domain.keys.move(admin, 'one', 'other')
  assert.deepEqual(versionsOf(rig.domain, 'other'), before)
  assert.ok(await verify(rig.domain, 'other', await sign(rig.domain, 'other', 2), 2))
  assert.deepEqual(rowsOf(rig), rows)
  const domain = rig.reopen()
  assert.deepEqual(versionsOf(domain, 'other'), before)
  assert.ok(await verify(domain, 'other', signature, 3))
})

test('labels, tags and certificates leave the versions alone', async (t) => {
  const rig = await rotatedRig(t, pool)
  const before = versionsOf(rig.domain, 'one')
  await rig.domain.keys.setLabel(admin, 'one', 'label')
  await rig.domain.keys.addTag(admin, 'one', 'tag')
  await rig.domain.keys.setCertificate(admin, 'one', 'application/octet-stream', utf8('certificate'))
  await rig.domain.keys.removeTag(admin, 'one', 'tag')
  assert.deepEqual(versionsOf(rig.reopen(), 'one'), before)
  for (const version of [1, 2, 3])
    assert.ok(await verify(rig.domain, 'one', await sign(rig.domain, 'one', version), version))
})

test('nothing of a deleted key, or of the keys of a deleted namespace, stays in the store', async (t) => {
  const rig = await rotatedRig(t, pool)
  const { keys, namespaces } = rig.domain
  for (const id of ['one', 'two']) await keys.remove(admin, id)
  assert.deepEqual(rowsOf(rig), { keys: 0, privateKeys: 0, certificates: 0 })
  await namespaces.create(admin, 'ns')
  for (const id of ['a', 'b']) {
    await keys.generate(boss, id, ED25519, 'Curve25519')
    await keys.rotate(boss, id)
  }
  await namespaces.remove(admin, 'ns', keys)
  assert.deepEqual(rowsOf(rig), { keys: 0, privateKeys: 0, certificates: 0 })
})

test('a namespace of many keys goes with all their versions', async (t) => {
  const rig = await rigWithOperator(t, pool)
  const { keys, namespaces } = rig.domain
  await namespaces.create(admin, 'ns')
  for (let n = 0; n < 101; n++) await keys.generate(boss, `key-${n}`, ED25519, 'Curve25519')
  for (let n = 0; n < 101; n += 10) await keys.rotate(boss, `key-${n}`)
  await namespaces.remove(admin, 'ns', keys)
  const isOver = () => rig.entries.some(({ message }) => message.includes('deleted the remaining records'))
  for (const limitMs = Date.now() + 60_000; !isOver() && Date.now() < limitMs; )
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(rowsOf(rig), { keys: 0, privateKeys: 0, certificates: 0 })
})

test('a key has 100 versions, and no more before the oldest are deleted', async (t) => {
  const rig = await rigWithOperator(t, pool)
  const { keys } = rig.domain
  await keys.generate(admin, 'one', ED25519, 'Curve25519')
  for (let version = 2; version <= 100; version++) assert.equal(await keys.rotate(admin, 'one'), version)
  await assert.rejects(keys.rotate(admin, 'one'), /100 versions/)
  const domain = rig.reopen()
  for (const version of [1, 2, 57, 100])
    assert.ok(await verify(domain, 'one', await sign(domain, 'one', version), version), String(version))
  await domain.keys.changeVersions(admin, 'one', { minDecryption: 2, minEncryption: 2, minAvailable: 2 })
  assert.equal(await domain.keys.rotate(admin, 'one'), 101)
  assert.ok(await verify(domain, 'one', await sign(domain, 'one', 101), 101))
})

test('each version counts as a key for the quota of its namespace', async (t) => {
  const rig = await rigWithOperator(t, pool)
  await rig.domain.namespaces.create(admin, 'ns')
  await rig.domain.quotas.set(admin, 'ns', { keys: 3 })
  await rig.domain.keys.generate(boss, 'one', ED25519, 'Curve25519')
  for (let n = 0; n < 2; n++) await rig.domain.keys.rotate(boss, 'one')
  const { keys } = rig.reopen()
  await assert.rejects(keys.rotate(boss, 'one'), code('full'))
  await assert.rejects(keys.generate(boss, 'two', ED25519, 'Curve25519'), code('full'))
  await keys.changeVersions(boss, 'one', { minDecryption: 2, minEncryption: 2, minAvailable: 2 })
  await keys.generate(boss, 'two', ED25519, 'Curve25519')
  await assert.rejects(keys.rotate(boss, 'two'), code('full'))
  await keys.remove(boss, 'one')
  for (let n = 0; n < 2; n++) await keys.rotate(boss, 'two')
  await assert.rejects(keys.rotate(boss, 'two'), code('full'))
})

test('two rotations of one key at the same time add two versions', async (t) => {
  const rig = await rotatedRig(t, pool)
  const numbers = await Promise.all([rig.domain.keys.rotate(admin, 'one'), rig.domain.keys.rotate(admin, 'one')])
  assert.deepEqual(numbers.sort(), [4, 5])
  for (const version of [3, 4, 5])
    assert.ok(await verify(rig.domain, 'one', await sign(rig.domain, 'one', version), version))
})

test('a key that is deleted and made anew during its rotation gets no version of the former one', async (t) => {
  const rig = await rotatedRig(t, pool)
  const rotation = assert.rejects(rig.domain.keys.rotate(admin, 'one'), code('notFound'))
  await rig.domain.keys.remove(admin, 'one')
  await rig.domain.keys.generate(admin, 'one', ED25519, 'Curve25519')
  await rotation
  assert.equal(versionsOf(rig.domain, 'one'), null)
})

test('uses of a Generic key that wait while it is labeled or rotated are done', async (t) => {
  const rig = await rotatedRig(t, pool)
  const { keys, keyUse } = rig.domain
  await keys.generate(admin, 'fresh', AES, 'Generic', 256)
  const use = (id: string) =>
    Promise.all(
      Array.from({ length: 200 }, () =>
        keyUse.encrypt(operator, id, 'XAES_GCM', () => MESSAGE.slice(), null, { version: 1 }),
      ),
    )
  for (const id of ['two', 'fresh'])
    for (const change of [() => keys.setLabel(admin, id, 'label'), () => keys.rotate(admin, id)]) {
      const used = use(id)
      await change()
      assert.equal((await used).length, 200)
    }
})

test('a rotation that the disk refuses, and one that a lock ends, changes nothing', async (t) => {
  const rig = await rotatedRig(t, pool)
  const before = versionsOf(rig.domain, 'one')
  rig.fail(true)
  await assert.rejects(rig.domain.keys.rotate(admin, 'one'), code('storage'))
  rig.fail(false)
  assert.deepEqual(versionsOf(rig.domain, 'one'), before)
  const rotation = assert.rejects(rig.domain.keys.rotate(admin, 'one'), code('unavailable'))
  rig.reopen()
  await rotation
  assert.deepEqual(versionsOf(rig.domain, 'one'), before)
  assert.equal(await rig.domain.keys.rotate(admin, 'one'), 4)
  assert.ok(await verify(rig.domain, 'one', await sign(rig.domain, 'one', 4), 4))
})

test('deleted versions are gone for ever, and version 1 with its certificate', async (t) => {
  const rig = await rotatedRig(t, pool)
  const { keys } = rig.domain
  await keys.setCertificate(admin, 'one', 'application/octet-stream', utf8('certificate'))
  const signatures = await Promise.all([1, 2, 3].map((version) => sign(rig.domain, 'one', version)))
  const limits = { minDecryption: 2, minEncryption: 2, minAvailable: 2 }
  await keys.changeVersions(admin, 'one', limits)
  assert.deepEqual(rowsOf(rig), { keys: 2, privateKeys: 4, certificates: 0 })
  for (const open of [() => rig.domain, () => rig.reopen()]) {
    const domain = open()
    assert.throws(() => domain.keys.get('', 'one'), code('notFound'))
    assert.throws(() => domain.keys.certificateType('', 'one'), code('notFound'))
    await assert.rejects(sign(domain, 'one'), code('notFound'))
    await assert.rejects(sign(domain, 'one', 1), code('notFound'))
    await assert.rejects(domain.keys.setLabel(admin, 'one', 'label'), code('notFound'))
    assert.equal(domain.keys.contentVersion('', 'one'), null)
    assert.deepEqual(domain.keys.list('', { ofAllTypes: true }), ['two'])
    assert.deepEqual(domain.keys.list('', { ofAllTypes: true, ofAnyVersion: true }), ['one', 'two'])
    for (const version of [2, 3]) {
      assert.ok(await verify(domain, 'one', signatures[version - 1]!, version))
      assert.ok(await verify(domain, 'one', await sign(domain, 'one', version), version))
    }
  }
  await rig.domain.keys.changeVersions(admin, 'one', { minDecryption: 3, minEncryption: 3, minAvailable: 3 })
  assert.deepEqual(rowsOf(rig), { keys: 2, privateKeys: 3, certificates: 0 })
  assert.ok(await verify(rig.reopen(), 'one', signatures[2]!, 3))
  await assert.rejects(rig.domain.keys.generate(admin, 'one', ED25519, 'Curve25519'), code('conflict'))
  await rig.domain.keys.remove(admin, 'one')
  assert.deepEqual(rowsOf(rig), { keys: 1, privateKeys: 2, certificates: 0 })
})

test('limits that contradict each other or the versions are refused, and change nothing', async (t) => {
  const rig = await rotatedRig(t, pool)
  const { keys } = rig.domain
  const before = versionsOf(rig.domain, 'one')
  for (const change of [
    { minDecryption: 4 },
    { minEncryption: 4 },
    { minDecryption: -1 },
    { minEncryption: -1 },
    { minDecryption: 2, minEncryption: 1 },
    { minAvailable: 1 },
    { minAvailable: 3, minDecryption: 2, minEncryption: 3 },
    { minAvailable: 2, minEncryption: 3 },
    { minAvailable: -1 },
  ])
    await assert.rejects(keys.changeVersions(admin, 'one', change), code('invalid'), JSON.stringify(change))
  assert.deepEqual(versionsOf(rig.domain, 'one'), before)
  await keys.changeVersions(admin, 'one', { minDecryption: 2, minEncryption: 2, minAvailable: 2 })
  await assert.rejects(keys.changeVersions(admin, 'one', { minAvailable: 1 }), /cannot be decremented/)
  await assert.rejects(keys.changeVersions(admin, 'one', { minDecryption: 1 }), code('invalid'))
})

test('a key is used no more for a use that waited while its tag or its version went', async (t) => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let signing = 0
  const slow: CryptoPool = {
    ...pool,
    sign: async (...given) => {
      const signature = await pool.sign(...given)
      await gates[signing++]?.promise
      return signature
    },
  }
  const rig = await rotatedRig(t, slow)
  const { keys, users } = rig.domain
  await users.addTag(admin, 'operator', 'blue')
  await keys.addTag(admin, 'one', 'blue')
  const untagged = sign(rig.domain, 'one')
  await users.removeTag(admin, 'operator', 'blue')
  gates[0]?.resolve()
  await assert.rejects(untagged, code('forbidden'))
  await users.addTag(admin, 'operator', 'blue')
  const retired = sign(rig.domain, 'one', 1)
  await keys.changeVersions(admin, 'one', { minDecryption: 2 })
  gates[1]?.resolve()
  await assert.rejects(retired, /Version 1 of this key is retired/)
  assert.equal(keys.getAnyVersion('', 'one').operations, 0)
  assert.equal((await sign(rig.domain, 'one', 3)).length, 64)
})

test('limits keep version 1 from what they forbid on APIs without versions', async (t) => {
  const rig = await rotatedRig(t, pool)
  const { keys, keyUse } = rig.domain
  await keys.changeVersions(admin, 'two', { minEncryption: 2 })
  const given = () => MESSAGE.slice()
  const encrypt = (version?: number) => keyUse.encrypt(operator, 'two', 'XAES_GCM', given, null, { version })
  await assert.rejects(encrypt(), /Version 1 of this key is retired/)
  await assert.rejects(keyUse.sign(operator, 'two', 'HMAC_SHA256', given), /retired/)
  const { encrypted, iv } = await encrypt(1)
  const decrypt = () =>
    keyUse.decrypt(
      operator,
      'two',
      'XAES_GCM',
      () => encrypted.slice(),
      () => iv,
    )
  assert.deepEqual(new Uint8Array(await decrypt()), MESSAGE)
  await keys.changeVersions(admin, 'two', { minDecryption: 2 })
  await assert.rejects(decrypt(), /retired/)
  await keys.changeVersions(admin, 'one', { minDecryption: 2 })
  await assert.rejects(keyUse.csrPem(operator, 'one', { commonName: 'x' }), /retired/)
})
