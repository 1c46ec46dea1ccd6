/** tools/backup-list.ts, run as a user does. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import test, { before } from 'node:test'
import { openAppliance } from '../../firmware/appliance/appliance.ts'
import { createLog } from '../../firmware/base/log.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { firstAdministrator, openDomain } from '../../firmware/kms/domain/operational.ts'
import { openPool } from '../support/pool.ts'
import { BACKUP, fillStore, UNLOCK } from './fill-store.ts'

const program = resolve(import.meta.dirname, '../../tools/backup-list.ts')
const directory = mkdtempSync(join(tmpdir(), 'coffer-list-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const file = (name: string, content: string | Uint8Array) => {
  const path = join(directory, name)
  writeFileSync(path, content)
  return path
}

let backup: Buffer
before(async () => {
  const data = join(directory, 'data')
  const deviceKey = await fillStore(data, 60)
  const pool = await openPool()
  const appliance = await openAppliance({
    dataDirectory: join(data, 'store'),
    deviceKey,
    pool,
    log: createLog('error', ({ message }) => console.error(message)),
    openDomain,
    firstAdministrator,
    makeTlsIdentity: () => makeTlsIdentity(systemRandom),
  })
  await appliance.unlock(new TextEncoder().encode(UNLOCK))
  const pieces: Uint8Array[] = []
  for await (const piece of (await appliance.backups.make('coffer')).stream) pieces.push(piece)
  backup = Buffer.concat(pieces)
  await pool.close()
  appliance.close()
})

const list = (bytes: Uint8Array, backupPassphrase = BACKUP, unlockPassphrase = UNLOCK) => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      program,
      file('backup', bytes),
      '--backup-passphrase-file',
      file('one', `${backupPassphrase}\n`),
      '--unlock-passphrase-file',
      file('two', unlockPassphrase),
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
  )
  return { status, stdout, stderr }
}

test('users, namespaces and keys are listed, and everything is counted', () => {
  const { status, stdout, stderr } = list(backup)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  const lines = stdout.trimEnd().split('\n')
  assert.match(lines[0]!, /^made \d{4}-.*Z on device [A-Z2-7]{10}, unattended start off$/)
  assert.equal(
    lines.at(-1),
    'complete: 4 users, 1 namespaces, 60 keys, 60 privateKeys, 6 certificates, 1 configuration',
  )
  for (const line of [
    'device record: tls identity',
    'user admin: Administrator, "admin"',
    'user signer: Operator, "name of signer", tags berlin',
    'namespace team',
    'key key-0: Curve25519, EdDSA_Signature, 0 operations, tags berlin, label "label 0", with certificate',
    'key team/key-7: Generic, AES_Encryption_CBC, 7 operations, label "label 7"',
  ])
    assert.ok(lines.includes(line), `${line}\n${stdout}`)
  assert.equal(lines.filter((line) => line.startsWith('key ')).length, 60)
})

test('wrong passphrases, cut and foreign files are told, with exit status 1', () => {
  for (const [result, message] of [
    [list(backup, 'wrong passphrase'), /Wrong backup passphrase/],
    [list(backup, BACKUP, 'wrong passphrase'), /Wrong unlock passphrase/],
    [list(backup.subarray(0, -10)), /incomplete/],
    [list(Buffer.from('something else'.repeat(9))), /Not a backup/],
  ] as const) {
    assert.equal(result.status, 1)
    assert.match(result.stderr, message)
  }
})

test('without files or a terminal it says what to do, and help is there', () => {
  const run = (...parameters: string[]) =>
    spawnSync(process.execPath, [program, ...parameters], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  assert.match(run(file('backup', backup)).stderr, /no terminal/)
  assert.equal(run().status, 2)
  assert.match(run('--help').stdout, /Both passphrases/)
  assert.equal(run('--help').status, 0)
})
