/** Keys whose list of versions was dropped by a node of a cluster that knows no versions. Contract section 7.11. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeKey, decodePublic, encodeKey } from '../../../firmware/kms/domain/key-record.ts'
import { databaseOf } from '../../../firmware/store/sqlite/file.ts'
import { openPool } from '../../support/pool.ts'
import { admin, type DomainRig } from './rig.ts'
import { rotatedRig, versionsOf } from './versions-rig.ts'

const pool = await openPool()

const privateRows = ({ store }: DomainRig): unknown =>
  databaseOf(store).prepare('SELECT count(*) FROM "privateKeys"').pluck().get()

/** Writes the record as such a node does, without the versions and with another label. */
async function dropVersions(rig: DomainRig, id: string): Promise<void> {
  await rig.vault.change(() => {
    const stored = rig.vault.get('keys', id)
    assert.ok(stored)
    const { versions: _, ...key } = decodeKey(stored)
    const value = encodeKey({ ...key, label: 'label' }, decodePublic(stored))
    return { changes: [{ collection: 'keys', name: id, value }], result: undefined }
  })
  assert.equal(versionsOf(rig.reopen(), id), null)
}

test('deletions and moves leave no private parts of versions that an older node has dropped', async (t) => {
  const rig = await rotatedRig(t, pool)
  for (const id of ['one', 'two']) await dropVersions(rig, id)
  assert.equal(privateRows(rig), 4)
  await rig.domain.keys.move(admin, 'one', 'other')
  assert.equal(privateRows(rig), 3)
  for (const id of ['other', 'two']) await rig.domain.keys.remove(admin, id)
  assert.equal(privateRows(rig), 0)
})
