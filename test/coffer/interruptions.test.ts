/** The CLI when its appliance stalls, breaks off or asks to wait, and when its user does. */

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { needs } from '../support/tools.ts'
import { createRig, type Rig } from './rig.ts'

const { skip } = needs('openssl')
const TIMEOUT_MS = 120_000 // a command that does not end would hold the suite

let rig: Rig
let server: Server
/** A peer over TLS that behaves as a test needs it, which the appliance never would. */
let answer: (request: IncomingMessage, response: ServerResponse) => void
let url: string

before(async () => {
  if (skip) return
  rig = await createRig()
  const line =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out crt -subj /CN=peer -days 2'
  execFileSync('openssl', line.split(' '), { cwd: rig.directory, stdio: 'ignore' })
  const [key, cert] = ['key', 'crt'].map((name) => readFileSync(join(rig.directory, name)))
  server = createServer({ key, cert }, (request, response) => answer(request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const spki = new X509Certificate(cert!).publicKey.export({ type: 'spki', format: 'der' })
  profile(`sha256//${createHash('sha256').update(spki).digest('base64')}`)
})
after(() => {
  if (skip) return
  server.closeAllConnections()
  server.close()
  rig.dispose()
})
function profile(pin: string): void {
  mkdirSync(join(rig.directory, 'config/coffer'), { recursive: true })
  const users = { Administrator: 'admin', Operator: 'web', Backup: 'saver' }
  writeFileSync(join(rig.directory, 'config/coffer/default.json'), JSON.stringify({ url, pin, users }))
}

async function interrupted(line: string[], reached: Promise<unknown>): Promise<number | null> {
  const child = spawn(join(rig.directory, 'coffer'), line, {
    cwd: rig.directory,
    env: rig.environment,
    detached: true,
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  await reached
  child.kill('SIGINT')
  return (await ended)[0]
}

const send = (response: ServerResponse, status: number, value: unknown, headers = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
const files = () => readdirSync(rig.directory).sort()

test('Ctrl-C ends a call that is never answered', { skip, timeout: TIMEOUT_MS }, async () => {
  const asked = Promise.withResolvers<void>()
  answer = () => asked.resolve()
  assert.equal(await interrupted(['key', 'list'], asked.promise), 130)
})

test('Ctrl-C in a backup leaves no file, nor half of one', { skip, timeout: TIMEOUT_MS }, async () => {
  const before = files()
  const begun = Promise.withResolvers<void>()
  answer = (_, response) => response.writeHead(200).write(Buffer.alloc(100_000), () => begun.resolve())
  assert.equal(await interrupted(['backup', 'create', '--output', 'half.backup'], begun.promise), 130)
  assert.deepEqual(files(), before)
})

test('a backup that breaks off fails and leaves what had the name before', { skip, timeout: TIMEOUT_MS }, async () => {
  writeFileSync(join(rig.directory, 'old.backup'), 'of yesterday')
  const before = files()
  answer = (_, response) => {
    response.writeHead(200, { 'content-length': 200_000 }).write(Buffer.alloc(100_000), () => response.destroy())
  }
  const { code, stdout, stderr } = await rig.coffer('backup', 'create', '--output', 'old.backup')
  assert.notEqual(code, 0)
  assert.equal(stdout, '')
  assert.notEqual(stderr, '')
  assert.deepEqual(files(), before)
  assert.equal(readFileSync(join(rig.directory, 'old.backup'), 'utf8'), 'of yesterday')
})

test('a backup goes to stdout and into a pipe as it comes, and to a file of its owner alone', { skip }, async () => {
  answer = (_, response) => response.writeHead(200).end(Buffer.alloc(300_000, 'b'))
  const direct = await rig.shell('coffer backup create --output - | wc -c')
  assert.equal(direct.stdout.trim(), '300000', direct.stderr)
  const piped = await rig.shell('mkfifo p; cat p > copy & coffer backup create --output p && wait && test -p p')
  assert.equal(piped.code, 0, piped.stderr)
  assert.equal(statSync(join(rig.directory, 'copy')).size, 300_000)
  const kept = await rig.coffer('backup', 'create', '--output', 'new.backup')
  assert.equal(kept.code, 0, kept.stderr)
  assert.equal(statSync(join(rig.directory, 'new.backup')).mode & 0o777, 0o600)
})

test('what asks to wait is asked again; --no-wait says it at once', { skip, timeout: TIMEOUT_MS }, async () => {
  let calls = 0
  answer = (_, response) => {
    calls++
    if (calls % 2 === 1) send(response, 503, { message: 'A backup is being made' }, { 'retry-after': '1' })
    else send(response, 200, { state: 'Operational' })
  }
  const patient = await rig.coffer('state')
  assert.deepEqual([patient.code, patient.stdout, calls], [0, 'Operational\n', 2], patient.stderr)
  const impatient = await rig.coffer('state', '--no-wait')
  assert.deepEqual([impatient.code, impatient.stdout, calls], [1, '', 3])
  assert.match(impatient.stderr, /A backup is being made \(503\)/)
})

test('unlock takes the first line of @FILE, and no passphrase from the arguments', { skip }, async () => {
  const bodies: string[] = []
  answer = async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    bodies.push(text)
    response.writeHead(204).end()
  }
  writeFileSync(join(rig.directory, 'words.txt'), 'words of a file\nanother line\n')
  const { code, stderr } = await rig.coffer('unlock', '@words.txt')
  assert.equal(code, 0, stderr)
  assert.deepEqual(
    bodies.map((text) => JSON.parse(text)),
    [{ passphrase: 'words of a file' }],
  )
  for (const line of [
    ['unlock', 'words of nobody'],
    ['unlock', '--passphrase', 'words of nobody'],
    ['user', 'add', 'x', '--role', 'Operator', '--passphrase', 'words of nobody'],
  ]) {
    const refused = await rig.coffer(...line)
    assert.equal(refused.code, 2, line.join(' '))
    assert.ok(!refused.stderr.includes('words of nobody'), refused.stderr)
  }
  assert.equal(bodies.length, 1)
})
