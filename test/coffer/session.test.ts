/** Sessions of the command: an agent keeps a passphrase in its memory, for a time, and shows it to nobody else. */

import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { findSession, putSession } from '../../tools/coffer/session.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, startProvisioned } from '../support/suite.ts'
import { createRig, type Rig } from './rig.ts'

const DEADLINE_MS = 120_000
const SECRET = 'words of the administrator'
const NOBODY_ASKED = { COFFER_ASKPASS: '' }

let appliance: Appliance
let rig: Rig
let runtime: string
before(async () => {
  appliance = await startProvisioned()
  rig = await createRig()
  runtime = join(rig.directory, 'run')
  mkdirSync(runtime, { mode: 0o700 })
  rig.environment.XDG_RUNTIME_DIR = runtime
  process.env.XDG_RUNTIME_DIR = runtime // for what this process asks the agent itself
  await rig.connect(appliance)
  await addUser(appliance, 'web', 'Operator')
})
after(async () => {
  await rig.coffer('logout', '--all')
  await until('the agent is gone', () => agents().length === 0)
  rig.dispose()
  await appliance.dispose()
})

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + DEADLINE_MS; !(await condition()); await wait(50))
    assert.ok(Date.now() < deadline, what)
}

const read = (path: string): string => {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
const agents = (): string[] =>
  readdirSync('/proc').filter((name) => {
    const line = read(`/proc/${name}/cmdline`)
    return line.includes(rig.directory) && line.includes('session-agent')
  })
const socket = (): string => join(runtime, 'coffer/agent')

test('after login commands ask for nothing, and after logout they do', async () => {
  assert.equal((await rig.shell('coffer key list', NOBODY_ASKED)).code, 2)
  const login = await rig.coffer('login', '--minutes', '5')
  assert.deepEqual([login.code, login.stderr], [0, 'admin: logged in for 5 minutes\n'])
  assert.equal((await rig.shell('coffer key list', NOBODY_ASKED)).code, 0)
  assert.equal((await rig.shell('coffer user show admin --user web', NOBODY_ASKED)).code, 2, 'of another account')
  assert.equal((await rig.coffer('logout')).code, 0)
  assert.equal((await rig.shell('coffer key list', NOBODY_ASKED)).code, 2)
})

test('the passphrase is in no argument, environment or file, and the socket is the user’s alone', async () => {
  assert.equal((await rig.coffer('login')).code, 0)
  const [agent, ...others] = agents()
  assert.deepEqual(others, [])
  assert.doesNotMatch(read(`/proc/${agent}/cmdline`) + read(`/proc/${agent}/environ`), /words of|ASKPASS|PASSPHRASE/)
  assert.equal(statSync(socket()).mode & 0o777, 0o600)
  assert.equal(statSync(join(runtime, 'coffer')).mode & 0o777, 0o700)
  for (const path of readdirSync(rig.directory, { recursive: true, encoding: 'utf8' })) {
    const file = join(rig.directory, path)
    if (path !== 'askpass' && statSync(file).isFile()) assert.ok(!read(file).includes(SECRET), path)
  }
})

test('a wrong passphrase makes no session, and a passphrase named for a call comes first', async () => {
  await rig.coffer('logout', '--all')
  const wrong = await rig.shell('coffer login', { ...NOBODY_ASKED, COFFER_PASSPHRASE: 'other words' })
  assert.equal(wrong.code, 5)
  assert.doesNotMatch(wrong.stderr, /other words/)
  assert.equal((await rig.shell('coffer key list', NOBODY_ASKED)).code, 2)
  assert.equal((await rig.coffer('login')).code, 0)
  assert.equal((await rig.shell('coffer key list', { COFFER_PASSPHRASE: 'other words' })).code, 5)
  assert.equal((await rig.shell('coffer key list', NOBODY_ASKED)).code, 0, 'the session stays')
})

test('a session whose passphrase was changed elsewhere ends with the first refusal', async () => {
  assert.equal((await rig.coffer('login', '--user', 'web')).code, 0)
  await expect(
    204,
    appliance.call('POST', '/users/web/passphrase', { as: ADMIN, json: { passphrase: 'words that came later' } }),
  )
  const refused = await rig.shell('coffer key list --user web', NOBODY_ASKED)
  assert.equal(refused.code, 5)
  assert.match(refused.stderr, /the session of web has ended: its passphrase was refused/)
  assert.equal((await rig.shell('coffer key list --user web', NOBODY_ASKED)).code, 2)
})

test('a session ends with its time, and the agent after the last one', async () => {
  await putSession('an appliance and a user', 'brief words', 1)
  await until('the session ends', async () => (await findSession('an appliance and a user')) === null)
  await rig.coffer('logout', '--all')
  await until('the agent ends', () => agents().length === 0 && !existsSync(socket()))
})

test('a message that is cut, too long or unknown ends its connection and nothing else', async () => {
  assert.equal((await rig.coffer('login')).code, 0)
  for (const message of [Buffer.of(1, 0, 0), Buffer.alloc(100_000, 1), Buffer.of(99, 0, 0, 0, 0), Buffer.alloc(0)]) {
    const answer = await new Promise<number>((done) => {
      let bytes = 0
      const connection = connect(socket(), () => connection.end(message))
      connection.on('data', (data) => (bytes += data.length))
      connection.on('error', () => {})
      connection.on('close', () => done(bytes))
    })
    assert.equal(answer, 0)
  }
  assert.equal((await rig.shell('coffer key list', NOBODY_ASKED)).code, 0)
})

test('a time without a bound, and a directory that others may enter, are refused', async () => {
  for (const minutes of ['0', '1441', 'x']) assert.equal((await rig.coffer('login', '--minutes', minutes)).code, 2)
  const open = join(rig.directory, 'open')
  mkdirSync(join(open, 'coffer'), { recursive: true })
  chmodSync(join(open, 'coffer'), 0o755)
  writeFileSync(join(open, 'note'), '')
  const { code, stderr } = await rig.shell('coffer login', { XDG_RUNTIME_DIR: open })
  assert.deepEqual([code, /must be a directory that no other user may enter/.test(stderr)], [1, true], stderr)
})
