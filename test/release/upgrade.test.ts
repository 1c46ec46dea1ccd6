// @test short 20
/**
 * This version opens what each released version wrote: its store, chat, audit log and backups (upgrade-fixture.ts). What a newer version
 * wrote is refused, with words that say what to do. A format that changes without a migration fails here.
 */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { MAGIC } from '../../firmware/backup/container.ts'
import { openDatabase } from '../../firmware/chat/store/database.ts'
import { MIGRATIONS as CHAT_MIGRATIONS } from '../../firmware/chat/store/schema.ts'
import { KEY_TYPES } from '../../firmware/crypto/types.ts'
import { storePath } from '../../firmware/store/store.ts'
import packageJson from '../../package.json' with { type: 'json' }
import {
  CURVES,
  checkBip340,
  checkEcdsa,
  checkEd25519,
  checkPss,
  encryptOaep,
  publicMembers,
} from '../accept/oracle.ts'
import { restore } from '../chat/support/backups.ts'
import { keyOf, reach } from '../chat/support/process.ts'
import { ADMIN, expect, stateOf, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import {
  AUDIT_EXPORT,
  assertHolds,
  BACKUPS,
  DATA,
  type FixtureRecord,
  fixturePath,
  fixtureVersions,
  OPERATOR,
  RECORD,
  readAnswers,
  readChat,
  unpack,
  XAES_KEY,
} from './upgrade-fixture.ts'

const COMMAND = join(import.meta.dirname, '../../tools/coffer/main.ts')
const LATER = '2090-01-01T00:00:00Z' // before what is scheduled in the fixture
const MESSAGE = Buffer.from('a message after the upgrade')

let program: string
before(async () => {
  program = await buildForTests()
})

interface Fixture {
  directory: string
  data: string
  record: FixtureRecord
  read(name: string): Buffer
}

function unpacked(t: TestContext, version: string): Fixture {
  const directory = makeDataDirectory(t)
  unpack(fixturePath(version), directory)
  const read = (name: string) => readFileSync(join(directory, name))
  return { directory, data: join(directory, DATA), record: JSON.parse(read(RECORD).toString()), read }
}

async function started(t: TestContext, data: string): Promise<Coffer> {
  const coffer = startCoffer(t, { program, data, settings: { COFFER_CHAT_PORT: '0' } })
  await coffer.target()
  return coffer
}

const unlock = (coffer: Coffer) =>
  expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))

const digestOf = (path: string): string => hash('sha256', readFileSync(path))

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** Signs with a key of each type, and verifies by OpenSSL or noble under the public key that was recorded. */
async function signWithEach(coffer: Coffer, { answers }: FixtureRecord): Promise<void> {
  const sign = async (id: string, mode: string, message: Uint8Array): Promise<Buffer> => {
    const json = { mode, message: base64(message) }
    const reply = await expect(200, coffer.call('POST', `/keys/${id}/sign`, { as: OPERATOR, json }))
    return Buffer.from(reply.json().signature, 'base64')
  }
  const publicKeyOf = (id: string): KeyObject => createPublicKey(answers[`/keys/${id}/public.pem`] as string)
  const sha256 = hash('sha256', MESSAGE, 'buffer')
  for (const type of KEY_TYPES.filter((type) => `/keys/${type}` in answers && type !== 'Generic')) {
    const key = publicKeyOf(type)
    const curve = CURVES.find((curve) => curve.type === type)
    if (curve) checkEcdsa(key, curve.digest, MESSAGE, await sign(type, 'ECDSA', hash(curve.digest, MESSAGE, 'buffer')))
    else if (type === 'RSA') checkPss(key, 'SHA256', MESSAGE, await sign(type, 'PSS_SHA256', sha256))
    else if (type === 'Curve25519') checkEd25519(key, MESSAGE, await sign(type, 'EdDSA', MESSAGE))
    else assert.ok(verify(null, MESSAGE, key, await sign(type, 'ML_DSA', MESSAGE)), type)
  }
  const point = Buffer.from(publicMembers(publicKeyOf('EC_P256K1')).data!, 'base64')
  checkBip340(point, sha256, await sign('EC_P256K1', 'BIP340', sha256))
}

/** With the generic keys, and with that of RSA. */
async function decryptWithEach(coffer: Coffer, { answers, generic }: FixtureRecord): Promise<void> {
  const use = async (path: string, json: object) =>
    (await expect(200, coffer.call('POST', `/keys/${path}`, { as: OPERATOR, json }))).json()
  const keyOf = (mode: string): string => (mode === 'XAES_GCM' ? XAES_KEY : 'Generic')
  for (const [mode, ciphertext] of Object.entries(generic.ciphertexts))
    assert.equal((await use(`${keyOf(mode)}/decrypt`, { mode, ...ciphertext })).decrypted, generic.plain, mode)
  const { signature } = await use('Generic/sign', { mode: 'HMAC_SHA256', message: generic.plain })
  assert.equal(signature, generic.mac)
  const sealed = encryptOaep(createPublicKey(answers['/keys/RSA/public.pem'] as string), 'SHA256', MESSAGE)
  const { decrypted } = await use('RSA/decrypt', { mode: 'OAEP_SHA256', encrypted: base64(sealed) })
  assert.equal(decrypted, base64(MESSAGE))
}

/** `coffer audit verify`, held to the key and the last line of the log that the fixture's version exported. */
async function verifyAudit(t: TestContext, coffer: Coffer, { directory, read }: Fixture): Promise<void> {
  const { head } = JSON.parse(read(AUDIT_EXPORT).toString().trimEnd().split('\n').at(-1)!)
  const path = join(directory, 'now.jsonl')
  writeFileSync(path, (await expect(200, coffer.call('GET', '/audit/export', { as: ADMIN }))).bytes)
  for (const file of [path, join(directory, AUDIT_EXPORT)]) {
    const line = [COMMAND, 'audit', 'verify', file, '--key', head.key, '--known', `${head.sequence}:${head.hash}`]
    const said = execFileSync(process.execPath, line, { env: { XDG_CONFIG_HOME: directory }, encoding: 'utf8' })
    assert.match(said, /nothing changed, missing or reordered/)
    t.diagnostic(said.trim().split('\n')[0]!)
  }
}

const idsIn = (record: FixtureRecord): string[] => KEY_TYPES.filter((type) => `/keys/${type}` in record.answers)

for (const version of fixtureVersions()) {
  test(`opens the store of ${version}: settings, users, each key, chat and audit log`, async (t) => {
    const fixture = unpacked(t, version)
    const { record, data } = fixture
    const coffer = await started(t, data)
    assert.equal(await stateOf(coffer), 'Operational', 'by the device key')
    await signWithEach(coffer, record)
    await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
    await unlock(coffer)
    const { port } = await reach(coffer, 'running')
    assertHolds(record.answers, await readAnswers(coffer, idsIn(record)), 'answers')
    await signWithEach(coffer, record)
    await decryptWithEach(coffer, record)
    assertHolds(record.chat, await readChat(port!, record.account, record.bot), 'chat')
    await keyOf(port!) // by the password of then
    const { transit } = (await expect(200, coffer.call('GET', '/config/interfaces', { as: ADMIN }))).json()
    assert.equal(transit, 'off', 'an update opens no further API')
    await expect(404, coffer.call('GET', '//v1/sys/health'))
    await verifyAudit(t, coffer, fixture)
    // The answers are the same in a later year, so the fixture does not age.
    await expect(204, coffer.call('PUT', '/config/time', { as: ADMIN, json: { time: LATER } }))
    assertHolds(record.chat, await readChat(port!, record.account, record.bot), 'chat, years later')
  })

  test(`restores the backup of ${version} into a fresh Coffer, with its chat`, async (t) => {
    const { record, read } = unpacked(t, version)
    const coffer = await started(t, makeDataDirectory(t))
    await expect(204, restore(coffer, read(BACKUPS.coffer)))
    await unlock(coffer)
    assertHolds(record.answers['/users'], (await coffer.call('GET', '/users', { as: ADMIN })).json(), 'users')
    await signWithEach(coffer, record)
    await decryptWithEach(coffer, record)
    const { port } = await reach(coffer, 'running')
    assertHolds(record.chat, await readChat(port!, record.account, record.bot), 'chat')
  })

  test(`restores the backup of ${version} in the form of a NetHSM`, async (t) => {
    const { record, read } = unpacked(t, version)
    const coffer = await started(t, makeDataDirectory(t))
    await expect(204, restore(coffer, read(BACKUPS.nethsm)))
    await unlock(coffer)
    await signWithEach(coffer, record)
    await decryptWithEach(coffer, record)
  })
}

const [version] = fixtureVersions()

test('a store of a newer version is refused, and stays as it is', async (t) => {
  const { data } = unpacked(t, version!)
  const path = storePath(join(data, 'store'))
  const database = new Sqlite(path)
  database.pragma('user_version = 99')
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
  const before = digestOf(path)
  const coffer = await started(t, data)
  assert.equal(await stateOf(coffer), 'Failed')
  await coffer.see(/The store has version 99, this software knows up to version \d+: start a newer version of Coffer/)
  await coffer.stop()
  assert.equal(digestOf(path), before)
})

test('a chat of a newer version is refused, and goes on in that version', (t) => {
  const path = join(makeDataDirectory(t), 'chat.db')
  const key = new Uint8Array(32).fill(7)
  const newer = [...CHAT_MIGRATIONS, () => {}]
  openDatabase({ path, key, migrations: newer }).close()
  assert.throws(() => openDatabase({ path, key, migrations: CHAT_MIGRATIONS }), {
    code: 'storage',
    message: 'The chat was written by a newer version of Coffer: start that version or a newer one',
  })
  const { database, close } = openDatabase({ path, key, migrations: newer })
  assert.equal(database.pragma('user_version', { simple: true }), newer.length)
  close()
})

test('a backup of a newer version is refused', async (t) => {
  const { read } = unpacked(t, version!)
  const coffer = await started(t, makeDataDirectory(t))
  const backup = read(BACKUPS.coffer)
  backup[MAGIC.length] = 99
  const { message } = (await expect(400, restore(coffer, backup))).json()
  assert.equal(message, 'The backup is of a newer version of Coffer: restore it with that version or a newer one')
  assert.equal(await stateOf(coffer), 'Unprovisioned')
})

test('the current version is released with a fixture of its own', () => {
  const changelog = readFileSync(join(import.meta.dirname, '../../CHANGELOG.md'), 'utf8')
  const released = [...changelog.matchAll(/^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$/gm)].map(([, number]) => number!)
  assert.ok(released.includes(packageJson.version), `CHANGELOG.md has a dated section of ${packageJson.version}`)
  assert.deepEqual(fixtureVersions().sort(), released.sort())
})
