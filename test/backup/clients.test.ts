/** Backup and restore as clients do them: curl in both forms, the NetHSM Python SDK. Contract sections 5 row 14 and 10. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { expect, stateOf } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { needs, needsPython, PYTHON } from '../support/tools.ts'
import { BACKUP, credentialsOf, fillStore, UNLOCK } from './fill-store.ts'

const run = promisify(execFile)
const ADMIN = credentialsOf('admin')

let program: string
before(async () => {
  program = await buildForTests()
})

const start = (t: TestContext, data = makeDataDirectory(t)): Coffer =>
  startCoffer(t, { program, data, settings: { COFFER_LOG: 'debug' } })

async function startFurnished(t: TestContext): Promise<Coffer> {
  const data = makeDataDirectory(t)
  await fillStore(data, 60)
  const coffer = start(t, data)
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  return coffer
}

async function curl(coffer: Coffer, path: string, ...options: string[]): Promise<string> {
  const { host, port } = await coffer.target()
  const url = `https://${host}:${port}/api/v1${path}`
  const { stdout } = await run('curl', ['-sk', '-w', '%{http_code}', ...options, url])
  return stdout.slice(-3)
}

const keysOf = async (coffer: Coffer) => (await expect(200, coffer.call('GET', '/keys', { as: ADMIN }))).text()

test('curl saves, and restores by form and by raw body; no query is logged', {
  ...needs('curl'),
  timeout: 180_000,
}, async (t) => {
  const coffer = await startFurnished(t)
  const file = join(makeDataDirectory(t), 'backup')
  assert.equal(await curl(coffer, '/system/backup', '-X', 'POST', '-u', credentialsOf('saver'), '-o', file), '200')
  const keys = await keysOf(coffer)
  await expect(204, coffer.call('DELETE', '/keys/key-0', { as: ADMIN }))
  const form = (args: object) => ['-F', `arguments=${JSON.stringify(args)}`, '-F', `backup=@${file}`]
  assert.equal(await curl(coffer, '/system/restore', '-u', ADMIN, ...form({ backupPassphrase: 'a wrong one' })), '400')
  assert.equal(await curl(coffer, '/system/restore', '-u', ADMIN, ...form({ backupPassphrase: BACKUP })), '204')
  assert.equal(await keysOf(coffer), keys)

  const raw = ['-X', 'POST', '-H', 'content-type:', '--data-binary', `@${file}`]
  const query = `?backupPassphrase=${encodeURIComponent(BACKUP)}&systemTime=2031-02-03T04:05:06Z`
  await expect(204, coffer.call('DELETE', '/keys/key-0', { as: ADMIN }))
  assert.equal(await curl(coffer, `/system/restore${query}`, '-u', ADMIN, ...raw), '204')
  assert.equal(await keysOf(coffer), keys)
  const fresh = start(t)
  assert.equal(await curl(fresh, `/system/restore${query}`, ...raw), '204')
  assert.equal(await stateOf(fresh), 'Locked')
  await expect(204, fresh.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  assert.equal(await keysOf(fresh), keys)
  const { date } = (await expect(200, fresh.call('GET', '/health/state'))).headers
  assert.match(date!, /03 Feb 2031 04:0/)

  for (const output of [coffer.output(), fresh.output()]) {
    assert.match(output, /request POST \/api\/v1\/system\/restore\b/)
    for (const secret of ['backupPassphrase', 'of%20the', BACKUP, UNLOCK, 'systemTime'])
      assert.ok(!output.includes(secret))
  }
  assert.ok(readFileSync(file).length > 10_000)
})

test('the NetHSM Python SDK saves and restores, unmodified', { ...needsPython(), timeout: 180_000 }, async (t) => {
  const addresses = []
  for (const coffer of [await startFurnished(t), start(t)]) {
    const { host, port } = await coffer.target()
    addresses.push(`${host}:${port}`)
  }
  const { stdout } = await run(PYTHON, [join(import.meta.dirname, 'sdk.py'), ...addresses], {
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' },
  })
  assert.match(stdout, /^all of it$/m)
})
