/** `/config/network`, `/config/ntp`, `/config/logging` and `/config/time` without sockets. Contract sections 3.4 and 4.7. */

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { makeOperationalRig, type Rig } from '../support/in-process.ts'

let rig: Rig
before(async () => {
  rig = await makeOperationalRig()
})
after(() => rig.close())

const NETWORK = { ipAddress: '10.0.0.2', netmask: '255.255.255.0', gateway: '10.0.0.1' }
const LOGGING = { ipAddress: '192.0.2.7', port: 5140, logLevel: 'warning' }

test('the defaults are those of the contract', async () => {
  assert.deepEqual((await rig.call('GET', '/config/network', { as: 'admin' })).json(), {
    ipAddress: '192.168.1.1',
    netmask: '255.255.255.0',
    gateway: '0.0.0.0',
  })
  // The level in force is that of the start until one is set.
  assert.deepEqual((await rig.call('GET', '/config/logging', { as: 'admin' })).json(), {
    ipAddress: '0.0.0.0',
    port: 514,
    logLevel: 'debug',
  })
})

const STORED: [sent: object, shown: object][] = [
  [NETWORK, NETWORK],
  [
    { ipAddress: '10.0.0.2', netmask: '255.0.0.0' },
    { ipAddress: '10.0.0.2', netmask: '255.0.0.0', gateway: '0.0.0.0' },
  ],
  [{ ...NETWORK, ipv6: null }, NETWORK],
  ...[
    { cidr: '2001:db8::2/64', gateway: 'fe80::1' },
    { cidr: '::1/0', gateway: null },
    { cidr: '2001:db8::ffff:10.0.0.1/128', gateway: null },
  ].map((ipv6): [object, object] => [
    { ...NETWORK, ipv6 },
    { ...NETWORK, ipv6 },
  ]),
  ...['0.0.0.0', '128.0.0.0', '255.255.254.0', '255.255.255.255'].map((netmask): [object, object] => [
    { ...NETWORK, netmask, gateway: '0.0.0.0' },
    { ...NETWORK, netmask, gateway: '0.0.0.0' },
  ]),
]
for (const [sent, shown] of STORED) {
  test(`network ${JSON.stringify(sent)} is stored and shown`, async () => {
    const answer = await rig.call('PUT', '/config/network', { as: 'admin', json: sent })
    assert.equal(answer.status, 204, answer.text())
    assert.deepEqual((await rig.call('GET', '/config/network', { as: 'admin' })).json(), shown)
  })
}

const REFUSED_NETWORKS: unknown[] = [
  {},
  null,
  [],
  { ipAddress: '10.0.0.2' },
  { ...NETWORK, more: 1 },
  { ...NETWORK, ipAddress: '10.0.0' },
  { ...NETWORK, ipAddress: '10.0.0.256' },
  { ...NETWORK, ipAddress: '010.0.0.1' },
  { ...NETWORK, ipAddress: '10.0.0.2 ' },
  { ...NETWORK, ipAddress: '::1' },
  { ...NETWORK, ipAddress: null },
  { ...NETWORK, ipAddress: 10 },
  { ...NETWORK, netmask: '255.0.255.0' },
  { ...NETWORK, netmask: '0.0.0.255' },
  { ...NETWORK, netmask: '255.255.255.253' },
  { ...NETWORK, netmask: '24' },
  { ...NETWORK, gateway: 'gateway' },
  { ...NETWORK, gateway: null },
  { ...NETWORK, ipv6: {} },
  { ...NETWORK, ipv6: { cidr: '2001:db8::2/64' } },
  { ...NETWORK, ipv6: { gateway: null } },
  { ...NETWORK, ipv6: { cidr: '2001:db8::2', gateway: null } },
  { ...NETWORK, ipv6: { cidr: '2001:db8::2/129', gateway: null } },
  { ...NETWORK, ipv6: { cidr: '2001:db8::2/064', gateway: null } },
  { ...NETWORK, ipv6: { cidr: '2001:db8::2/-1', gateway: null } },
  { ...NETWORK, ipv6: { cidr: '2001:db8::2/64/64', gateway: null } },
  { ...NETWORK, ipv6: { cidr: '10.0.0.2/24', gateway: null } },
  { ...NETWORK, ipv6: { cidr: 'fe80::1%eth0/64', gateway: null } },
  { ...NETWORK, ipv6: { cidr: '2001:db8::2/64', gateway: '10.0.0.1' } },
  { ...NETWORK, ipv6: { cidr: '2001:db8::2/64', gateway: 'fe80::1%eth0' } },
  { ...NETWORK, ipv6: { cidr: '2001:db8::2/64', gateway: null, more: 1 } },
]
test('what is no network is 400 and changes nothing', async () => {
  assert.equal(await rig.status('PUT', '/config/network', { as: 'admin', json: NETWORK }), 204)
  for (const json of REFUSED_NETWORKS) {
    assert.equal(await rig.status('PUT', '/config/network', { as: 'admin', json }), 400, JSON.stringify(json))
  }
  assert.deepEqual((await rig.call('GET', '/config/network', { as: 'admin' })).json(), NETWORK)
})

const TIME_SERVERS = [
  { ntpIP: '192.0.2.7' },
  { ntpIP: '2001:db8::7', ntsName: 'time.example' },
  { ntsName: 'a1.time-1.example' },
  {},
]
for (const json of TIME_SERVERS) {
  test(`time server ${JSON.stringify(json)} is stored and shown`, async () => {
    assert.equal(await rig.status('PUT', '/config/ntp', { as: 'admin', json }), 204)
    assert.deepEqual((await rig.call('GET', '/config/ntp', { as: 'admin' })).json(), json)
  })
}

test('what is no time server is 400 and changes nothing', async () => {
  assert.equal(await rig.status('PUT', '/config/ntp', { as: 'admin', json: { ntpIP: '192.0.2.7' } }), 204)
  for (const json of [
    null,
    [],
    { more: 1 },
    { ntpIP: null },
    { ntpIP: 'time.example' },
    { ntpIP: '192.0.2.7 nts' },
    { ntpIP: 'fe80::1%eth0' },
    { ntsName: null },
    { ntsName: 'time example' },
    { ntsName: '-time.example' },
    { ntsName: 'time..example' },
    { ntsName: 'time.example\nallow all' },
    { ntsName: `${'a'.repeat(64)}.example` },
    { ntsName: 'a.'.repeat(127) },
  ]) {
    assert.equal(await rig.status('PUT', '/config/ntp', { as: 'admin', json }), 400, JSON.stringify(json))
  }
  assert.deepEqual((await rig.call('GET', '/config/ntp', { as: 'admin' })).json(), { ntpIP: '192.0.2.7' })
})

for (const sent of [
  LOGGING,
  { ...LOGGING, ipAddress: '::1' },
  { ...LOGGING, ipAddress: 'fe80::1%eth0' },
  { ...LOGGING, port: 1 },
  { ...LOGGING, port: 65535 },
  ...['debug', 'info', 'warning', 'error'].map((logLevel) => ({ ...LOGGING, logLevel })),
]) {
  test(`logging ${JSON.stringify(sent)} is stored and shown`, async () => {
    assert.equal(await rig.status('PUT', '/config/logging', { as: 'admin', json: sent }), 204)
    assert.deepEqual((await rig.call('GET', '/config/logging', { as: 'admin' })).json(), sent)
  })
}

test('what is no logging is 400 and changes nothing', async () => {
  assert.equal(await rig.status('PUT', '/config/logging', { as: 'admin', json: LOGGING }), 204)
  const refused: unknown[] = [
    {},
    { ...LOGGING, more: 1 },
    { ipAddress: '10.0.0.1', port: 514 },
    { ipAddress: '10.0.0.1', logLevel: 'info' },
    { port: 514, logLevel: 'info' },
    { ...LOGGING, ipAddress: 'log.example' },
    { ...LOGGING, ipAddress: '' },
    { ...LOGGING, port: -1 },
    { ...LOGGING, port: 65536 },
    { ...LOGGING, port: 1.5 },
    { ...LOGGING, port: '514' },
    { ...LOGGING, logLevel: 'app' },
    { ...LOGGING, logLevel: 'INFO' },
  ]
  for (const json of refused) {
    assert.equal(await rig.status('PUT', '/config/logging', { as: 'admin', json }), 400, JSON.stringify(json))
  }
  assert.deepEqual((await rig.call('GET', '/config/logging', { as: 'admin' })).json(), LOGGING)
})

for (const [path, json, other] of [
  ['network', NETWORK, { ...NETWORK, ipAddress: '10.0.0.3' }],
  ['logging', LOGGING, { ...LOGGING, port: 1514 }],
] as const) {
  test(`the etag of ${path} changes with it, conditions are judged by it, and a wrong type is 415`, async () => {
    const etag = async () => (await rig.call('GET', `/config/${path}`, { as: 'admin' })).headers.etag!
    assert.equal(await rig.status('PUT', `/config/${path}`, { as: 'admin', json }), 204)
    const old = await etag()
    const conditional = () =>
      rig.status('PUT', `/config/${path}`, { as: 'admin', json: other, headers: { 'if-match': old } })
    assert.equal(await rig.status('GET', `/config/${path}`, { as: 'admin', headers: { 'if-none-match': old } }), 304)
    assert.equal(await conditional(), 204)
    assert.notEqual(await etag(), old)
    assert.equal(await conditional(), 412)
    const body = JSON.stringify(json)
    assert.equal(
      await rig.status('PUT', `/config/${path}`, { as: 'admin', body, headers: { 'content-type': 'text/plain' } }),
      415,
    )
  })
}
