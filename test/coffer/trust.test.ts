/** Trust and disclosure of the CLI: certificates, passphrases, profiles, exit statuses, output. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { COMMANDS } from '../../tools/coffer/table.ts'
import { type Appliance, addUser, startProvisioned } from '../support/suite.ts'
import { needs } from '../support/tools.ts'
import { createRig, type Rig } from './rig.ts'

let appliance: Appliance
let rig: Rig
before(async () => {
  appliance = await startProvisioned()
  rig = await createRig()
  await rig.connect(appliance)
  await addUser(appliance, 'web', 'Operator')
})
after(async () => {
  rig.dispose()
  await appliance.dispose()
})

const url = () => `https://${appliance.host}:${appliance.port}`
const file = (name: string) => join(rig.directory, name)

test('without a terminal an unknown key is shown, as the appliance shows it, and not accepted', async () => {
  const { code, stderr } = await rig.coffer('connect', url(), '--as', 'unknown')
  const [, shown] = /TLS key (sha256\/\/\S+)/.exec(appliance.log())!
  assert.equal(code, 1)
  assert.ok(stderr.includes(`TLS key ${shown}`), stderr)
  assert.ok(!readdirSync(file('config/coffer')).includes('unknown.json'))
})

test('on a terminal it is asked for, and yes makes the profile', needs('script'), async () => {
  const line = `coffer connect ${url()} --as typed`
  const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    cwd: rig.directory,
    env: rig.environment,
  })
  let shown = ''
  child.stdout.on('data', (bytes) => {
    shown += bytes
    if (shown.endsWith('[yes/no] ')) child.stdin.write('yes\n')
  })
  const [code] = await once(child, 'close')
  assert.equal(code, 0, shown)
  assert.match(shown, /Does the appliance’s console show the same\?/)
  assert.equal(JSON.parse(readFileSync(file('config/coffer/typed.json'), 'utf8')).url, url())
})

test('a profile is readable by its owner only', () => {
  assert.equal(statSync(file('config/coffer/default.json')).mode & 0o777, 0o600)
})

async function startImpostor(): Promise<{ server: Server; url: string; requests: string[] }> {
  const pem = (
    await rig.shell(
      'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout impostor-test.key -out impostor.crt -subj /CN=impostor -addext subjectAltName=IP:127.0.0.1 -days 1',
    )
  ).code
  assert.equal(pem, 0)
  const requests: string[] = []
  const server = createServer(
    { key: readFileSync(file('impostor-test.key')), cert: readFileSync(file('impostor.crt')) },
    (request, answer) => {
      requests.push(`${request.url} ${request.headers.authorization ?? ''}`)
      answer.end('{"state":"Operational"}')
    },
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

test('another certificate is refused with both keys before anything is sent', needs('openssl'), async () => {
  const impostor = await startImpostor()
  const profile = JSON.parse(readFileSync(file('config/coffer/default.json'), 'utf8'))
  writeFileSync(file('config/coffer/moved.json'), JSON.stringify({ ...profile, url: impostor.url }), { mode: 0o600 })
  for (const line of [['key', 'list'], ['state'], ['unlock']]) {
    const { code, stderr } = await rig.coffer('--profile', 'moved', ...line)
    assert.equal(code, 3, stderr)
    assert.ok(stderr.includes(profile.pin) && /instead of/.test(stderr), stderr)
  }
  const unknown = await rig.coffer('--host', impostor.url, 'key', 'list')
  assert.equal(unknown.code, 3)
  assert.match(unknown.stderr, /no authority that is trusted signs/)
  assert.deepEqual(impostor.requests, [])
  // With its own certificate as an authority, and with the key that it really has, it is taken.
  assert.equal((await rig.coffer('--host', impostor.url, '--ca', 'impostor.crt', 'state')).code, 0)
  assert.equal((await rig.coffer('--host', impostor.url, '--insecure', 'state')).code, 0)
  impostor.server.close()
})

test('a passphrase in the arguments is refused wherever one may be named', async () => {
  const secrets = COMMANDS.flatMap(({ words, options = {} }) =>
    Object.entries(options).flatMap(([name, { secret }]) => (secret ? [[words, name]] : [])),
  )
  assert.ok(secrets.length > 10)
  for (const line of [
    ['user', 'add', 'guest', '--role', 'Operator', '--passphrase', 'words in the open'],
    ['add-user', '-n', 'Guest', '-r', 'Operator', '-u', 'guest', '-p', 'words in the open'],
    ['set-passphrase', '-u', 'web', '-p', 'words in the open'],
    ['-u', 'admin', '-p', 'words in the open', 'list-keys'],
    ['unlock', 'words in the open'],
  ]) {
    const { code, stdout, stderr } = await rig.coffer(...line)
    assert.equal(code, 2, stderr)
    assert.doesNotMatch(stdout + stderr, /words in the open/)
  }
})

test('passphrases come from a file, a descriptor, a variable or a program, the first that there is', async () => {
  writeFileSync(file('right'), 'words of the administrator\nsecond line\n')
  writeFileSync(file('wrong'), 'words of somebody else\n')
  const env = { COFFER_ASKPASS: '' }
  const wrong = { COFFER_PASSPHRASE: 'words of somebody else' }
  const right = { COFFER_PASSPHRASE: 'words of the administrator' }
  assert.equal((await rig.shell('coffer key list --passphrase-file right', { ...env, ...wrong })).code, 0)
  assert.equal((await rig.shell('coffer key list --passphrase-fd 7 7< right', { ...env, ...wrong })).code, 0)
  assert.equal((await rig.shell('coffer key list', { ...env, ...right })).code, 0)
  assert.equal((await rig.shell('coffer key list', env)).code, 2)
  const refused = await rig.shell('coffer key list --passphrase-file wrong --json', { ...env, ...right })
  assert.deepEqual([refused.code, refused.stdout], [5, ''])
  assert.doesNotMatch(refused.stderr, /somebody else/)
})

test('exit statuses tell what went wrong', async () => {
  for (const [status, line] of [
    [0, 'state'],
    [1, 'key show nothing'],
    [2, 'key generate'],
    [2, 'key frobnicate'],
    [2, 'key list --frobnicate'],
    [2, 'key show'],
    [2, 'key show one two'],
    [3, '--host https://127.0.0.1:1 state'],
    [4, 'unlock'],
    [5, 'key list --user nobody'],
  ] as const)
    assert.equal((await rig.shell(`coffer ${line}`)).code, status, line)
})

test('stdout carries results only, and with --json what the API sent', async () => {
  const made = await rig.shell('coffer key generate one --for sign --json')
  assert.deepEqual(JSON.parse(made.stdout), { id: 'one' })
  writeFileSync(file('paper'), 'a paper\n')
  const signed = await rig.shell('coffer profile user Operator web; coffer sign one paper --json')
  assert.match(JSON.parse(signed.stdout).signature, /^[A-Za-z0-9+/=]+$/)
  const list = await rig.shell('coffer key list --json')
  assert.equal(JSON.parse(list.stdout)[0].id, 'one')
  const failed = await rig.shell('coffer key show nothing --json')
  assert.deepEqual([failed.stdout, /^coffer: key show nothing: No such key \(404\)/.test(failed.stderr)], ['', true])
})

test('a changed file or signature is found out, and a mode that the key lacks is told with those that it has', async () => {
  assert.equal((await rig.shell('coffer sign one paper && coffer verify one paper')).code, 0)
  writeFileSync(file('paper'), 'another paper\n')
  const changed = await rig.shell('coffer verify one paper')
  assert.deepEqual([changed.code, /the signature is wrong/.test(changed.stderr)], [1, true])
  const lacking = await rig.shell('coffer sign one paper --mode PSS_SHA256')
  assert.deepEqual([lacking.code, /it permits: ECDSA/.test(lacking.stderr)], [1, true], lacking.stderr)
})

test('a backup that ends early, or is interrupted, leaves no file', needs('openssl'), async () => {
  const impostor = createServer(
    { key: readFileSync(file('impostor-test.key')), cert: readFileSync(file('impostor.crt')) },
    (request, answer) => {
      if (request.url?.includes('state')) return void answer.end('{"state":"Operational"}')
      answer.write('half of a backup')
      if (isCut) setImmediate(() => answer.destroy())
    },
  ).listen(0, '127.0.0.1')
  let isCut = true
  await once(impostor, 'listening')
  const host = `https://127.0.0.1:${(impostor.address() as AddressInfo).port}`
  const line = `--host ${host} --ca impostor.crt --user saver backup create --output half.backup`
  const before = readdirSync(rig.directory).sort()
  assert.notEqual((await rig.shell(`coffer ${line}`)).code, 0)
  assert.deepEqual(readdirSync(rig.directory).sort(), before)
  isCut = false
  const child = spawn('coffer', line.split(' '), { cwd: rig.directory, env: rig.environment, stdio: 'ignore' })
  // Its draft is there once the first bytes are.
  while (child.exitCode === null && readdirSync(rig.directory).length === before.length)
    await new Promise((done) => setTimeout(done, 20))
  child.kill('SIGINT')
  const [code] = await once(child, 'close')
  assert.equal(code, 130)
  assert.deepEqual(readdirSync(rig.directory).sort(), before)
  impostor.closeAllConnections()
  impostor.close()
})
