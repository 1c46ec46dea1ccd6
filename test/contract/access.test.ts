// @test long 70
/**
 * The access matrix over TLS: a row of each set of callers against every caller, and what needs processes: the chat, a lost device
 * key, restarts and restores. Every row is tried in process (in-process.test.ts).
 */

import assert from 'node:assert/strict'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from '../support/appliance.ts'
import type { Call } from '../support/client.ts'
import { ADMIN, type Appliance, addUser, credentialsOf, provision, startAppliance, UNLOCK } from '../support/suite.ts'
import { type AccessMatrix, createAccessMatrix, identity } from './access.ts'
import { BACKUP, CALLERS, ROWS, type Row, SAMPLE } from './rows.ts'

const RESTART_MS_MAX = 30_000

let appliance: Appliance
let matrix: AccessMatrix
/** Not those of the chat, which has no place in process; backups need the passphrase that one row sets. */
const isTriedInProcess = (row: Row) =>
  !SAMPLE.has(row) && !row.path.startsWith('/chat') && row.path !== '/config/backup-passphrase'
const inside = credentialsOf('inside~callerA')
const administrator = credentialsOf('callerA')

/** Stops it, removes the device key and starts it again: it is Failed. */
async function loseDeviceKey(appliance: Appliance) {
  await appliance.stop()
  const keyFile = readdirSync(appliance.dataDirectory).find((name) => {
    const found = statSync(join(appliance.dataDirectory, name))
    return found.isFile() && found.size === 32 && (found.mode & 0o777) === 0o600
  })
  assert(keyFile, 'a 0600 file of 32 bytes is the device key')
  rmSync(join(appliance.dataDirectory, keyFile))
  await appliance.restart()
  assert.equal(await appliance.state(), 'Failed')
}

async function until(what: string, reached: () => Promise<boolean>) {
  const deadline = Date.now() + RESTART_MS_MAX
  while (!(await reached().catch(() => false))) {
    assert(Date.now() < deadline, `${what}: not within ${RESTART_MS_MAX} ms\n${appliance.log().slice(-2000)}`)
    await delay(100)
  }
}

describe('the access matrix', () => {
  before(async () => {
    appliance = await startAppliance()
    matrix = createAccessMatrix(appliance)
  })
  after(() => appliance?.dispose())

  test('while Unprovisioned, with and without an authorization header', async (t) => {
    const cells = await matrix.runAll(
      'U',
      ['none', 'wrong', 'A'],
      (row) => isTriedInProcess(row) || (row.leaves === true && row.states.includes('U')),
    )
    t.diagnostic(`${cells} cells`)
  })

  test('provisions without regard to an authorization header', async () => {
    const row = ROWS.find((row) => row.path === '/provision')!
    assert.equal(await matrix.run(row, 'U', 'wrong'), undefined)
    assert.equal(await appliance.state(), 'Operational')
    const second = await startAppliance()
    try {
      await provision(second)
      assert.equal(await second.state(), 'Operational')
    } finally {
      await second.dispose()
    }
  })

  test('while Operational, every caller', async (t) => {
    t.diagnostic(`${await matrix.runOperational(isTriedInProcess)} cells`)
  })

  test('a backup is restored by a root Administrator only, or into an empty appliance', async () => {
    const backup = await expect(200, appliance.call('POST', '/system/backup', { as: credentialsOf('callerB') }))
    const path = `/system/restore?backupPassphrase=${encodeURIComponent(BACKUP)}`
    const call: Call = { body: backup.bytes, type: 'application/octet-stream' }
    const keys = (await expect(200, appliance.call('GET', '/keys', { as: ADMIN }))).text()
    await expect(204, appliance.call('DELETE', '/users/inside~sharedO', { as: inside }))
    for (const caller of CALLERS) {
      if (caller === 'A') continue
      const status = caller === 'none' || caller === 'wrong' ? 401 : 403
      await expect(status, appliance.call('POST', path, { ...call, ...identity(caller) }))
      await expect(404, appliance.call('GET', '/users/inside~sharedO', { as: ADMIN }))
    }
    await expect(204, appliance.call('POST', path, { ...call, as: administrator }))
    assert.equal(await appliance.state(), 'Operational')
    await expect(200, appliance.call('GET', '/users/inside~sharedO', { as: ADMIN }))

    const empty = await startAppliance()
    try {
      await expect(204, empty.call('POST', path, { ...call, ...identity('wrong') }))
      assert.equal(await empty.state(), 'Locked')
      await expect(412, empty.call('POST', path, call))
      await expect(204, empty.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
      assert.equal((await expect(200, empty.call('GET', '/keys', { as: ADMIN }))).text(), keys)
    } finally {
      await empty.dispose()
    }
  })

  test('users of a namespace that was deleted are refused everywhere and revived with it', async () => {
    const call = (method: string, path: string, as: string) => appliance.call(method, path, { as })
    await addUser(appliance, 'gone~admin', 'Administrator')
    const admin = credentialsOf('gone~admin')
    await expect(204, call('PUT', '/namespaces/gone', ADMIN))
    await addUser(appliance, 'gone~operator', 'Operator', admin)
    const json = { type: 'EC_P256', mechanisms: ['ECDSA_Signature'], id: 'k' }
    await expect(201, appliance.call('POST', '/keys/generate', { as: admin, json }))
    // A namespace whose name starts the same, with a key of the same id.
    await addUser(appliance, 'gone2~admin', 'Administrator')
    await expect(204, call('PUT', '/namespaces/gone2', ADMIN))
    await expect(201, appliance.call('POST', '/keys/generate', { as: credentialsOf('gone2~admin'), json }))

    await expect(204, call('DELETE', '/namespaces/gone', ADMIN))
    await expect(403, call('GET', '/keys', admin))
    await expect(403, call('GET', '/users/gone~operator', credentialsOf('gone~operator')))
    await expect(200, call('GET', '/keys/k', credentialsOf('gone2~admin')))
    const users = (await call('GET', '/users', ADMIN)).json<{ user: string }[]>().map(({ user }) => user)
    assert(users.includes('gone~admin') && users.includes('gone~operator'))

    await expect(204, call('DELETE', '/users/gone~operator', ADMIN))
    await expect(204, call('PUT', '/namespaces/gone', ADMIN))
    assert.deepEqual((await expect(200, call('GET', '/keys', admin))).json(), [])
    await expect(403, call('DELETE', '/users/gone~admin', ADMIN))
  })

  test('while Locked, every caller', async (t) => {
    await expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
    const skip = (row: Row) => isTriedInProcess(row) || (row.leaves === true && row.states.includes('L'))
    t.diagnostic(`${await matrix.runAll('L', CALLERS, skip)} cells`)
    const unlock = ROWS.find((row) => row.path === '/unlock')!
    for (const caller of ['none', 'wrong', 'A'] as const) assert.equal(await matrix.run(unlock, 'L', caller), undefined)
  })

  test('while Failed, as without its device key', async (t) => {
    await loseDeviceKey(appliance)
    t.diagnostic(`${await matrix.runAll('F', ['none', 'wrong', 'A', 'O', 'nA'])} cells`)
    // Not the last known unlock passphrase either: it cannot be checked.
    await expect(401, appliance.call('POST', '/cluster/force-new', { as: `unlock:${UNLOCK}` }))
  })

  test('reboot, shutdown and factory reset, in each state and by every permitted caller', async () => {
    const throwaway = await startAppliance()
    const post = (action: string, as?: string) =>
      expect(204, throwaway.call('POST', `/system/${action}`, as === undefined ? {} : { as }))
    const shutDown = async (as?: string) => {
      const before = await throwaway.state()
      await post('shutdown', as)
      await until('the end', async () => throwaway.ended())
      assert.equal(await throwaway.stop(), 0)
      await throwaway.restart()
      return before
    }
    const becomes = (state: string) => until(state, async () => (await throwaway.state()) === state)
    const anybody = () => identity('wrong').as
    try {
      assert.equal(await shutDown(), 'Unprovisioned')
      assert.equal(await shutDown(anybody()), 'Unprovisioned')
      await provision(throwaway)

      await post('reboot', ADMIN)
      await becomes('Locked')
      assert.equal(await shutDown(), 'Locked')
      const unlock = () => expect(204, throwaway.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
      await unlock()
      assert.equal(await shutDown(ADMIN), 'Operational')
      await unlock()
      await post('factory-reset', ADMIN)
      await becomes('Unprovisioned')

      await provision(throwaway)
      await loseDeviceKey(throwaway)
      const failures = () => throwaway.log().split('failed: ').length
      const before = failures()
      await post('reboot', anybody())
      await until('another start', async () => failures() > before)
      await becomes('Failed')
      assert.equal(await shutDown(anybody()), 'Failed')
      await post('factory-reset')
      await becomes('Unprovisioned')
      await provision(throwaway)
      assert.equal(await throwaway.state(), 'Operational')
    } finally {
      await throwaway.dispose()
    }
  })
})
