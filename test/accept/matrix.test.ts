/** The access matrix, every row against every caller in every state, and what a refused call leaves behind. */

import assert from 'node:assert/strict'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from '../support/appliance.ts'
import type { Call } from '../support/client.ts'
import {
  ADMIN,
  type Appliance,
  addUser,
  credentialsOf,
  passphraseOf,
  provision,
  startAppliance,
  UNLOCK,
} from '../support/suite.ts'
import { BACKUP, CALLERS, type Caller, expected, ROWS, type Row, type StateLetter } from './matrix.ts'

const RESTART_MS_MAX = 30_000

const ROLES = { A: 'Administrator', O: 'Operator', M: 'Metrics', B: 'Backup' } as const

let appliance: Appliance
let serial = 0

const userIdOf: Record<Caller, string> = Object.fromEntries(
  CALLERS.map((caller) => [
    caller,
    caller.length === 1
      ? `caller${caller}`
      : caller.startsWith('n') && caller !== 'none'
        ? `inside~caller${caller[1]}`
        : caller.startsWith('x')
          ? `never~caller${caller[1]}`
          : 'callerA', // somebody's id, for {self}
  ]),
) as Record<Caller, string>

/** Credentials and source address; wrong ones use a fresh name each, as failures are counted per name and address. */
function identity(caller: Caller): Pick<Call, 'as'> {
  if (caller === 'none') return {}
  if (caller === 'wrong') return { as: `nobody${serial++}:not the passphrase` }
  return { as: credentialsOf(userIdOf[caller]) }
}

const inside = credentialsOf('inside~callerA')
const administrator = credentialsOf('callerA')

/** Who manages keys in the caller's namespace. */
const manager = (caller: Caller) => (caller.startsWith('n') && caller !== 'none' ? inside : administrator)

const shared = { operator: 'sharedO', nsOperator: 'inside~sharedO', otherOperator: 'other~sharedO' }

/** Makes what `{name}` stands for and returns its id. Calls that are refused get a shared object. */
async function make(name: string, caller: Caller, succeeds: boolean): Promise<string> {
  const as = manager(caller)
  const fresh = `some${serial++}`
  const importKey = async (id: string, json: unknown) => {
    await expect(204, appliance.call('PUT', `/keys/${id}`, { as, json }))
    return id
  }
  const ed25519 = {
    type: 'Curve25519',
    mechanisms: ['EdDSA_Signature'],
    private: { data: Buffer.alloc(32, 9).toString('base64') },
  }
  switch (name) {
    case 'key':
      return succeeds ? importKey(fresh, ed25519) : 'shared'
    case 'tagged':
      return succeeds ? importKey(fresh, { ...ed25519, restrictions: { tags: ['t1'] } }) : 'shared'
    case 'aes':
      return succeeds
        ? importKey(fresh, {
            type: 'Generic',
            mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'],
            private: { data: Buffer.alloc(32, 3).toString('base64') },
          })
        : 'shared'
    case 'certified': {
      if (!succeeds) return 'shared'
      await importKey(fresh, ed25519)
      const certificate = { as, body: 'certificate', type: 'application/octet-stream' }
      await expect(201, appliance.call('PUT', `/keys/${fresh}/cert`, certificate))
      return fresh
    }
    case 'newKey':
    case 'newUser':
    case 'newNs':
      return fresh
    case 'ns':
      if (!succeeds) return 'other'
      await expect(204, appliance.call('PUT', `/namespaces/${fresh}`, { as: administrator }))
      return fresh
    case 'chain':
      return succeeds ? (await appliance.call('GET', '/config/tls/cert.pem', { as: ADMIN })).text() : 'shared'
    case 'member':
      return (await appliance.call('GET', '/cluster/members', { as: ADMIN })).json<{ id: string }[]>()[0]!.id
    case 'self':
      return userIdOf[caller]
  }
  const match = /^(operator|nsOperator|otherOperator|voidOperator)(Tagged)?$/.exec(name)
  assert(match, `no such thing: ${name}`)
  const kind = match[1] as keyof typeof shared | 'voidOperator'
  if (!succeeds) return kind === 'voidOperator' ? 'void~sharedO' : shared[kind]
  // Nobody but an administrator of `other` could make a user there, and that one has handed it to the shared one.
  if (kind === 'otherOperator') return shared.otherOperator
  const id = { operator: fresh, nsOperator: `inside~${fresh}`, voidOperator: `void~${fresh}` }[kind]
  const owner = kind === 'nsOperator' ? inside : administrator
  await addUser(appliance, id, 'Operator', owner)
  if (match[2]) await expect(204, appliance.call('PUT', `/users/${id}/tags/t1`, { as: owner }))
  return id
}

async function run(row: Row, state: StateLetter, caller: Caller): Promise<string | undefined> {
  const status = expected(row, state, caller)
  const operational = state === 'Op'
  const names = new Map<string, string>()
  const fill = async (text: string) => {
    for (const [whole, name] of text.matchAll(/\{(\w+)\}/g)) {
      if (name === 'passphrase' || names.has(whole)) continue
      names.set(whole, operational ? await make(name!, caller, status < 300) : 'shared')
    }
    let filled = text
    for (const [whole, id] of names) filled = filled.replaceAll(whole, id)
    return filled
  }
  const path = await fill(row.path)
  const call: Call = identity(caller)
  if (row.json !== undefined) {
    const text = await fill(JSON.stringify(row.json))
    // The passphrase that the target has already, so that the suite's credentials stay valid.
    call.json = JSON.parse(text.replace('{passphrase}', passphraseOf(path.split('/')[2] ?? '')))
  }
  if (row.body) {
    call.type = row.body.type
    call.body = await fill(row.body.text)
  }
  const reply = await appliance.call(row.method, path, call)
  const problems = [`${state} ${caller} ${row.method} ${path}: expected ${status}, got ${reply.status} ${reply.text()}`]
  if (reply.status === status) {
    problems.pop()
    if (status >= 400) {
      const { message } = reply.json<{ message: unknown }>()
      if (typeof message !== 'string' || message === '') problems.push(`${row.method} ${path}: no message`)
      if (status === 412 && (message === 'Service not available') === row.states.includes(state)) {
        problems.push(`${row.method} ${path}: 412 says ${message}`)
      }
    }
  }
  if (row.leaves && reply.status < 300 && operational) {
    await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  }
  if (row.leaves && reply.status < 300 && state === 'L') {
    await expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
  }
  return problems.length > 0 ? problems.join('\n') : undefined
}

async function runAll(state: StateLetter, callers: readonly Caller[], skip: (row: Row) => boolean = () => false) {
  const problems: string[] = []
  let cells = 0
  for (const row of ROWS) {
    if (skip(row)) continue
    for (const caller of callers) {
      if (row.ends && expected(row, state, caller) < 300) continue
      cells++
      const problem = await run(row, state, caller)
      if (problem !== undefined) problems.push(problem)
    }
  }
  assert.deepEqual(problems, [])
  return cells
}

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

/** Calls fail while the firmware is away. */
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
  })
  after(() => appliance?.dispose())

  test('while Unprovisioned, with and without an authorization header', async (t) => {
    const cells = await runAll('U', ['none', 'wrong', 'A'], (row) => row.leaves === true && row.states.includes('U'))
    t.diagnostic(`${cells} cells`)
  })

  test('provisions without regard to an authorization header', async () => {
    const row = ROWS.find((row) => row.path === '/provision')!
    assert.equal(await run(row, 'U', 'wrong'), undefined)
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
    for (const [letter, role] of Object.entries(ROLES)) {
      await addUser(appliance, `caller${letter}`, role)
      await addUser(appliance, `inside~caller${letter}`, role)
      await addUser(appliance, `never~caller${letter}`, role)
    }
    await addUser(appliance, 'other~callerA', 'Administrator')
    await addUser(appliance, 'other~sharedO', 'Operator')
    await addUser(appliance, 'inside~sharedO', 'Operator')
    await addUser(appliance, 'void~sharedO', 'Operator')
    await addUser(appliance, 'sharedO', 'Operator')
    await expect(204, appliance.call('PUT', '/namespaces/inside', { as: ADMIN }))
    await expect(204, appliance.call('PUT', '/namespaces/other', { as: ADMIN }))
    const json = {
      type: 'Curve25519',
      mechanisms: ['EdDSA_Signature'],
      private: { data: Buffer.alloc(32, 1).toString('base64') },
    }
    for (const as of [administrator, inside, credentialsOf('other~callerA')]) {
      await expect(204, appliance.call('PUT', '/keys/shared', { as, json }))
    }

    const view = async () => ({
      users: await Promise.all(
        [shared.operator, shared.nsOperator, shared.otherOperator, 'void~sharedO'].flatMap((id) => [
          appliance.call('GET', `/users/${id}`, { as: ADMIN }).then((reply) => reply.text()),
          appliance.call('GET', `/users/${id}/tags`, { as: ADMIN }).then((reply) => reply.text()),
        ]),
      ),
      keys: await Promise.all(
        [administrator, inside, credentialsOf('other~callerA')].map((as) =>
          appliance.call('GET', '/keys/shared', { as }).then((reply) => reply.text()),
        ),
      ),
      namespaces: (await appliance.call('GET', '/namespaces', { as: ADMIN })).json<{ id: string }[]>(),
    })
    const earlier = await view()
    const cells = await runAll('Op', CALLERS)
    t.diagnostic(`${cells} cells`)

    // What refused calls named is as it was.
    const later = await view()
    assert.deepEqual(later.users, earlier.users)
    assert.deepEqual(later.keys, earlier.keys)
    for (const { id } of earlier.namespaces) assert(later.namespaces.some((namespace) => namespace.id === id))
    for (const id of ['sharedO', 'inside~sharedO', 'other~sharedO']) {
      // 403 for the role would be 401 if somebody had changed the passphrase.
      await expect(403, appliance.call('GET', '/users', { as: credentialsOf(id) }))
    }
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
    const skip = (row: Row) => row.leaves === true && row.states.includes('L')
    t.diagnostic(`${await runAll('L', CALLERS, skip)} cells`)
    const unlock = ROWS.find((row) => row.path === '/unlock')!
    for (const caller of ['none', 'wrong', 'A'] as const) assert.equal(await run(unlock, 'L', caller), undefined)
  })

  test('while Failed, as without its device key', async (t) => {
    await loseDeviceKey(appliance)
    t.diagnostic(`${await runAll('F', ['none', 'wrong', 'A', 'O', 'nA'])} cells`)
    // Not the last known unlock passphrase either: it cannot be checked.
    await expect(401, appliance.call('POST', '/cluster/force-new', { as: `unlock:${UNLOCK}` }))
  })

  test('reboot, shutdown and factory reset, in each state and by whoever may', async () => {
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
