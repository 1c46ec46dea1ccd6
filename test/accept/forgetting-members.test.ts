// @test long 60
/** A members' key that was replaced is nowhere in memory, neither some time later nor after a lock. Contract section 3.6. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { openBackup, readSalt } from '../../firmware/backup/reader.ts'
import { deriveKey } from '../../firmware/crypto/kdf.ts'
import { keyPairOf } from '../../firmware/crypto/tls/identity.ts'
import { CLUSTER_TLS_IDENTITY } from '../../firmware/store/device-area.ts'
import { NOTHING, type Piece, search, type Traces, tracesOf } from '../crypto/memory-search.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, startProvisioned } from '../support/suite.ts'

const LOOKS_MAX = 5 // each takes seconds
const BETWEEN_LOOKS_MS = 1000
const PASSPHRASE = 'words that open a backup'
const SCRYPT = { N: 16384, r: 8, p: 16 } // contract section 7.2
const KEYS = [{ type: 'EC_P256' }, { type: 'EC_P521' }, { type: 'RSA', length: 2048 }]

const generate = (appliance: Appliance, json: object) =>
  expect(204, appliance.call('POST', '/cluster/tls/generate', { as: ADMIN, json }))

function tracesOfKey(name: string, backup: Buffer): Traces {
  let at = 0
  const read = (count: number): Buffer => {
    const taken = backup.subarray(at, at + count)
    at += taken.length
    return taken
  }
  const key = deriveKey(Buffer.from(PASSPHRASE), readSalt({ read }), SCRYPT)
  for (const record of openBackup({ read }, key).records())
    if ('name' in record && record.name === CLUSTER_TLS_IDENTITY) {
      const pem = pemOf(record.value)
      const { type, private: secret } = keyPairOf({ key: pem, cert: '' })
      return tracesOf(name, type, secret, Buffer.from(pem).toString())
    }
  throw new Error('the backup has no identity of members')
}

/** The record is the length of the key, the key, and the certificates: store/device-area.ts. */
const pemOf = (record: Uint8Array): Uint8Array =>
  record.subarray(4, 4 + new DataView(record.buffer, record.byteOffset).getUint32(0))

test('nothing is left of a members’ key of any kind that another has replaced', async (t) => {
  const appliance = await startProvisioned()
  t.after(() => appliance.dispose())
  const saver = await addUser(appliance, 'saver', 'Backup')
  const passphrase = { newPassphrase: PASSPHRASE, currentPassphrase: '' }
  await expect(204, appliance.call('PUT', '/config/backup-passphrase', { as: ADMIN, json: passphrase }))
  const look = (all: readonly Traces[]): { pieces: Piece[]; factored: string[] } => {
    const found = appliance.processes().map((pid) => search(pid, all))
    return { pieces: found.flatMap(({ pieces }) => pieces), factored: found.flatMap(({ factored }) => factored) }
  }
  const vanishes = async (all: readonly Traces[]): Promise<void> => {
    let found = look(all)
    for (let looks = 1; !isDeepStrictEqual(found, NOTHING) && looks < LOOKS_MAX; looks++) {
      await delay(BETWEEN_LOOKS_MS)
      found = look(all)
    }
    assert.deepEqual(found, NOTHING)
  }

  const former: Traces[] = []
  for (const json of KEYS) {
    await generate(appliance, json)
    const { bytes } = await expect(200, appliance.call('POST', '/system/backup?format=coffer', { as: saver }))
    const traces = tracesOfKey(json.type, Buffer.from(bytes))
    assert.ok(look([traces]).pieces.length > 0, `${json.type}: not found while it is in use`)
    former.push(traces)
  }
  await generate(appliance, { type: 'EC_P384' })
  await vanishes(former)
  await expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
  await vanishes(former)
})
