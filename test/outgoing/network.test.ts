/** The real process for outgoing connections with dnsmasq as its server of names, and through tinyproxy. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { needs } from '../support/tools.ts'
import { get, openProcess } from './started.ts'

const DEADLINE_MS = 30_000 // the machine may be busy

function runProgram(t: TestContext, program: string, parameters: readonly string[]): void {
  const child = spawn(program, parameters, { stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
}

async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  return port
}

async function freeTcpPort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, 'the program does not answer')
    await wait(50)
  }
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

test('dnsmasq resolves names, and what it says is checked', needs('dnsmasq'), async (t) => {
  const port = await freeUdpPort()
  const names = [
    'public.test/203.0.113.9',
    'public.test/2001:db8::9',
    'loop.test/127.0.0.1',
    'link.test/169.254.169.254',
  ]
  const rest = [
    '--keep-in-foreground',
    '--no-resolv',
    '--no-hosts',
    '--conf-file=/dev/null',
    '--pid-file=',
    '--user=root',
  ]
  runProgram(t, 'dnsmasq', [
    ...[...rest, `--port=${port}`, '--listen-address=127.0.0.1', '--bind-interfaces', '--local=/test/'],
    ...names.map((name) => `--address=/${name}`),
    '--host-record=both.test,203.0.113.9',
    '--host-record=both.test,127.0.0.1',
  ])
  const { client } = await openProcess(t, { resolvers: [`127.0.0.1:${port}`] })
  const probe = (host: string) => client.probe({ host, port: 9, tls: false })
  await until(async () => !/ETIMEOUT|ECONNREFUSED|resolved within/.test((await probe('unknown.test')).problem ?? ''))
  assert.match((await probe('unknown.test')).problem!, /could not be reached \((?:ENOTFOUND|EREFUSED|ENODATA)\)/)
  assert.deepEqual([...(await probe('public.test')).addresses].sort(), ['2001:db8::9', '203.0.113.9'])
  for (const host of ['loop.test', 'link.test', 'both.test'])
    assert.match((await probe(host)).problem!, /leads to an address that nothing is sent to/, host)
})

const encode = (text: string) => new TextEncoder().encode(text)

const [USER, PASSWORD] = ['coffer', 'password-of-the-proxy']

/** tinyproxy that asks for user and password, and an https server behind it. */
async function openProxy(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-proxy-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const port = await freeTcpPort()
  const log = join(directory, 'log')
  const lines = [`Port ${port}`, 'Listen 127.0.0.1', 'Timeout 60', `BasicAuth ${USER} ${PASSWORD}`, `LogFile "${log}"`]
  const file = join(directory, 'tinyproxy.conf')
  writeFileSync(file, `${[...lines, 'LogLevel Connect', 'MaxClients 20'].join('\n')}\n`)
  runProgram(t, 'tinyproxy', ['-d', '-c', file])
  await until(() => answers(port))
  const { key, cert } = await makeTlsIdentity(systemRandom, 'localhost')
  const server = createServer({ key: Buffer.from(key), cert }, (_, response) => void response.end('behind'))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    proxy: { host: '127.0.0.1', port, user: USER, password: encode(PASSWORD) },
    authorities: encode(cert),
    place: `localhost:${(server.address() as AddressInfo).port}`,
    connects: () => readFileSync(log, 'utf8').match(/CONNECT \S+/g)?.length ?? 0,
  }
}

const DIRECT = /leads to an address that nothing is sent to/ // nothing but the proxy reaches this computer

test('https goes through tinyproxy with user and password, plain http does not', needs('tinyproxy'), async (t) => {
  const { proxy, authorities, place, connects } = await openProxy(t)
  const { client } = await openProcess(t, { proxy, authorities })
  const { status, body } = await client.http(...get(`https://${place}/`, place))
  assert.deepEqual([status, Buffer.from(body).toString(), connects()], [200, 'behind', 1])
  await assert.rejects(client.http(...get(`http://${place}/`, place)), DIRECT)
  assert.equal(connects(), 1)
})

test('a wrong password, and none', needs('tinyproxy'), async (t) => {
  const { proxy, authorities, place } = await openProxy(t)
  const { user: _, password, ...bare } = proxy
  for (const wrong of [bare, { ...proxy, password: encode('wrong') }]) {
    const { client } = await openProcess(t, { proxy: wrong, authorities })
    await assert.rejects(client.http(...get(`https://${place}/`, place)), {
      message: /^the proxy refused it with the status 40[17]$/,
    })
  }
  assert.ok(password.length > 0)
})

test('a certificate is verified behind the proxy, too', needs('tinyproxy'), async (t) => {
  const { proxy, place } = await openProxy(t)
  const { client } = await openProcess(t, { proxy })
  await assert.rejects(
    client.http(...get(`https://${place}/`, place)),
    /could not be reached \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
  )
  const { problem, tls, addresses } = await client.probe({
    host: 'localhost',
    port: Number(place.split(':')[1]),
    tls: true,
  })
  assert.match(problem!, /certificate is not accepted \(.*SELF_SIGNED/)
  assert.deepEqual([addresses, tls?.names.includes('localhost')], [[], true])
})

const EXCEPTIONS: [except: string, host: string, isDirect: boolean][] = [
  ['localhost', 'localhost', true],
  ['host', 'localhost', false],
  ['.localhost', 'localhost', false],
  ['127.0.0.0/8', '127.0.0.1', true],
  ['127.0.0.1', '127.0.0.1', true],
  ['10.0.0.0/8', '127.0.0.1', false],
  ['127.0.0.0/8', 'localhost', false],
]

test('proxyExcept: a name, a suffix, a network', needs('tinyproxy'), async (t) => {
  const { proxy, authorities, place } = await openProxy(t)
  const port = place.split(':')[1]!
  for (const [except, host, isDirect] of EXCEPTIONS) {
    const { client } = await openProcess(t, { proxy, authorities, proxyExcept: [except] })
    const asked = client.http(...get(`https://${host}:${port}/`, `${host}:${port}`))
    if (isDirect) await assert.rejects(asked, DIRECT, `${except} ${host}`)
    else
      await asked.catch(({ message }: Error) => {
        // The certificate names the host alone.
        assert.match(message, /ERR_TLS_CERT_ALTNAME_INVALID/, `${except} ${host}`)
      })
  }
  const { client } = await openProcess(t, { proxy, authorities, proxyExcept: ['.host.invalid'] })
  await assert.rejects(client.http(...get('https://a.host.invalid/', 'a.host.invalid')), /could not be reached \(E/)
  await assert.rejects(client.http(...get('https://other.invalid/', 'other.invalid')), /the proxy refused it/)
})
