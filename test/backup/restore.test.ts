// @test long 40
/** Backup and restore over the API: forms, roles, states, and what a restore replaces. Contract sections 3.5 and 8.3. */

import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BACKUP_FORMATS } from '../../firmware/backup/backups.ts'
import { splitLine } from '../support/client.ts'
import { openRig, operationalRig, type Rig, UNLOCK } from '../support/in-process.ts'
import {
  BACKUP,
  digestStore,
  form,
  furnishedRig,
  inventory,
  OTHER_DEVICE,
  restore,
  setBackupPassphrase,
  sign,
  takeBackup,
  unlock,
  useUsersOf,
} from './rig.ts'

const NO_NETWORK = { ipAddress: '10.1.2.3', netmask: '255.0.0.0', gateway: '0.0.0.0' }
const query = (values: Record<string, string>) => `POST /system/restore?${new URLSearchParams(values)}`

async function fresh(t: TestContext, deviceKey: Uint8Array<ArrayBuffer> | undefined = OTHER_DEVICE): Promise<Rig> {
  const rig = await openRig(t, deviceKey)
  useUsersOf(rig, 'operator', 'backup', 'team~chief')
  return rig
}

test('the backup passphrase is set in both forms, and only the form with the current one asks for it', async (t) => {
  const rig = await operationalRig(t)
  const set = async (json: object) => (await rig.call('PUT', '/config/backup-passphrase', { as: 'admin', json })).status
  const next = 'the next passphrase'
  assert.equal(await set({ newPassphrase: BACKUP, currentPassphrase: 'not empty' }), 403)
  assert.equal(await set({ newPassphrase: 'short', currentPassphrase: '' }), 400)
  assert.equal(await set({ newPassphrase: BACKUP }), 400)
  assert.equal(await set({ newPassphrase: BACKUP, currentPassphrase: '', passphrase: BACKUP }), 400)
  assert.equal(await rig.status('POST', '/system/backup', { as: 'backup' }), 412)
  assert.equal(await set({ newPassphrase: BACKUP, currentPassphrase: '' }), 204)
  assert.equal(await set({ newPassphrase: next, currentPassphrase: '' }), 403)
  assert.equal(await set({ newPassphrase: next, currentPassphrase: 'wrong passphrase' }), 403)
  assert.equal(await set({ newPassphrase: next, currentPassphrase: BACKUP }), 204)
  assert.equal(await set({ newPassphrase: BACKUP, currentPassphrase: next }), 204)
  assert.equal(await set({ passphrase: 'short' }), 400)
  assert.equal(await set({ passphrase: next }), 204)
  assert.equal(await set({ newPassphrase: BACKUP, currentPassphrase: next }), 204)
  assert.ok(rig.entries.some(({ message }) => /backup passphrase set by admin, without/.test(message)))
  assert.ok(rig.entries.every(({ message }) => !message.includes(BACKUP) && !message.includes(next)))
  assert.equal(await rig.status('POST', '/system/backup', { as: 'backup' }), 200)
})

test('backups are for root users with role Backup, restores for root Administrators', async (t) => {
  const rig = await furnishedRig(t)
  await rig.user('team~backup', 'Backup', 'team~chief')
  const backup = await takeBackup(rig)
  for (const as of ['admin', 'operator', 'metrics', 'team~chief', 'team~backup'])
    assert.equal(await rig.status('POST', '/system/backup', { as }), 403, as)
  assert.equal(await rig.status('POST', '/system/backup'), 401)
  for (const as of ['operator', 'metrics', 'backup', 'team~chief'])
    assert.equal((await restore(rig, {}, backup, { as })).status, 403, as)
  assert.equal((await restore(rig, {}, backup, { as: undefined })).status, 401)
  const wrongType = await rig.call('POST', '/system/backup', { as: 'backup', headers: { accept: 'application/json' } })
  assert.equal(wrongType.status, 406)
  const { headers } = await rig.call('POST', '/system/backup', { as: 'backup' })
  assert.equal(headers['content-type'], 'application/octet-stream')
  assert.equal(headers['cache-control'], 'no-cache')
})

for (const format of BACKUP_FORMATS) {
  test(`a full restore on another device brings everything but unattended starts, and is Locked: ${format}`, async (t) => {
    const rig = await furnishedRig(t)
    rig.appliance.configuration.setNetwork(NO_NETWORK)
    rig.appliance.setUnattendedBoot(true)
    const before = await inventory(rig, 'team~chief')
    const { cert } = rig.appliance.tlsIdentity()
    const backup = await takeBackup(rig, format)

    const target = await fresh(t)
    const headers = { authorization: 'Basic bm90OnVzZWQ=' } // ignored
    const form = { backupPassphrase: BACKUP, systemTime: '2031-05-06T07:08:09Z' }
    assert.equal((await restore(target, form, backup, { as: undefined, headers })).status, 204)
    assert.equal(target.appliance.state, 'Locked')
    assert.equal(target.appliance.tlsIdentity().cert, cert)
    assert.deepEqual(target.appliance.configuration.network, NO_NETWORK)
    assert.equal((await restore(target, form, backup, { as: undefined })).status, 412)
    assert.equal(await target.status('POST', '/unlock', { json: { passphrase: 'another passphrase' } }), 403)
    target.nowMs += 2000
    await unlock(target)
    assert.deepEqual(await inventory(target, 'team~chief'), before)
    await sign(target, 'lasting', 'ML_DSA')
    assert.equal((await target.call('GET', '/config/unattended-boot', { as: 'admin' })).json().status, 'off')
    const { time } = (await target.call('GET', '/config/time', { as: 'admin' })).json()
    assert.match(time, /^2031-05-06T07:0[89]:/)
    assert.ok(target.entries.every(({ message }) => !message.includes(BACKUP)))
    // The backup passphrase came along, too.
    assert.ok((await takeBackup(target, format)).length > 0)
  })
}

for (const format of BACKUP_FORMATS) {
  test(`a full restore on the same device starts unattended where that was on: ${format}`, async (t) => {
    const rig = await furnishedRig(t)
    const attended = await takeBackup(rig, format)
    rig.appliance.setUnattendedBoot(true)
    const backup = await takeBackup(rig, format)
    const before = await inventory(rig, 'team~chief')
    const target = await fresh(t, new Uint8Array(32).fill(7))
    assert.equal((await target.call(...splitLine(query({ backupPassphrase: BACKUP })), { body: backup })).status, 204)
    assert.equal(target.appliance.state, 'Operational')
    assert.deepEqual(await inventory(target, 'team~chief'), before)
    assert.equal((await target.call('GET', '/config/unattended-boot', { as: 'admin' })).json().status, 'on')
    const other = await fresh(t, new Uint8Array(32).fill(7))
    assert.equal((await restore(other, { backupPassphrase: BACKUP }, attended, { as: undefined })).status, 204)
    assert.equal(other.appliance.state, 'Locked')
  })
}

for (const format of BACKUP_FORMATS) {
  test(`a partial restore of the same provisioning stays Operational and replaces users, keys and namespaces: ${format}`, async (t) => {
    const rig = await furnishedRig(t)
    const before = await inventory(rig, 'team~chief')
    const backup = await takeBackup(rig, format)
    rig.appliance.setUnattendedBoot(true)
    rig.appliance.configuration.setNetwork(NO_NETWORK)
    await rig.user('late', 'Administrator')
    await rig.key('late')
    await rig.call('DELETE', '/keys/plain', { as: 'admin' })
    await rig.call('DELETE', '/namespaces/team', { as: 'admin' })
    await rig.call('POST', '/users/operator/passphrase', { as: 'admin', json: { passphrase: 'another passphrase' } })
    await assert.rejects(sign(rig, 'tagged'), /401/)
    rig.nowMs += 2000
    const { cert } = rig.appliance.tlsIdentity()
    const timeBefore = rig.appliance.clock.offsetMs
    assert.equal(await rig.status('GET', '/users', { as: 'late' }), 200)

    assert.equal((await restore(rig, {}, backup, { as: 'late' })).status, 204)
    assert.equal(rig.appliance.state, 'Operational')
    rig.nowMs += 2000
    assert.equal(await rig.status('GET', '/users', { as: 'late' }), 401) // gone, and nothing of it remembered
    assert.deepEqual(await inventory(rig, 'team~chief'), before)
    await sign(rig, 'tagged')
    assert.deepEqual(rig.appliance.configuration.network, NO_NETWORK)
    assert.equal(rig.appliance.tlsIdentity().cert, cert)
    assert.equal((await rig.call('GET', '/config/unattended-boot', { as: 'admin' })).json().status, 'on')
    assert.equal(rig.appliance.clock.offsetMs, timeBefore)
  })
}

for (const format of BACKUP_FORMATS) {
  test(`a partial restore with another unlock passphrase or domain key locks, and ends unattended starts: ${format}`, async (t) => {
    const rig = await furnishedRig(t)
    const backup = await takeBackup(rig, format)
    const before = await inventory(rig, 'team~chief')
    rig.appliance.setUnattendedBoot(true)
    const json = { newPassphrase: 'a new unlock passphrase', currentPassphrase: UNLOCK }
    assert.equal(await rig.status('PUT', '/config/unlock-passphrase', { as: 'admin', json }), 204)
    const time = '2040-01-01T00:00:00Z'
    assert.equal((await restore(rig, { backupPassphrase: BACKUP, systemTime: time }, backup)).status, 204)
    assert.equal(rig.appliance.state, 'Locked')
    await unlock(rig, UNLOCK) // the one of the backup
    assert.deepEqual(await inventory(rig, 'team~chief'), before)
    assert.equal(rig.appliance.unattendedBoot, false)
    assert.match((await rig.call('GET', '/config/time', { as: 'admin' })).json().time, /^2040-01-01T00:0/)

    const other = await operationalRig(t)
    other.appliance.setUnattendedBoot(true)
    other.appliance.configuration.setNetwork(NO_NETWORK)
    assert.equal((await restore(other, {}, backup)).status, 400) // not its own backup passphrase
    await setBackupPassphrase(other) // the same passphrase, another salt
    assert.equal((await restore(other, { backupPassphrase: null }, backup)).status, 400)
    assert.equal((await restore(other, { backupPassphrase: BACKUP, systemTime: null }, backup)).status, 204)
    assert.equal(other.appliance.state, 'Locked')
    await unlock(other)
    useUsersOf(other, 'team~chief')
    assert.deepEqual(await inventory(other, 'team~chief'), before)
    assert.equal(other.appliance.unattendedBoot, false)
    assert.deepEqual(other.appliance.configuration.network, NO_NETWORK)
  })
}

for (const format of BACKUP_FORMATS) {
  test(`requests that are no restore are refused, and change nothing: ${format}`, async (t) => {
    const rig = await furnishedRig(t)
    const backup = await takeBackup(rig, format)
    const target = await fresh(t)
    const good = { backupPassphrase: BACKUP }
    const late = backup.slice(0, -1)
    const flipped = () => {
      const copy = backup.slice()
      copy[randomInt(copy.length)]! ^= 1
      return copy
    }
    const two = form(good, backup)
    two.append('more', 'of this')
    const twice = form(good, backup)
    twice.append('arguments', '{}')
    const only = (name: string, part: string | Blob) => {
      const body = new FormData()
      body.append(name, part)
      return body
    }
    const newer = backup.slice()
    newer[15] = 9
    const bodies: [string, FormData][] = [
      ['a wrong passphrase', form({ backupPassphrase: 'a wrong passphrase' }, backup)],
      ['an empty passphrase', form({ backupPassphrase: '' }, backup)],
      ['no JSON', form('{', backup)],
      ['an unknown member', form({ ...good, more: 1 }, backup)],
      ['a bad time', form({ ...good, systemTime: 'now' }, backup)],
      ['a number for a passphrase', form({ backupPassphrase: 1 }, backup)],
      ['long arguments', form({ ...good, systemTime: ' '.repeat(1024) }, backup)],
      ['no arguments', only('backup', new Blob([backup]))],
      ['no file', only('arguments', JSON.stringify(good))],
      ['two files', two],
      ['arguments twice', twice],
      ['an empty file', form(good, new Uint8Array())],
      ['a foreign file', form(good, randomBytes(5000))],
      ['a newer version', form(good, newer)],
      ['a cut backup', form(good, late)],
      ['a longer backup', form(good, new Uint8Array([...backup, 0]))],
      ...Array.from({ length: 20 }, (): [string, FormData] => ['a flipped bit', form(good, flipped())]),
      ...Array.from({ length: 20 }, (): [string, FormData] => [
        'cut',
        form(good, backup.slice(0, randomInt(backup.length))),
      ]),
    ]
    for (const [rigUnderTest, as] of [[target, undefined] as const, [rig, 'admin'] as const]) {
      const state = rigUnderTest.appliance.state
      const rows = digestStore(rigUnderTest.dataDirectory)
      for (const [what, body] of bodies) {
        const { status, json } = await rigUnderTest.call('POST', '/system/restore', { as, body })
        assert.equal(status, 400, `${what}: ${json()?.message}`)
        assert.ok(json().message.length > 0)
      }
      const requests: [string, string, Uint8Array<ArrayBuffer>][] = [
        ['no passphrase', 'POST /system/restore', backup],
        ['a wrong passphrase', query({ backupPassphrase: 'a wrong passphrase' }), backup],
        ['an unknown parameter', query({ backupPassphrase: BACKUP, more: 'x' }), backup],
        ['a bad time', query({ backupPassphrase: BACKUP, systemTime: 'now' }), backup],
        ['no body', query({ backupPassphrase: BACKUP }), new Uint8Array()],
      ]
      for (const [what, line, body] of requests)
        assert.equal((await rigUnderTest.call(...splitLine(line), { as, body })).status, 400, what)
      const both = { as, body: form(good, backup) }
      assert.equal((await rigUnderTest.call(...splitLine(query({ backupPassphrase: BACKUP })), both)).status, 400)
      assert.equal(rigUnderTest.appliance.state, state)
      assert.deepEqual(digestStore(rigUnderTest.dataDirectory), rows)
    }
    // Unprovisioned, there is no current passphrase.
    assert.equal((await restore(target, {}, backup, { as: undefined })).status, 400)
    assert.equal((await restore(target, good, backup, { as: undefined })).status, 204)
  })
}

test('parts come in any order, and the file under any name', async (t) => {
  const rig = await furnishedRig(t)
  const backup = await takeBackup(rig)
  for (const name of ['backup', 'backup_file', 'x']) {
    const body = new FormData()
    body.append(name, new Blob([backup]), 'file')
    body.append('arguments', JSON.stringify({ backupPassphrase: BACKUP }))
    assert.equal((await rig.call('POST', '/system/restore', { as: 'admin', body })).status, 204, name)
  }
})

test('the clock that a restore sets goes by when it was asked for, whatever the clock is set to meanwhile', async (t) => {
  const rig = await furnishedRig(t)
  const backup = await takeBackup(rig)
  const rest = Promise.withResolvers<void>()
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(backup.slice(0, 100))
      await rest.promise
      controller.enqueue(backup.slice(100))
      controller.close()
    },
  })
  const query = new URLSearchParams({ backupPassphrase: BACKUP, systemTime: '2031-01-01T00:00:00Z' })
  const restoring = rig.call('POST', `/system/restore?${query}`, { as: 'admin', body })
  await sleep(100)
  assert.equal(await rig.status('PUT', '/config/time', { as: 'admin', json: { time: '2040-01-01T00:00:00Z' } }), 204)
  rest.resolve()
  assert.equal((await restoring).status, 204)
  assert.match((await rig.call('GET', '/config/time', { as: 'admin' })).json().time, /^2031-01-01T00:/)
})

test('while a backup is verified others write nothing, and a second restore and a lock are safe', async (t) => {
  const rig = await furnishedRig(t)
  const backup = await takeBackup(rig)
  const before = await inventory(rig, 'team~chief')
  const gate = Promise.withResolvers<void>()
  const { scrypt } = rig.pool
  rig.pool.scrypt = after(gate.promise, scrypt)
  const pending = restore(rig, { backupPassphrase: BACKUP }, backup)
  await refusedWrite(rig)
  assert.equal((await rig.call('PUT', '/users/operator/tags/y', { as: 'admin' })).headers['retry-after'], '1')
  await sign(rig, 'plain') // not a write
  const next = restore(rig, { backupPassphrase: BACKUP }, backup) // waits its turn, and then is of another era
  gate.resolve()
  assert.equal((await pending).status, 204)
  assert.equal((await next).status, 412)
  assert.deepEqual(await inventory(rig, 'team~chief'), before)
  assert.equal(await rig.status('PUT', '/users/operator/tags/y', { as: 'admin' }), 204)

  const second = Promise.withResolvers<void>()
  rig.pool.scrypt = after(second.promise, scrypt)
  const ended = restore(rig, { backupPassphrase: BACKUP }, backup)
  await refusedWrite(rig)
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  second.resolve()
  assert.equal((await ended).status, 412)
  rig.pool.scrypt = scrypt
  await unlock(rig)
  assert.equal(await rig.status('PUT', '/users/operator/tags/z', { as: 'admin' }), 204)
})

test('a lock while a backup is verified stores the counts of operations, and nothing is restored', async (t) => {
  const rig = await furnishedRig(t)
  const backup = await takeBackup(rig)
  const gate = Promise.withResolvers<void>()
  const { scrypt } = rig.pool
  rig.pool.scrypt = after(gate.promise, scrypt)
  const ended = restore(rig, { backupPassphrase: BACKUP }, backup)
  await refusedWrite(rig)
  for (let n = 0; n < 3; n++) await sign(rig, 'plain')
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  gate.resolve()
  assert.equal((await ended).status, 412)
  rig.pool.scrypt = scrypt
  await unlock(rig)
  assert.equal((await rig.call('GET', '/keys/plain', { as: 'admin' })).json().operations, 3)
  const errors = rig.entries.filter(({ level }) => level === 'error').map(({ message }) => message)
  assert.deepEqual(errors, [])
})

test('a backup goes on through a lock and a restore, as what it was', async (t) => {
  const rig = await furnishedRig(t)
  const old = await takeBackup(rig)
  await rig.key('late')
  const before = await inventory(rig)
  const chunks = (await rig.appliance.backups.make('coffer')).stream[Symbol.asyncIterator]()
  const pieces = [(await chunks.next()).value as Uint8Array]
  assert.equal((await restore(rig, {}, old)).status, 204)
  await rig.status('POST', '/lock', { as: 'admin' })
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) pieces.push(next.value)
  await unlock(rig)
  assert.equal(await rig.status('GET', '/keys/late', { as: 'admin' }), 404)
  assert.equal((await restore(rig, {}, new Uint8Array(Buffer.concat(pieces)))).status, 204)
  assert.deepEqual(await inventory(rig), before)
})

test('a backup whose client is gone before its first piece is over, and another can be made', async (t) => {
  const rig = await furnishedRig(t)
  for (const format of BACKUP_FORMATS) {
    assert.equal(await rig.leave('POST', `/system/backup?format=${format}`, { as: 'backup' }), 200)
    await takeBackup(rig, format)
  }
})

test('no two backup passphrases are derived at once', async (t) => {
  const rig = await furnishedRig(t)
  let running = 0
  let runningMax = 0
  const { scrypt } = rig.pool
  rig.pool.scrypt = async (...parameters) => {
    runningMax = Math.max(runningMax, ++running)
    const derived = await after(sleep(20), scrypt)(...parameters)
    running--
    return derived
  }
  await rig.call('GET', '/users', { as: 'admin' }) // so that the credentials are remembered
  runningMax = 0
  const next = (n: number) => rig.appliance.backups.setPassphrase(Buffer.from(`passphrase ${n}`), null)
  await Promise.all([next(1), next(2), next(3)])
  assert.equal(runningMax, 1)
})

const after =
  (moment: Promise<void>, scrypt: Rig['pool']['scrypt']): Rig['pool']['scrypt'] =>
  async (passphrase, salt, cost) => {
    const copy = passphrase.slice()
    await moment
    return scrypt(copy, salt, cost)
  }

async function refusedWrite(rig: Rig): Promise<void> {
  for (let n = 0; (await rig.status('PUT', `/users/operator/tags/n${n}`, { as: 'admin' })) !== 503; n++) await sleep(5)
}
