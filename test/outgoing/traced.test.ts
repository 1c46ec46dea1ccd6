// @test long 40
/** A furnished Coffer under strace(1): only its process for outgoing connections connects, and no secret is an argument or in an environment. */

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ask, askUntil, keyOf, makeOrganization, reach, statusOf } from '../chat/support/process.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { needs } from '../support/tools.ts'

const DEADLINE_MS = 120_000 // the machine may be busy
const TEXT_BYTES = 1_000_000 // of an argument, none of which is cut

const SECRETS = {
  proxy: 'password-of-the-proxy-0123456789',
  externalAccount: 'c2VjcmV0LW9mLXRoZS1leHRlcm5hbC1hY2NvdW50',
  backup: 'backup-passphrase-0123456789',
}

/** A proxy that refuses all, and knows who came. */
async function openProxy(t: TestContext) {
  const credentials: (string | undefined)[] = []
  const server = createServer().on('connect', (request, socket) => {
    credentials.push(request.headers['proxy-authorization'])
    socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, credentials }
}

async function openLogServer(t: TestContext) {
  const lines: string[] = []
  const socket = createSocket('udp4').on('message', (bytes) => lines.push(bytes.toString()))
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return { port: socket.address().port, lines }
}

interface Trace {
  /** Programs by name, with all arguments and environments as strace writes them. */
  started: string[]
  /** Program and address of each connection over IP. */
  connections: { program: string; address: string }[]
  programs: Set<string>
}

const PROGRAM = /\/(boot|firmware|chat|outgoing)\.js"/

/** A thread is of the program of its maker, until it executes another one. */
function readTrace(text: string): Trace {
  const makers = new Map<string, string>()
  const programs = new Map<string, string>()
  const trace: Trace = { started: [], connections: [], programs: new Set() }
  const programOf = (pid: string): string => programs.get(pid) ?? (makers.has(pid) ? programOf(makers.get(pid)!) : '?')
  for (const line of text.split('\n')) {
    const [, pid = '', call = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    const [, made] = /^(?:<\.\.\. )?(?:clone3?|v?fork)\b.* = (\d+)$/.exec(call) ?? []
    if (made !== undefined) makers.set(made, pid)
    if (call.startsWith('execve(')) {
      trace.started.push(call)
      const [, name = 'another'] = PROGRAM.exec(call) ?? []
      programs.set(pid, name)
      trace.programs.add(name)
    }
    const [, address] = /^connect\(.*?\{sa_family=AF_INET6?, (.*)\}/.exec(call) ?? []
    if (address !== undefined) trace.connections.push({ program: programOf(pid), address })
  }
  return trace
}

const get = async <T>(coffer: Coffer, path: string): Promise<T> =>
  (await expect(200, coffer.call('GET', path, { as: ADMIN }))).json<T>()

async function furnish(coffer: Coffer, proxy: { port: number }, log: { port: number }): Promise<void> {
  const as = ADMIN
  await provision(coffer)
  const put = (path: string, json: object) => expect(204, coffer.call('PUT', path, { as, json }))
  await put('/config/backup-passphrase', { newPassphrase: SECRETS.backup, currentPassphrase: '' })
  await put('/config/logging', { ipAddress: '127.0.0.1', port: log.port, logLevel: 'info' })
  await put('/config/outgoing', {
    proxy: { host: 'localhost', port: proxy.port, user: 'coffer', password: SECRETS.proxy },
  })
  await makeOrganization(coffer)
  await reach(coffer, 'running')
  await put('/chat/settings', { outgoingHosts: ['hooks.invalid', 'bots.invalid'] })
  await put('/config/acme', {
    directory: 'https://ca.invalid/directory',
    termsAgreed: true,
    challenge: 'tls-alpn-01',
    eab: { kid: 'account-1', key: SECRETS.externalAccount },
    appliance: ['coffer.example.org'],
    chat: ['chat.example.org'],
  })
  const key = { id: 'key', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
  await expect(201, coffer.call('POST', '/keys/generate', { as, json: key }))
  await expect(200, coffer.call('GET', '/system/info', { as }))
  const finding = await expect(
    200,
    coffer.call('POST', '/config/outgoing/test', { as, json: { host: 'hooks.invalid', port: 443, tls: true } }),
  )
  assert.match(finding.json<{ problem: string }>().problem, /the proxy refused it with the status 502/)
  const deadline = Date.now() + DEADLINE_MS
  for (;;) {
    const { ports } = await get<{ ports: Record<string, { state: string; problem?: string }> }>(coffer, '/config/acme')
    if (ports.appliance!.state === 'failing' && ports.chat!.state === 'failing') {
      assert.match(ports.chat!.problem!, /^Cannot reach the CA: the proxy refused it with the status 502$/)
      break
    }
    assert.ok(Date.now() < deadline, JSON.stringify(ports))
    await wait(100)
  }
  await callWebhooks(coffer)
}

/** One by the proxy, and one whose name nobody resolves. */
async function callWebhooks(coffer: Coffer): Promise<void> {
  const { port } = await statusOf(coffer)
  const as = await keyOf(port!)
  for (const url of ['https://hooks.invalid/', 'http://bots.invalid/']) {
    const name = url.replace(/\W/g, '')
    const form = { full_name: name, short_name: name, bot_type: '3', payload_url: JSON.stringify(url) }
    const { body: bot } = await ask(port!, 'POST', '/bots', { as, form })
    const message = { type: 'direct', to: JSON.stringify([bot.user_id]), content: 'a message' }
    const { body } = await ask(port!, 'POST', '/messages', { as, form: message })
    const range = { anchor: String(body.id), num_before: '0', num_after: '1', include_anchor: 'false' }
    await askUntil(({ body }) => body.messages?.length === 1, port!, 'GET', '/messages', {
      as,
      form: { ...range, narrow: '[["is", "dm"]]' },
    })
  }
}

test('firmware and chat connect to no host, and no program is started with a secret', needs('strace'), async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-trace-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'trace')
  const [proxy, log] = [await openProxy(t), await openLogServer(t)]
  const calls = 'trace=connect,execve,clone,clone3,fork,vfork'
  const coffer = startCoffer(t, {
    program: await buildForTests(),
    data: makeDataDirectory(t),
    settings: { COFFER_CHAT_PORT: '0' },
    // The tracer is not the parent, so that the boot manager is this process's child.
    through: ['strace', '-D', '-f', '--seccomp-bpf', '-v', '-s', `${TEXT_BYTES}`, '-o', file, '-e', calls],
  })
  await furnish(coffer, proxy, log)
  await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await reach(coffer, 'running')
  const json = { host: 'again.invalid', port: 443, tls: true }
  await expect(200, coffer.call('POST', '/config/outgoing/test', { as: ADMIN, json })) // by another process
  assert.equal(await coffer.stop(), 0)

  const trace = readTrace(readFileSync(file, 'utf8'))
  for (const program of ['boot', 'firmware', 'chat', 'outgoing']) assert.ok(trace.programs.has(program), program)
  const others = trace.connections.filter(({ program }) => program !== 'outgoing')
  assert.deepEqual(others, [])
  const toProxy = trace.connections.filter(({ address }) => address.includes(`htons(${proxy.port})`))
  assert.ok(toProxy.length >= 4, JSON.stringify(trace.connections)) // test, two orders, a webhook: or nothing was seen
  assert.ok(log.lines.length > 0)

  const authorization = `Basic ${Buffer.from(`coffer:${SECRETS.proxy}`).toString('base64')}`
  assert.ok(proxy.credentials.includes(authorization))
  const passphrases = [UNLOCK_PASSPHRASE, ADMIN.slice(ADMIN.indexOf(':') + 1)]
  const said = [...trace.started, ...log.lines, coffer.output()].join('\n')
  assert.match(said, /COFFER_CHAT_PORT=0/) // environments are in the trace
  for (const secret of [...Object.values(SECRETS), ...passphrases])
    for (const form of [secret, Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')])
      assert.ok(!said.includes(form), secret)
  assert.ok(!said.includes(authorization.slice('Basic '.length)))
})
