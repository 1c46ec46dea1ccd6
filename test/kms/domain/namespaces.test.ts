/** Namespaces with more keys than one change removes. Contract sections 3.3 and 7.3. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { encodeKey, type KeyMetadata } from '../../../firmware/kms/domain/key-record.ts'
import type { Operational } from '../../../firmware/kms/domain/operational.ts'
import type { Caller } from '../../../firmware/kms/domain/roles.ts'
import { databaseOf } from '../../../firmware/store/sqlite/file.ts'
import type { Change } from '../../../firmware/store/store.ts'
import { commit, utf8 } from '../../store/rig.ts'
import { openPool } from '../../support/pool.ts'
import { admin, code, createDomainRig, type DomainRig, ED25519, newUser } from './rig.ts'

const pool = await openPool()

const KEYS = 450
const boss: Caller = { userId: 'ns~boss', namespace: 'ns', role: 'Administrator' }
const signer = { caller: { userId: 'ns~signer', namespace: 'ns', role: 'Operator' }, address: '192.0.2.1' } as const

const rows = ({ store }: DomainRig): number[] =>
  ['keys', 'privateKeys', 'certificates', 'namespaces'].map(
    (table) => databaseOf(store).prepare(`SELECT count(*) FROM "${table}"`).pluck().get() as number,
  )

function recordsOf(namespace: string, id: string): Change[] {
  const kind = { type: 'Curve25519', typeName: 'Curve25519', mechanisms: ['EdDSA_Signature'] } as const
  const key: KeyMetadata = {
    ...{ namespace, id, ...kind, tags: [], label: '', operations: 0 },
    certificate: 'application/octet-stream',
  }
  const name = `${namespace}/${id}`
  return [
    { collection: 'keys', name, value: encodeKey(key, { data: new Uint8Array(32).fill(1) }) },
    { collection: 'privateKeys', name, value: new Uint8Array(32).fill(1) },
    { collection: 'certificates', name, value: utf8('certificate') },
  ]
}

/** A namespace with many keys, every tenth of them used, beside one key outside of it. */
async function setup(rig: DomainRig): Promise<void> {
  const { domain } = rig
  await domain.namespaces.create(admin, 'ns')
  await domain.users.create(boss, 'ns~signer', newUser('signer passphrase'))
  await domain.keys.generate(admin, 'outside', ED25519, 'Curve25519')
  const changes = Array.from({ length: KEYS }, (_, n) => recordsOf('ns', `key-${n}`)).flat()
  await commit(rig.storeRig.vault(rig.store), changes)
  const { keyUse } = rig.reopen()
  for (let n = 0; n < KEYS; n += 10) await keyUse.sign(signer, `key-${n}`, 'EdDSA', () => utf8('message'))
  await rig.domain.flush()
}

async function untilFree({ namespaces }: Operational): Promise<void> {
  for (;;) {
    try {
      return await namespaces.create(admin, 'ns')
    } catch (error) {
      assert(code('busy')(error))
      await wait(5)
    }
  }
}

test('a namespace with many keys is gone at once, its name is taken until nothing is left, and is then free', async (t) => {
  const rig = await createDomainRig(t, pool)
  await setup(rig)
  const { namespaces, keys, keyUse } = rig.domain
  assert.deepEqual(rows(rig), [KEYS + 1, KEYS + 1, KEYS, 1])
  await namespaces.remove(admin, 'ns', keys)
  assert.deepEqual(namespaces.list(), [])
  assert.equal(namespaces.exists('ns'), false)
  assert.deepEqual(keys.list('ns', {}), [])
  await assert.rejects(
    keyUse.sign(signer, 'key-1', 'EdDSA', () => utf8('message')),
    code('notFound'),
  )
  await assert.rejects(keys.generate(boss, 'new', ED25519, 'Curve25519'), code('forbidden'))
  await assert.rejects(namespaces.create(admin, 'ns'), code('busy'))
  await assert.rejects(namespaces.remove(admin, 'ns', keys), code('notFound'))
  await untilFree(rig.domain)
  assert.deepEqual(rows(rig), [1, 1, 0, 1])
  assert.deepEqual(keys.list('', {}), ['outside'])
  const id = await keys.generate(boss, 'key-0', ED25519, 'Curve25519')
  assert.equal(keys.get('ns', id).operations, 0)
  assert.equal(databaseOf(rig.store).prepare('SELECT count(*) FROM counts').pluck().get(), 0)
})

test('a removal that is cut short anywhere goes on after the next unlock', async (t) => {
  const rig = await createDomainRig(t, pool)
  await setup(rig)
  await rig.domain.namespaces.remove(admin, 'ns', rig.domain.keys)
  for (let cut = 0; cut < 3; cut++) {
    const before = rows(rig)[0]!
    assert.ok(before > 1)
    await assert.rejects(rig.domain.namespaces.create(admin, 'ns'), code('busy'))
    while (rows(rig)[0] === before) await wait(1)
    rig.reopen()
    assert.deepEqual(rig.domain.namespaces.list(), [])
    assert.deepEqual(rig.domain.keys.list('ns', {}), [])
  }
  await untilFree(rig.domain)
  assert.deepEqual(rows(rig), [1, 1, 0, 1])
  await rig.storeRig.vault(rig.store).watch()
  assert.deepEqual(rig.storeRig.reports, [])
})

test('on a failing disk a namespace stays as it is, with every key', async (t) => {
  const rig = await createDomainRig(t, pool)
  await setup(rig)
  databaseOf(rig.store).exec(
    "CREATE TEMP TRIGGER full BEFORE UPDATE ON main.namespaces BEGIN SELECT raise(ABORT, 'full'); END",
  )
  const { namespaces, keys } = rig.domain
  const entry = keys.get('ns', 'key-0')
  await assert.rejects(namespaces.remove(admin, 'ns', keys), code('storage'))
  assert.deepEqual(namespaces.list(), ['ns'])
  assert.equal(keys.list('ns', {}).length, KEYS)
  assert.equal(keys.get('ns', 'key-0'), entry)
})
