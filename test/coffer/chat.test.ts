// @test long 60
/** The commands of the chat, each by its own example, against a real one. */

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { COMMANDS } from '../../tools/coffer/table.ts'
import { request } from '../support/client.ts'
import { type Appliance, startProvisioned } from '../support/suite.ts'
import { createRig, type Rig, type Run } from './rig.ts'

const OWNER = 'owner@example.org'
const NOBODY_ASKED = { COFFER_ASKPASS: '' }

let appliance: Appliance
let rig: Rig
before(async () => {
  appliance = await startProvisioned({ settings: { COFFER_CHAT_PORT: '0' } })
  rig = await createRig()
  rig.environment.XDG_RUNTIME_DIR = join(rig.directory, 'run')
  mkdirSync(rig.environment.XDG_RUNTIME_DIR, { mode: 0o700 })
  await rig.connect(appliance)
})
after(async () => {
  await rig.coffer('logout', '--all')
  rig.dispose()
  await appliance.dispose()
})

/** Commands that need a chat, in the order in which a first day has them; the others are tried in examples.test.ts. */
const FIRST = ['chat create', 'chat connect', 'chat login', 'chat members', 'chat join-link', 'chat invite']
const LAST = ['chat logout', 'chat delete']

test('every example of a command of the chat works as it stands', async () => {
  const all = COMMANDS.filter(({ words }) => words.startsWith('chat '))
  const exampleOf = (words: string) => all.find((command) => command.words === words)!.example
  const between = all.map(({ words }) => words).filter((words) => ![...FIRST, ...LAST].includes(words))
  const printed = new Map<string, string>()
  await works('coffer chat tls certificate get > chain.pem', 1)
  for (const words of [...FIRST, ...between, ...LAST]) {
    if (words === 'chat join-link') await makeChannel()
    if (words === 'chat tls certificate set') await works('coffer chat tls certificate get > chain.pem')
    printed.set(words, (await works(exampleOf(words))).stdout)
  }
  assert.match(printed.get('chat members')!, new RegExp(`^ID +NAME +ADDRESS +ROLE\\n\\d+ +Owner +${OWNER} +owner`))
  assert.match(printed.get('chat join-link')!, /^https:\/\/\S+\/join\/#\S+\/\n$/)
  assert.match(printed.get('chat invite')!, /^ADDRESS +LINK\nanna@example\.org +https:\/\/\S+\/join\/#\S+\/\n$/)
})

test('a link brings a member with the channel and the role that the command named, and no key is left behind', async () => {
  await makeChat()
  const { stdout } = await works(`coffer chat join-link --channel general --role moderator --days 1 --user ${OWNER}`)
  const key = /#([^/]+)\//.exec(stdout)![1]!
  const chat = chatTarget()
  const answer = await request(chat, 'POST', `/api/v1/join/${key}`, {
    type: 'application/x-www-form-urlencoded',
    body: 'full_name=Harriet&email=harriet@example.org&password=words of harriet@example.org',
  })
  assert.equal(answer.status, 200, answer.text())
  const as = `harriet@example.org:${answer.json().api_key}`
  const { subscriptions } = (await request(chat, 'GET', '/api/v1/users/me/subscriptions', { as })).json()
  assert.ok(subscriptions.some(({ name }: { name: string }) => name === 'general'))

  const members = await works('coffer chat members --user harriet@example.org --json')
  const found = (JSON.parse(members.stdout) as { full_name: string; role: number }[]).find(
    ({ full_name: name }) => name === 'Harriet',
  )
  assert.equal(found?.role, 300)
  const { api_keys: keys } = (await request(chat, 'GET', '/api/v1/users/me/api_keys', { as })).json()
  assert.deepEqual(
    keys.map(({ is_current: isCurrent }: { is_current: boolean }) => isCurrent),
    [true],
  )
})

test('a refusal names the account and the address that it is about', async () => {
  writeFileSync(join(rig.directory, 'wrong.txt'), 'other words\n')
  const refused = await rig.shell('coffer chat members --passphrase-file wrong.txt')
  assert.deepEqual([refused.code, refused.stderr.includes(`(401, user ${OWNER})`)], [5, true], refused.stderr)
  assert.doesNotMatch(refused.stderr, /other words/)
  const missing = await rig.coffer('chat', 'join-link', '--channel', 'of nobody')
  assert.deepEqual([missing.code, missing.stderr.includes(`user ${OWNER})`)], [1, true], missing.stderr)
  const taken = await rig.coffer('chat', 'invite', OWNER)
  assert.deepEqual([taken.code, taken.stderr.includes(OWNER)], [1, true], taken.stderr)
  assert.match(taken.stderr, /Already has an account/)
})

test('the passphrase of the appliance that stands in the environment is not sent to the chat', async () => {
  const { code, stderr } = await rig.shell('coffer chat members', { ...NOBODY_ASKED, COFFER_PASSPHRASE: 'words' })
  assert.deepEqual([code, stderr.includes(`Password of ${OWNER}: nobody can be asked`)], [2, true], stderr)
})

test('a chat with another key than the appliance has is refused before anything is sent', async () => {
  const file = join(rig.directory, 'config/coffer/default.json')
  const text = readFileSync(file, 'utf8')
  const profile = JSON.parse(text) as { pin: string; chat: { pin: string } }
  assert.notEqual(profile.chat.pin, profile.pin)
  writeFileSync(file, JSON.stringify({ ...profile, chat: { ...profile.chat, pin: profile.pin } }))
  const { code, stderr } = await rig.coffer('chat', 'members')
  assert.deepEqual([code, /another key than before/.test(stderr)], [3, true], stderr)
  writeFileSync(file, text)
})

async function works(line: string, code = 0): Promise<Run> {
  const run = await rig.shell(line)
  assert.equal(run.code, code, `${line}: ${run.stderr}`)
  return run
}

async function makeChat(): Promise<void> {
  await works(`coffer chat create Workshop --email ${OWNER} --full-name Owner`)
  await works('coffer chat connect')
  await makeChannel()
}

async function makeChannel(): Promise<void> {
  const chat = chatTarget()
  const form = { type: 'application/x-www-form-urlencoded' }
  const body = `username=${OWNER}&password=words of ${OWNER}`
  const key = (await request(chat, 'POST', '/api/v1/fetch_api_key', { ...form, body })).json().api_key
  const answer = await request(chat, 'POST', '/api/v1/users/me/subscriptions', {
    ...form,
    as: `${OWNER}:${key}`,
    body: 'subscriptions=[{"name":"general"}]',
  })
  assert.equal(answer.status, 200, answer.text())
}

function chatTarget(): { host: string; port: number } {
  const text = readFileSync(join(rig.directory, 'config/coffer/default.json'), 'utf8')
  const { hostname, port } = new URL((JSON.parse(text) as { chat: { url: string } }).chat.url)
  return { host: hostname, port: Number(port) }
}
