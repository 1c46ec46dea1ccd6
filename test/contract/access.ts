/** The access matrix: every row against every caller in a state, and what a refused call leaves behind. */

import assert from 'node:assert/strict'
import { type Client, expect } from '../support/appliance.ts'
import type { Call } from '../support/client.ts'
import { ADMIN, UNLOCK } from './check.ts'
import { CALLERS, type Caller, expected, ROWS, type Row, type StateLetter } from './rows.ts'

const ROLES = { A: 'Administrator', O: 'Operator', M: 'Metrics', B: 'Backup' } as const

let serial = 0

const passphraseOf = (userId: string) => `words of ${userId}`
const credentialsOf = (userId: string) => `${userId}:${passphraseOf(userId)}`

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
export function identity(caller: Caller): Pick<Call, 'as'> {
  if (caller === 'none') return {}
  if (caller === 'wrong') return { as: `nobody${serial++}:not the passphrase` }
  return { as: credentialsOf(userIdOf[caller]) }
}

const inside = credentialsOf('inside~callerA')
const administrator = credentialsOf('callerA')

const manager = (caller: Caller) => (caller.startsWith('n') && caller !== 'none' ? inside : administrator)

const shared = { operator: 'sharedO', nsOperator: 'inside~sharedO', otherOperator: 'other~sharedO' }

export interface AccessMatrix {
  run(row: Row, state: StateLetter, caller: Caller): Promise<string | undefined>
  runAll(state: StateLetter, callers: readonly Caller[], skip?: (row: Row) => boolean): Promise<number>
  /** For a freshly provisioned appliance: makes the callers, runs all rows, and checks the objects of refused calls. */
  runOperational(skip?: (row: Row) => boolean): Promise<number>
}

export function createAccessMatrix(appliance: Client): AccessMatrix {
  async function addUser(userId: string, role: string, as = ADMIN): Promise<void> {
    const json = { realName: `name of ${userId}`, role, passphrase: passphraseOf(userId) }
    await expect(201, appliance.call('PUT', `/users/${userId}`, { as, json }))
  }

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
      case 'memberChain':
        return succeeds ? (await appliance.call('GET', '/cluster/tls/cert.pem', { as: ADMIN })).text() : 'shared'
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
    await addUser(id, 'Operator', owner)
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
    const problems = [
      `${state} ${caller} ${row.method} ${path}: expected ${status}, got ${reply.status} ${reply.text()}`,
    ]
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

  async function furnish(): Promise<void> {
    for (const [letter, role] of Object.entries(ROLES)) {
      await addUser(`caller${letter}`, role)
      await addUser(`inside~caller${letter}`, role)
      await addUser(`never~caller${letter}`, role)
    }
    await addUser('other~callerA', 'Administrator')
    await addUser('other~sharedO', 'Operator')
    await addUser('inside~sharedO', 'Operator')
    await addUser('void~sharedO', 'Operator')
    await addUser('sharedO', 'Operator')
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

  return {
    run,
    runAll,
    async runOperational(skip) {
      await furnish()
      const earlier = await view()
      const cells = await runAll('Op', CALLERS, skip)
      // What refused calls named is as it was.
      const later = await view()
      assert.deepEqual(later.users, earlier.users)
      assert.deepEqual(later.keys, earlier.keys)
      for (const { id } of earlier.namespaces) assert(later.namespaces.some((namespace) => namespace.id === id))
      for (const id of ['sharedO', 'inside~sharedO', 'other~sharedO']) {
        // 403 for the role would be 401 if somebody had changed the passphrase.
        await expect(403, appliance.call('GET', '/users', { as: credentialsOf(id) }))
      }
      return cells
    },
  }
}
