// @test long 30
/** The chat in backups of Coffer's own form: out while it is used, and back, all or nothing. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { ADMIN, expect, stateOf, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../../support/process.ts'
import { BACKUP_USER, backUp, nameOf, provisionForBackups, rename, restore } from '../support/backups.ts'
import { chatPid, keyOf, makeOrganization, reach, statusOf } from '../support/process.ts'

let program: string
before(async () => {
  program = await buildForTests()
})

async function started(t: TestContext, data = makeDataDirectory(t)): Promise<Coffer> {
  const coffer = startCoffer(t, { program, data, settings: { COFFER_CHAT_PORT: '0' } })
  await coffer.target()
  return coffer
}

async function furnished(t: TestContext, data = makeDataDirectory(t)): Promise<Coffer> {
  const coffer = await started(t, data)
  await provisionForBackups(coffer)
  return coffer
}

test('comes back on a fresh Coffer with everything, once that is unlocked', async (t) => {
  const first = await furnished(t)
  await makeOrganization(first)
  const { port } = await statusOf(first)
  const account = await keyOf(port!)
  await rename(port!, account, 'Olivia Before')
  const backup = await backUp(first)
  await rename(port!, account, 'Olivia After') // goes on while nothing is copied any more
  await first.stop()

  const second = await started(t)
  await expect(204, restore(second, backup))
  assert.equal(await stateOf(second), 'Locked')
  await expect(204, second.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  const status = await reach(second, 'running')
  assert.equal(await nameOf(status.port!, account), 'Olivia Before')
})

test('replaces the chat of a running Coffer, and only with the whole of a backup', async (t) => {
  const data = makeDataDirectory(t)
  const coffer = await furnished(t, data)
  await makeOrganization(coffer)
  const { port } = await statusOf(coffer)
  const account = await keyOf(port!)
  await rename(port!, account, 'Olivia Before')
  const backup = await backUp(coffer)
  await rename(port!, account, 'Olivia After')
  await expect(400, restore(coffer, backup.subarray(0, -1), ADMIN))
  await expect(400, restore(coffer, Buffer.from(backup).fill(1, backup.length - 2000, backup.length - 1990), ADMIN))
  assert.equal(await nameOf(port!, account), 'Olivia After')
  const chat = await chatPid(coffer)
  await expect(204, restore(coffer, backup, ADMIN))
  await reach(coffer, 'running')
  assert.notEqual(await chatPid(coffer), chat)
  assert.equal(await nameOf(port!, account), 'Olivia Before')
  assert.equal(readdirSync(join(data, 'chat')).length, 1) // the former one is gone
})

test('one in the form of a NetHSM leaves the chat where it is while the domain key stays', async (t) => {
  const coffer = await furnished(t)
  await makeOrganization(coffer)
  const { port } = await statusOf(coffer)
  const account = await keyOf(port!)
  const backup = await backUp(coffer, 'nethsm')
  await coffer.see(/the backup is incomplete, it omits: chat/)
  await rename(port!, account, 'Olivia After')
  await expect(204, restore(coffer, backup, ADMIN))
  await reach(coffer, 'running')
  assert.equal(await nameOf(port!, account), 'Olivia After')
})

test('one of another Coffer, without a chat, takes the chat with the key that opened it', async (t) => {
  const other = await furnished(t)
  const backup = await backUp(other)
  await other.stop()
  const data = makeDataDirectory(t)
  const coffer = await furnished(t, data)
  await makeOrganization(coffer)
  await expect(204, restore(coffer, backup, ADMIN))
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await reach(coffer, 'none')
  assert.deepEqual(readdirSync(join(data, 'chat')), [])
})

test('two at a time are refused, and what was written while one was read is not lost', async (t) => {
  const coffer = await furnished(t)
  await makeOrganization(coffer)
  const { port } = await statusOf(coffer)
  const account = await keyOf(port!)
  const [first, second] = await Promise.all([
    coffer.call('POST', '/system/backup?format=coffer', { as: BACKUP_USER }),
    coffer.call('POST', '/system/backup?format=coffer', { as: BACKUP_USER }),
  ])
  assert.deepEqual([first.status, second.status].sort(), [200, 503])
  const name = `Olivia ${randomBytes(4).toString('hex')}`
  await rename(port!, account, name)
  process.kill(await chatPid(coffer), 'SIGKILL')
  await reach(coffer, 'running')
  assert.equal(await nameOf(port!, account), name)
})
