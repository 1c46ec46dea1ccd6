/** The chat in backups of Coffer's own form: out while it is used, and back, all or nothing. Design 14. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { ADMIN, expect, provision, stateOf, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../../support/process.ts'
import { type Account, ask, chatPid, keyOf, makeOrganization, reach, statusOf } from '../support/process.ts'

const BACKUP = 'words that open a backup'
const BACKUP_USER = 'keeper:passphrase of the keeper'

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
  await provision(coffer)
  const json = { newPassphrase: BACKUP, currentPassphrase: '' }
  await expect(204, coffer.call('PUT', '/config/backup-passphrase', { as: ADMIN, json }))
  const user = { realName: 'Keeper', role: 'Backup', passphrase: 'passphrase of the keeper' }
  await expect(201, coffer.call('PUT', '/users/keeper', { as: ADMIN, json: user }))
  return coffer
}

const backUp = async (coffer: Coffer, form = 'coffer'): Promise<Buffer> =>
  (await expect(200, coffer.call('POST', `/system/backup?format=${form}`, { as: BACKUP_USER }))).bytes

const restore = (coffer: Coffer, backup: Buffer, as?: string) =>
  coffer.call('POST', `/system/restore?backupPassphrase=${encodeURIComponent(BACKUP)}`, {
    ...(as && { as }),
    body: backup,
    type: 'application/octet-stream',
  })

/** A change of the owner's, and whether it is there. */
const rename = async (port: number, as: Account, name: string) => {
  const { status, body } = await ask(
    port,
    'PATCH',
    `/users/${(await ask(port, 'GET', '/users/me', { as })).body.user_id}`,
    {
      as,
      form: { full_name: name },
    },
  )
  assert.equal(status, 200, JSON.stringify(body))
}
const nameOf = async (port: number, as: Account) => (await ask(port, 'GET', '/users/me', { as })).body.full_name

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
  await coffer.see(/the backup is without the chat/)
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

test('a restore that is cut by a kill leaves the chat of before', async (t) => {
  const data = makeDataDirectory(t)
  const coffer = await furnished(t, data)
  await makeOrganization(coffer)
  const { port } = await statusOf(coffer)
  const account = await keyOf(port!)
  const backup = await backUp(coffer)
  await rename(port!, account, 'Olivia After')
  const cut = restore(coffer, backup, ADMIN).catch(() => null)
  process.kill(await coffer.firmwarePid(), 'SIGKILL')
  const answer = await cut
  await coffer.see(/The firmware ended with SIGKILL/)
  await coffer.see(/Locked/)
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  const again = await reach(coffer, 'running')
  assert.equal(await nameOf(again.port!, account), answer?.status === 204 ? 'Olivia Owner' : 'Olivia After')
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
