// @test long 130
/** Every command of the table, by its own example, against a real appliance. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { createClient } from '../../firmware/client/client.ts'
import type { Command } from '../../tools/coffer/command.ts'
import { COMMANDS } from '../../tools/coffer/table.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, startAppliance } from '../support/suite.ts'
import { needs } from '../support/tools.ts'
import { createRig, type Rig } from './rig.ts'

/** Commands that come before all others, and commands that end or replace everything. */
const FIRST = [
  'connect',
  'provision',
  'lock',
  'unlock',
  'user add',
  'key generate',
  'key import',
  'sign',
  'config backup-passphrase',
  'config syslog tls generate',
  'audit export',
  'backup create',
]
const LAST = [
  'backup restore',
  'restore',
  'reboot',
  'system reboot',
  'shutdown',
  'system shutdown',
  'factory-reset',
  'system factory-reset',
]
/** They need a chat: chat.test.ts. */
const ELSEWHERE = ['chat create', ...COMMANDS.filter(({ isChat }) => isChat).map(({ words }) => words)]
/** Commands that a standalone appliance without a chat and without an update refuses. */
const REFUSED = [
  ...['update', 'commit-update', 'cancel-update', 'chat connect', 'chat delete', 'chat settings', 'chat recover-owner'],
  ...['chat tls public', 'chat tls certificate get', 'chat tls certificate set', 'chat tls csr', 'chat tls generate'],
  ...[
    'cluster add',
    'cluster set',
    'cluster delete',
    'cluster promote',
    'cluster join',
    'cluster authority get',
    'cluster authority set',
    'cluster force-new',
  ],
  ...[
    'add-cluster-member',
    'set-cluster-member-urls',
    'remove-cluster-member',
    'promote-cluster-member',
    'join-cluster',
    'force-new-cluster',
  ],
  ...['get-cluster-ca-certificate', 'set-cluster-ca-certificate'],
]
let appliance: Appliance
let rig: Rig
before(async () => {
  appliance = await startAppliance()
  rig = await createRig()
})
after(async () => {
  rig.dispose()
  await appliance.dispose()
})

const { skip } = needs('openssl')

test('every example of the table works as it stands', { skip }, async () => {
  makeFiles()
  const order = [
    ...FIRST.map(named),
    ...COMMANDS.filter(({ words }) => !FIRST.includes(words) && !LAST.includes(words) && !ELSEWHERE.includes(words)),
    ...LAST.map(named),
  ]
  for (const command of order) {
    await prepare(command.words)
    const line = command.words === 'connect' ? `coffer profile list` : command.example
    if (command.words === 'connect') await rig.connect(appliance)
    const { code, stderr } = await rig.shell(line)
    const { words } = command
    const wanted = REFUSED.includes(words) ? 1 : 0
    assert.equal(code, wanted, `${line}: ${stderr}`)
    await recover(words)
  }
})

test('every call of the API is made by some command', () => {
  const client = createClient(
    async () => new Response(),
    async () => null,
  )
  const files = [
    'start',
    'keys',
    'use',
    'users',
    'config',
    'outgoing',
    'acme',
    'syslog',
    'alerts',
    'system',
    'audit',
    'cluster',
    'chat',
    'nethsm',
  ].map((name) => execFileSync('cat', [join(import.meta.dirname, `../../tools/coffer/commands/${name}.ts`)]).toString())
  const text = files.join('\n')
  for (const name of Object.keys(client)) assert.ok(text.includes(`.${name}(`), `${name} is called nowhere`)
})

test('a first day has ten commands, and each has a summary that is a sentence', async () => {
  const { stdout, code } = await rig.coffer()
  assert.equal(code, 0)
  assert.equal(stdout.split('\n').filter((line) => line.startsWith('  coffer ')).length, 10)
  for (const { words, summary } of COMMANDS) assert.match(summary, /^[A-Z].*[^ ]/, words)
})

function named(words: string): Command {
  const command = COMMANDS.find((command) => command.words === words)
  assert.ok(command, words)
  return command
}

const file = (name: string) => join(rig.directory, name)
const openssl = (...line: string[]) =>
  execFileSync('openssl', line, { cwd: rig.directory, stdio: ['ignore', 'pipe', 'pipe'] })

function makeFiles(): void {
  writeFileSync(file('document.pdf'), 'a document\n')
  writeFileSync(file('message'), 'a message\n')
  writeFileSync(file('seed.txt'), `${Buffer.alloc(32, 7).toString('base64')}\n`)
  writeFileSync(file('password.txt'), 'password of a file\n')
  writeFileSync(file('joiner.json'), JSON.stringify({ members: [], joinerKit: 'AAAA' }))
  writeFileSync(file('coffer-0.3.0.update'), 'no update')
  openssl(
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    'old.pem',
    '-out',
    'web.crt',
    '-subj',
    '/CN=www.example.org',
    '-days',
    '2',
  )
  openssl(
    'pkcs12',
    '-export',
    '-inkey',
    'old.pem',
    '-in',
    'web.crt',
    '-out',
    'old.p12',
    '-passout',
    'file:password.txt',
  )
  writeFileSync(file('ca.pem'), 'no authority')
}

async function prepare(words: string): Promise<void> {
  if (words === 'profile delete') await rig.shell('cp config/coffer/default.json config/coffer/laboratory.json')
  if (words === 'user delete') await addUser(appliance, 'guest', 'Operator')
  if (words === 'backup create') {
    await addUser(appliance, 'saver', 'Backup')
    await addUser(appliance, 'meter', 'Metrics')
    await rig.shell('coffer profile user Backup saver; coffer profile user Metrics meter')
  }
  if (words === 'decrypt') {
    const box = await rig.shell('coffer key generate box-key --for decrypt; coffer key public box-key > box.pem')
    assert.equal(box.code, 0, box.stderr)
    openssl(
      'pkeyutl',
      '-encrypt',
      '-pubin',
      '-inkey',
      'box.pem',
      '-in',
      'message',
      '-out',
      'message.encrypted',
      '-pkeyopt',
      'rsa_padding_mode:oaep',
      '-pkeyopt',
      'rsa_oaep_md:sha256',
    )
  }
  if (words === 'ca init') {
    const made = await rig.shell(
      'coffer key generate ca-key --for sign && coffer csr web-key --name www.example.org > request.pem',
    )
    assert.equal(made.code, 0, made.stderr)
  }
  if (words === 'encrypt') await rig.coffer('key', 'generate', 'aes-key', '--for', 'aes')
  if (words === 'config tls certificate set') await rig.shell('coffer config tls certificate get > chain.pem')
  if (words === 'cluster tls certificate set' || words === 'set-cluster-certificate')
    await rig.shell('coffer cluster tls certificate get > chain.pem')
  if (words === 'config syslog tls certificate set')
    await rig.shell('coffer config syslog tls certificate get > chain.pem')
}

async function recover(words: string): Promise<void> {
  if (words === 'lock') assert.equal(await appliance.state(), 'Locked')
  if (words === 'decrypt') assert.equal((await rig.shell('cmp message.encrypted message')).code, 1)
  if (words === 'config tls generate' || words === 'generate-tls-key') {
    const { code, stderr } = await rig.coffer('key', 'list')
    assert.deepEqual([code, /another key than before/.test(stderr)], [3, true], stderr)
    await rig.connect(appliance)
  }
  // The unlock passphrase was set since, so that the domain key is wrapped by another one: contract section 2.
  if (words.endsWith('restore') && (await appliance.state()) === 'Locked') await rig.coffer('unlock')
  if (words.endsWith('reboot')) await unlocked()
  if (words.endsWith('shutdown')) {
    while (!appliance.ended()) await new Promise((done) => setTimeout(done, 50))
    await appliance.restart()
    await unlocked()
  }
  if (words === 'factory-reset') {
    await rig.shell('coffer wait Unprovisioned --insecure --host "$URL"', {
      URL: `https://${appliance.host}:${appliance.port}`,
    })
    await rig.connect(appliance)
    const { code, stderr } = await rig.coffer('provision')
    assert.equal(code, 0, stderr)
  }
}

async function unlocked(): Promise<void> {
  const { code, stderr } = await rig.shell('coffer wait Locked && coffer unlock')
  assert.equal(code, 0, stderr)
  await expect(200, appliance.call('GET', '/config/time', { as: ADMIN }))
}
