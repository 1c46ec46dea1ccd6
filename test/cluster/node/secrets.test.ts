/** The disk of etcd after a cluster was made and joined: no record in clear, and no key, slot or kit. */

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as pathOf } from 'node:path'
import test, { type TestContext } from 'node:test'
import { wrongState } from '../../../firmware/base/error.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { COLLECTION_NAMES } from '../../../firmware/kms/domain/collections.ts'
import { ATTENDED, openDeviceArea, UNATTENDED } from '../../../firmware/store/device-area.ts'
import { openStore } from '../../../firmware/store/sqlite/file.ts'
import { openVault } from '../../../firmware/store/vault.ts'
import { createClusterCa } from '../../support/cluster-ca.ts'
import { fileNeeds } from '../../support/tools.ts'
import { expect, join, openNode, type TestNode } from './rig.ts'

await fileNeeds('etcd', 'openssl')

const PIECE_BYTES = 16 // nothing of this length comes twice by chance

/** Every record of a node in clear, one row as it is sealed, and what opens them. */
function contentsOf(t: TestContext, { rig, deviceKey }: TestNode) {
  const directory = mkdtempSync(pathOf(tmpdir(), 'coffer-copy-'))
  t.after(() => rmSync(directory, { recursive: true }))
  cpSync(rig.dataDirectory, directory, { recursive: true })
  const store = openStore({ dataDirectory: directory, deviceKey })
  const device = openDeviceArea(store, deviceKey, systemRandom, () => {})
  const [slot, domainKey] = [device.get(ATTENDED)!, device.get(UNATTENDED)!]
  const vault = openVault(store, domainKey.slice(), systemRandom, assert.fail, COLLECTION_NAMES)
  const records = COLLECTION_NAMES.flatMap((collection) => [...vault.list(collection)].map((value) => value.slice()))
  const [row] = vault.replicate(() => Promise.reject(wrongState())).rows()
  const sealed = row!.row.sealed
  vault.close()
  device.close()
  store.close()
  return { records, sealed, keys: [slot, domainKey, deviceKey] }
}

function* filesBelow(directory: string): Generator<Buffer> {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) yield readFileSync(pathOf(entry.parentPath, entry.name))
}

test('nothing of a record, a slot, a digest or a key lies on the disk of etcd, raw, in base 64 or in hex', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca)
  await a.rig.user('operator', 'Operator')
  await expect(204, a.rig.call('PUT', '/users/operator/tags/tag-of-the-web', { as: 'admin' }))
  await a.rig.key('key-of-the-web', { restrictions: { tags: ['tag-of-the-web'] } })
  await join(a, b)
  await b.rig.key('made-there')
  await expect(204, b.rig.call('PUT', '/keys/made-there/label', { as: 'admin', json: { label: 'label of the web' } }))
  for (const { rig } of [a, b])
    await expect(204, rig.call('PUT', '/config/unattended-boot', { as: 'admin', json: { status: 'on' } }))

  for (const node of [a, b]) {
    const { records, sealed, keys } = contentsOf(t, node)
    assert.ok(records.length >= 7) // users, keys, private keys, the backup key
    await node.etcd.service.stop()
    const files = [...filesBelow(node.etcd.dataDirectory)]
    assert.ok(
      files.some((file) => file.includes(Buffer.from(sealed))),
      'it would be found',
    )
    for (const secret of [...records, ...keys])
      for (let at = 0; at + PIECE_BYTES <= secret.length; at += PIECE_BYTES / 2) {
        const piece = Buffer.from(secret.subarray(at, at + PIECE_BYTES))
        const whole = piece.subarray(0, 3 * Math.floor(PIECE_BYTES / 3)) // of base 64 that ends evenly
        for (const form of [piece, piece.toString('hex'), whole.toString('base64')])
          for (const file of files) assert.ok(!file.includes(form), `${String.fromCharCode(...piece)}`)
      }
  }
})
