/** Outgoing requests to real servers of this computer, which stand in for those on the network. Contract row E140 of the chat. */

import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { after, test } from 'node:test'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { createConnector } from '../../firmware/outgoing/connect.ts'
import { OutgoingError } from '../../firmware/outgoing/error.ts'
import { expectListed } from '../../firmware/outgoing/hosts.ts'
import { exchange } from '../../firmware/outgoing/http.ts'
import type { NetworkAccess } from '../../firmware/outgoing/resolve.ts'
import { NO_SETTINGS } from '../chat/support/outgoing.ts'

const PUBLIC = '203.0.113.9'

const servers: { close(): unknown; closeAllConnections(): void }[] = []
after(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

interface Asked {
  request: IncomingMessage
  body: string
}

async function serve(answer: (asked: Asked) => { status?: number; headers?: Record<string, string>; body?: string }) {
  const asked: Asked[] = []
  const listener: RequestListener = async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    asked.push({ request, body })
    const { status = 200, headers = {}, body: text = '{}' } = answer(asked.at(-1)!)
    response.writeHead(status, headers).end(text)
  }
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return { port: (server.address() as AddressInfo).port, asked, listener }
}

/** Everything outside is one port of this computer; what was resolved and connected to is noted. */
function networkTo(port: number, addresses: readonly string[][] = [[PUBLIC]]) {
  const resolved: string[] = []
  const connected: string[] = []
  const network: TestNetwork = {
    resolve: async (name) => addresses[Math.min(resolved.push(name), addresses.length) - 1]!,
    own: () => ['192.0.2.1'],
    connect: (address, to) => {
      connected.push(`${address} ${to}`)
      return connect(port, '127.0.0.1')
    },
  }
  return { network, resolved, connected }
}

/** With further certificate authorities besides the public ones, PEM. */
type TestNetwork = NetworkAccess & { ca?: string }

const request = (url: string, hosts: readonly string[], signal = new AbortController().signal) => ({
  url,
  hosts,
  signal,
  contentType: 'application/json',
  body: '{"é": 1}',
})

/** As the firmware and the process for outgoing connections do for the chat. */
async function post(
  { ca = '', ...network }: TestNetwork,
  { url, hosts, signal, contentType, body }: ReturnType<typeof request>,
) {
  expectListed(url, hosts)
  const connector = createConnector({ ...NO_SETTINGS, authorities: Buffer.from(ca) }, network)
  const headers = { 'content-type': contentType }
  const job = {
    do: 'http',
    method: 'POST',
    url,
    headers,
    body: Buffer.from(body),
    answerHeaders: [],
    timeoutMs: 10_000,
  } as const
  const answer = await exchange(connector, job, signal)
  return { status: answer.status, text: Buffer.from(answer.body).toString() }
}

const refused = (network: TestNetwork, url: string, hosts: readonly string[], message: RegExp, isFinal: boolean) =>
  assert.rejects(post(network, request(url, hosts)), (error) => {
    assert.ok(error instanceof OutgoingError, String(error))
    assert.match(error.message, message)
    assert.equal(error.isFinal, isFinal)
    return true
  })

test('a listed host is asked at the address that its name had', async () => {
  const { port, asked } = await serve(() => ({ body: '{"content": "hello"}' }))
  const { network, resolved, connected } = networkTo(port)
  const url = 'http://Hooks.example.org/a%20b?c=d#e'
  assert.deepEqual(await post(network, request(url, ['hooks.example.org'])), {
    status: 200,
    text: '{"content": "hello"}',
  })
  assert.deepEqual([resolved, connected], [['hooks.example.org'], [`${PUBLIC} 80`]])
  const [{ request: heard, body }] = asked as [Asked]
  assert.equal(`${heard.method} ${heard.url}`, 'POST /a%20b?c=d')
  assert.equal(heard.headers.host, 'hooks.example.org')
  assert.equal(heard.headers['content-type'], 'application/json')
  assert.equal(body, '{"é": 1}')
})

const LISTED: [url: string, host: string, isListed: boolean][] = [
  ['http://hooks.example.org/', 'hooks.example.org', true],
  ['http://hooks.example.org.:80/', 'hooks.example.org', true],
  ['http://hooks.example.org:8080/', 'hooks.example.org', false],
  ['http://hooks.example.org:8080/', 'hooks.example.org:8080', true],
  ['http://hooks.example.org.:8080/', 'hooks.example.org:8080', true],
  ['http://hooks.example.org/', 'hooks.example.org:8080', false],
  ['http://a.hooks.example.org/', 'hooks.example.org', false],
  ['http://hooks.example.org.evil.example/', 'hooks.example.org', false],
  ['http://203.0.113.9/', '203.0.113.9', true],
  ['http://3405803785/', '203.0.113.9', true],
  ['http://[2001:db8::8]:8080/', '[2001:db8::8]:8080', true],
  ['http://[2001:db8::9]:8080/', '[2001:db8::8]:8080', false],
]
for (const [url, host, isListed] of LISTED)
  test(`${url} is ${isListed ? '' : 'not '}meant by ${host}`, async () => {
    const { port } = await serve(() => ({}))
    const { network, connected } = networkTo(port)
    if (isListed) await post(network, request(url, ['other.example.org', host]))
    else await refused(network, url, [host], /has not listed its host/, true)
    assert.equal(connected.length, isListed ? 1 : 0)
  })

test('nobody is asked where nobody is listed', async () => {
  const { network, resolved, connected } = networkTo(1)
  await refused(network, 'http://hooks.example.org/', [], /has not listed/, true)
  assert.deepEqual([resolved, connected], [[], []])
})

const DISGUISES = [
  'http://localhost/',
  'http://127.0.0.1/',
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f.0.0.1/',
  'http://0/',
  'http://[::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://169.254.169.254/latest/',
  'http://192.0.2.1/',
]
for (const url of DISGUISES)
  test(`${url} is not asked, also when it is listed`, async () => {
    const { network, connected } = networkTo(1, [['127.0.0.1', '::1']])
    await refused(network, url, [new URL(url).host], /leads to an address that nothing is sent to/, true)
    assert.deepEqual(connected, [])
  })

test('a name that has one address of this machine among others is not asked', async () => {
  const { network, connected } = networkTo(1, [[PUBLIC, '192.0.2.1']])
  await refused(network, 'http://hooks.example.org/', ['hooks.example.org'], /leads to an address/, true)
  assert.deepEqual(connected, [])
})

test('a name that changes its address leads nowhere else: it is looked up once for each request', async () => {
  const { port } = await serve(() => ({}))
  const { network, resolved, connected } = networkTo(port, [[PUBLIC], ['127.0.0.1']])
  await post(network, request('http://hooks.example.org/', ['hooks.example.org']))
  assert.deepEqual([resolved.length, connected], [1, [`${PUBLIC} 80`]])
  await refused(network, 'http://hooks.example.org/', ['hooks.example.org'], /leads to an address/, true)
  assert.deepEqual([resolved.length, connected.length], [2, 1])
})

test('a redirect is an answer and is not followed', async () => {
  const { port, asked } = await serve(() => ({ status: 302, headers: { location: 'http://127.0.0.1/' } }))
  const { network, connected } = networkTo(port)
  const { status } = await post(network, request('http://hooks.example.org/', ['hooks.example.org', '127.0.0.1']))
  assert.deepEqual([status, asked.length, connected.length], [302, 1, 1])
})

test('an answer that is too long, none, and what is no HTTP', async () => {
  const { port } = await serve(() => ({ body: 'x'.repeat(300_000) }))
  const hosts = ['hooks.example.org']
  await refused(networkTo(port).network, 'http://hooks.example.org/', hosts, /too long/, true)
  await refused(networkTo(port, [[]]).network, 'http://hooks.example.org/', hosts, /has no address/, false)
  const noOne = networkTo(1).network
  await refused(noOne, 'http://hooks.example.org/', hosts, /could not be reached \(ECONNREFUSED\)/, false)
  const lost = { ...noOne, resolve: () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })) }
  await refused(lost, 'http://hooks.example.org/', hosts, /could not be reached \(ENOTFOUND\)/, false)
})

test('an answer that wants another protocol is none', { timeout: 8000 }, async () => {
  const server = createServer(() => {})
  servers.push(server)
  server.on('connection', (socket) =>
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
    ),
  )
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { network } = networkTo((server.address() as AddressInfo).port)
  await refused(network, 'http://hooks.example.org/', ['hooks.example.org'], /without an answer/, false)
})

test('the caller ends it, also while a name is looked up', async () => {
  const { network } = networkTo(1)
  const ended = new AbortController()
  const silent: TestNetwork = { ...network, resolve: () => new Promise(() => {}) }
  const asked = post(silent, request('http://hooks.example.org/', ['hooks.example.org'], ended.signal))
  ended.abort()
  await assert.rejects(asked, OutgoingError)
})

test('TLS: a certificate that an authority vouches for, of that name alone', async () => {
  const { listener } = await serve(() => ({}))
  const outcomes: [name: string, isTrusted: boolean, message: RegExp | null][] = [
    ['hooks.example.org', true, null],
    ['hooks.example.org', false, /could not be reached \(DEPTH_ZERO_SELF_SIGNED_CERT\)/],
    ['other.example.org', true, /could not be reached \(ERR_TLS_CERT_ALTNAME_INVALID\)/],
  ]
  for (const [name, isTrusted, message] of outcomes) {
    const { key, cert } = await makeTlsIdentity(systemRandom, name)
    const server = createSecureServer({ key: Buffer.from(key), cert }, listener)
    servers.push(server)
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { network, connected } = networkTo((server.address() as AddressInfo).port)
    const known = isTrusted ? { ...network, ca: cert } : network
    const url = 'https://hooks.example.org/'
    if (message === null) assert.equal((await post(known, request(url, ['hooks.example.org']))).status, 200)
    else await refused(known, url, ['hooks.example.org'], message, false)
    assert.deepEqual(connected, [`${PUBLIC} 443`])
  }
})
