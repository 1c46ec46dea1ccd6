/** Spellings of hosts: a trailing dot, IPv6 addresses in several forms, zone identifiers, names that objects of JavaScript have. */

import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { reachNames } from '../../firmware/certificate-names.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { mayAsk } from '../../firmware/outgoing/addresses.ts'
import { createConnector } from '../../firmware/outgoing/connect.ts'
import { OutgoingError } from '../../firmware/outgoing/error.ts'
import { exchange } from '../../firmware/outgoing/http.ts'
import type { ConnectionSettings } from '../../firmware/outgoing/link.ts'
import { NO_SETTINGS } from '../chat/support/outgoing.ts'
import { operationalRig } from '../support/in-process.ts'

const never = new AbortController().signal

function connectorWith(settings: Partial<ConnectionSettings>, port = 1) {
  const [resolved, connected]: [string[], string[]] = [[], []]
  const connector = createConnector(
    { ...NO_SETTINGS, ...settings },
    {
      resolve: async (name) => {
        resolved.push(name)
        return ['203.0.113.9']
      },
      own: () => ['192.0.2.1'],
      connect: (address) => {
        connected.push(address)
        return connect(port, '127.0.0.1')
      },
    },
  )
  return { connector, resolved, connected }
}

async function serve(t: TestContext) {
  const names: unknown[] = []
  const { key, cert } = await makeTlsIdentity(systemRandom, 'localhost')
  const server: Server = createServer({ key: Buffer.from(key), cert }, (_, response) => void response.end('here'))
  server.on('secureConnection', ({ servername }) => names.push(servername))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, names, authorities: Buffer.from(cert) }
}

test('the server name of a handshake has no trailing dot', async (t) => {
  const { port, names, authorities } = await serve(t)
  const { connector, resolved } = connectorWith({ authorities }, port)
  for (const host of ['localhost', 'localhost.']) {
    const job = { do: 'http', method: 'GET', url: `https://${host}/`, headers: {}, body: new Uint8Array(0) } as const
    const { status } = await exchange(connector, { ...job, answerHeaders: [], timeoutMs: 10_000 }, never)
    assert.equal(status, 200)
  }
  assert.deepEqual(names, ['localhost', 'localhost'])
  assert.deepEqual(resolved, ['localhost', 'localhost.'], 'a dot keeps the system from trying other domains')
})

const PROXY = { host: 'proxy.example.org', port: 3128 }

const EXCEPTED: [except: string, host: string, isDirect: boolean][] = [
  ['2001:db8::1', '2001:db8::1', true],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1', true],
  ['2001:db8::1', '2001:0db8:0000::0001', true],
  ['2001:db8::1', '2001:db8::2', false],
  ['2001:db8::/32', '2001:DB8:1::', true],
  ['2001:DB8:ffff::/32', '2001:db8::1', true], // its further bits say nothing
  ['::ffff:192.0.2.7', '::ffff:c000:207', true],
  ['192.0.2.7', '192.0.2.7', true],
  ['192.0.2.7', '192.0.2.70', false],
  ['hooks.example.org', 'hooks.example.org.', true],
  ['.example.org', 'hooks.example.org.', true],
  ['.example.org', 'example.org.', false],
  ['hooks.example.org', 'hooks.example.org.evil.example', false],
]
for (const [except, host, isDirect] of EXCEPTED)
  test(`${host} is ${isDirect ? '' : 'not '}an exception of ${except}`, () => {
    const { connector } = connectorWith({ proxy: PROXY, proxyExcept: [except] })
    assert.equal(connector.usesProxy(host), !isDirect)
  })

test('a proxy is named like a member of objects, and one on this computer in any spelling', async () => {
  const destination = { host: 'hooks.example.org', port: 443 }
  for (const [host, resolves, reached] of [
    ['constructor', ['constructor'], ['203.0.113.9']],
    ['0:0:0:0:0:0:0:1', [], ['::1']],
    ['::1', [], ['::1']],
    ['localhost', [], ['127.0.0.1', '::1']],
  ] as const) {
    const { connector, resolved, connected } = connectorWith({ proxy: { host, port: 3128 } })
    await assert.rejects(connector.connectTls(destination, never), { code: 'ECONNREFUSED' }, host)
    assert.deepEqual([resolved, connected], [resolves, reached], host)
  }
  const device = connectorWith({ proxy: { host: '0:0:0:0:0:0:0:1', port: 3128 }, onHost: false })
  await assert.rejects(device.connector.connectTls(destination, never), OutgoingError)
  assert.deepEqual(device.connected, [])
})

test('addresses that embed an IPv4 address are refused in each form, and so are zones', () => {
  for (const address of [
    '::ffff:0:127.0.0.1', // SIIT: RFC 2765
    '::ffff:0:cb00:7109',
    '::ffff:203.0.113.9',
    '::FFFF:7f00:1',
    '64:ff9b::203.0.113.9',
    '64:ff9b:1::7f00:1',
    '64:ff9b:1:ffff:ffff:ffff:7f00:1',
    '2001:0:203.0.113.9::',
    '2002:cb00:7109::1',
    '2001:db8::5efe:127.0.0.1', // ISATAP: RFC 5214
    '2001:db8::200:5efe:203.0.113.9',
    '2001:db8::8%eth0',
    '2001:db8::8%1',
    'fe80::1%eth0',
  ])
    assert.equal(mayAsk(address, []), false, address)
  for (const address of ['2001:db8::5efd:7f00:1', '2001:db8::5efe', '2001:db8::1:ffff:0:0', '64:ff9b:2::1'])
    assert.equal(mayAsk(address, []), true, address)
  assert.equal(mayAsk('2001:0db8::0007', ['2001:db8::7']), false)
})

test('settings take no zones', async (t) => {
  const rig = await operationalRig(t)
  const zoned = 'fe80::1%eth0'
  const changes: [path: string, json: object][] = [
    ['/config/outgoing', { resolvers: [zoned] }],
    ['/config/outgoing', { resolvers: [`[${zoned}]:53`] }],
    ['/config/outgoing', { proxyExcept: [zoned] }],
    ['/config/outgoing', { proxyExcept: [`${zoned}/64`] }],
    ['/config/outgoing', { proxy: { host: zoned, port: 3128 } }],
    ['/config/acme', { appliance: [zoned] }],
    ['/config/acme', { chat: ['2001:db8::1%1'] }],
  ]
  for (const [path, json] of changes)
    assert.equal(await rig.status('PUT', path, { as: 'admin', json }), 400, JSON.stringify(json))
  const json = { host: zoned, port: 443, tls: true }
  assert.equal(await rig.status('POST', '/config/outgoing/test', { as: 'admin', json }), 400)
})

test('the names of a certificate leave out the zone of the address that is listened at', () => {
  const names = reachNames({ host: 'fe80::1%eth0', network: null, chatHost: null })
  assert.ok(names.includes('IP:fe80::1') && !names.some((name) => name.includes('%')), names.join(' '))
})
