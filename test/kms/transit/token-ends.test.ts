/** Login tokens and access keys over time, restarts and restores. Contract section 7.9. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { BACKUP, restore, setBackupPassphrase, takeBackup } from '../../backup/rig.ts'
import { expect } from '../../support/appliance.ts'
import { makeRig, type Rig, UNLOCK } from '../../support/in-process.ts'
import { ADMIN, logIn, OPERATOR, say, switchWire, wiredRig } from './rig.ts'
import { searchStore } from './store-search.ts'

const admin = { as: 'admin' }

async function open(t: TestContext): Promise<{ rig: Rig; restart: () => Promise<void> }> {
  const house = { rig: await wiredRig() }
  t.after(() => house.rig.close())
  await switchWire(house.rig, 'on')
  const restart = async () => {
    const { pool, appliance, dataDirectory } = house.rig
    await pool.close()
    await appliance.close()
    house.rig = await makeRig(undefined, {}, { dataDirectory })
    await unlock(house.rig)
    house.rig.use('admin', ADMIN)
    house.rig.use('web', OPERATOR)
  }
  return Object.assign(house, { restart })
}

const unlock = (rig: Rig) => expect(204, rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))

const statusOf = async (rig: Rig, token: string) => (await say(rig, 'GET', 'auth/token/lookup-self', { token })).status

async function expectStatuses(rig: Rig, statuses: Readonly<Record<string, [token: string, status: number]>>) {
  for (const [name, [token, status]] of Object.entries(statuses)) assert.equal(await statusOf(rig, token), status, name)
}

async function child(rig: Rig, token: string, ttl: string): Promise<string> {
  const { status, body } = await say(rig, 'POST', 'auth/token/create', { token, body: { ttl } })
  assert.equal(status, 200)
  return body.auth.client_token
}

async function accessKey(rig: Rig, name = 'ci'): Promise<{ id: string; token: string; secret: string }> {
  return (await expect(201, rig.call('POST', '/users/web/access-keys', { as: 'web', json: { name } }))).json()
}

const revoke = async (rig: Rig, token: string) =>
  assert.equal((await say(rig, 'POST', 'auth/token/revoke-self', { token })).status, 204)

test('a token that was made while the clock was years ahead does not live for years', async (t) => {
  const { rig } = await open(t)
  const right = rig.appliance.clock.now()
  const setClock = (timeMs: number) =>
    expect(204, rig.call('PUT', '/config/time', { ...admin, json: { time: new Date(timeMs).toISOString() } }))
  await setClock(right + 10 * 365 * 24 * 3_600_000)
  const [ahead, { token: key }] = [await logIn(rig, 'web'), await accessKey(rig)]
  const ofKey = await child(rig, key, '1h')
  await setClock(right + 30 * 60_000)
  const early = await logIn(rig, 'web')
  await setClock(right)
  await expectStatuses(rig, { ahead: [ahead, 403], ofKey: [ofKey, 403], early: [early, 200], key: [key, 200] })
})

test('a token that was revoked stays so when the clock was ahead meanwhile', async (t) => {
  const { rig } = await open(t)
  const right = rig.appliance.clock.now()
  const setClock = (timeMs: number) =>
    expect(204, rig.call('PUT', '/config/time', { ...admin, json: { time: new Date(timeMs).toISOString() } }))
  const revoked = await logIn(rig, 'web')
  await revoke(rig, revoked)
  await setClock(right + 365 * 24 * 3_600_000)
  await revoke(rig, await logIn(rig, 'web'))
  await setClock(right)
  await expectStatuses(rig, { revoked: [revoked, 403], other: [await logIn(rig, 'web'), 200] })
})

test('a token ends when its time is over, and its children with it; an access key does not', async (t) => {
  const { rig } = await open(t)
  const [login, { token: key }] = [await logIn(rig, 'web'), await accessKey(rig)]
  const [short, ofKey] = [await child(rig, login, '100s'), await child(rig, key, '100s')]
  const grandchild = await child(rig, short, '1h')
  const all = { login, key, short, ofKey, grandchild }
  for (const [name, token] of Object.entries(all)) assert.equal(await statusOf(rig, token), 200, name)
  const later = (seconds: number) => {
    const time = new Date(rig.appliance.clock.now() + seconds * 1000).toISOString()
    return expect(204, rig.call('PUT', '/config/time', { ...admin, json: { time } }))
  }
  await later(98)
  assert.equal(await statusOf(rig, grandchild), 200)
  await later(3)
  await expectStatuses(rig, {
    login: [login, 200],
    key: [key, 200],
    short: [short, 403],
    ofKey: [ofKey, 403],
    grandchild: [grandchild, 403],
  })
  await later(24 * 3600)
  await expectStatuses(rig, { login: [login, 403], key: [key, 200] })
  await later(40 * 24 * 3600)
  await expectStatuses(rig, { key: [key, 200] })
})

test('tokens and access keys survive a restart, and so does the end of some', async (t) => {
  const house = await open(t)
  const { rig } = house
  const [kept, revoked, parent] = [await logIn(rig, 'web'), await logIn(rig, 'web'), await logIn(rig, 'web')]
  const orphaned = await child(rig, parent, '1h')
  const [key, deleted] = [await accessKey(rig), await accessKey(rig)]
  const ofDeleted = await child(rig, deleted.token, '1h')
  for (const token of [revoked, parent]) await revoke(rig, token)
  await expect(204, rig.call('DELETE', `/users/web/access-keys/${deleted.id}`, admin))
  const statuses: Parameters<typeof expectStatuses>[1] = {
    kept: [kept, 200],
    key: [key.token, 200],
    revoked: [revoked, 403],
    orphaned: [orphaned, 403],
    deleted: [deleted.token, 403],
    ofDeleted: [ofDeleted, 403],
  }
  await expectStatuses(rig, statuses)
  await expect(204, rig.call('POST', '/lock', admin))
  await unlock(rig)
  await expectStatuses(rig, statuses)
  await house.restart()
  await expectStatuses(house.rig, statuses)
})

test('a passphrase that an administrator sets ends login tokens, and no access key', async (t) => {
  const { rig } = await open(t)
  const [first, { token: key }] = [await logIn(rig, 'web'), await accessKey(rig)]
  const ofKey = await child(rig, key, '1h')
  const json = { passphrase: 'another passphrase' }
  await expect(204, rig.call('POST', '/users/web/passphrase', { ...admin, json }))
  await expectStatuses(rig, { first: [first, 403], ofKey: [ofKey, 403], key: [key, 200] })
})

test('a restore ends login tokens; the access keys are those of the backup', async (t) => {
  const { rig } = await open(t)
  await setBackupPassphrase(rig)
  const { token: saved, id } = await accessKey(rig, 'saved')
  const login = await logIn(rig, 'web')
  const backup = await takeBackup(rig, 'coffer')
  const { token: later } = await accessKey(rig, 'later')
  await expect(204, rig.call('DELETE', `/users/web/access-keys/${id}`, admin))
  await expectStatuses(rig, { saved: [saved, 403], later: [later, 200], login: [login, 200] })
  const { status, text } = await restore(rig, { backupPassphrase: BACKUP }, backup)
  assert.equal(status, 204, text())
  if (rig.appliance.state === 'Locked') await unlock(rig)
  await expectStatuses(rig, { saved: [saved, 200], later: [later, 403], login: [login, 403] })
  assert.equal(await statusOf(rig, await logIn(rig, 'web')), 200)
})

test('ten thousand logins leave no record; no secret of an access key is in the store', async (t) => {
  const { rig } = await open(t)
  const { token, secret, id } = await accessKey(rig)
  const { users, tokens } = rig.appliance.open()
  const store = () => [users.list('').length, JSON.stringify(users.get('web')).length]
  const before = store()
  const caller = users.caller('web')
  assert.ok(caller)
  for (let n = 0; n < 10_000; n++) assert.ok(tokens.read(tokens.issue(caller, 'userpass', 3600).text))
  assert.deepEqual(store(), before)
  for (let n = 0; n < 10; n++) await logIn(rig, 'web')
  assert.deepEqual(store(), before)
  assert.equal(await statusOf(rig, token), 200)
  for (const text of [secret, id, OPERATOR]) assert.deepEqual(searchStore(rig.dataDirectory, text), [], text)
})

test('the secret of an access key is accepted as it was shown, with no other last character', async (t) => {
  const { rig } = await open(t)
  const { token } = await accessKey(rig)
  assert.equal(await statusOf(rig, token), 200)
  // Four characters decode to the same bytes: two bits of the last one are in none.
  for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
    if (last !== token.at(-1)) assert.equal(await statusOf(rig, token.slice(0, -1) + last), 403, last)
})
