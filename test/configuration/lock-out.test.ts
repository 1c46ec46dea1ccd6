/** Network settings under which nobody could reach the device any more are refused; NTP and logging as the reference takes them. */

import assert from 'node:assert/strict'
import test, { before } from 'node:test'
import { networkProblem } from '../../firmware/configuration/network-check.ts'
import { operationalRig, type Rig } from '../support/in-process.ts'

const NETWORK = { ipAddress: '192.0.2.10', netmask: '255.255.255.0', gateway: '192.0.2.1' }

const REFUSED: [change: object, names: RegExp][] = [
  [{ ipAddress: '224.0.0.1', gateway: '0.0.0.0' }, /^ipAddress: .*multicast/],
  [{ ipAddress: '239.255.255.250', gateway: '0.0.0.0' }, /^ipAddress: .*multicast/],
  [{ ipAddress: '240.0.0.1', gateway: '0.0.0.0' }, /^ipAddress: .*reserved/],
  [{ ipAddress: '255.255.255.255', gateway: '0.0.0.0' }, /^ipAddress: /],
  [{ ipAddress: '0.0.0.0', gateway: '0.0.0.0' }, /^ipAddress: /],
  [{ ipAddress: '0.1.2.3', gateway: '0.0.0.0' }, /^ipAddress: /],
  [{ ipAddress: '192.0.2.0' }, /^ipAddress: .*of the network/],
  [{ ipAddress: '192.0.2.255' }, /^ipAddress: .*broadcast/],
  [{ ipAddress: '10.0.15.255', netmask: '255.255.240.0', gateway: '0.0.0.0' }, /^ipAddress: .*broadcast/],
  [{ gateway: '192.0.3.1' }, /^gateway: must be within/],
  [{ gateway: '192.0.2.0' }, /^gateway: .*of the network/],
  [{ gateway: '192.0.2.255' }, /^gateway: .*broadcast/],
  [{ gateway: '192.0.2.10' }, /^gateway: .*itself/],
  [{ netmask: '255.255.255.255' }, /^gateway: must be within/],
  [{ ipv6: { cidr: '::/64', gateway: null } }, /^ipv6.cidr: /],
  [{ ipv6: { cidr: 'ff02::1/64', gateway: null } }, /^ipv6.cidr: .*multicast/],
  [{ ipv6: { cidr: '2001:db8::10/64', gateway: '2001:db8:1::1' } }, /^ipv6.gateway: must be within/],
  [{ ipv6: { cidr: '2001:db8::10/64', gateway: '2001:db8::10' } }, /^ipv6.gateway: .*itself/],
]
const LOOPBACK: object[] = [
  { ipAddress: '127.0.0.2', netmask: '255.0.0.0', gateway: '0.0.0.0' },
  { ipv6: { cidr: '::1/128', gateway: null } },
]
const TAKEN: object[] = [
  {},
  { ipAddress: '10.1.0.255', netmask: '255.255.0.0', gateway: '10.1.255.254' },
  { ipAddress: '192.0.2.10', netmask: '255.255.255.254', gateway: '192.0.2.11' },
  { netmask: '255.255.255.255', gateway: '0.0.0.0' },
  { ipv6: { cidr: '2001:db8::10/64', gateway: 'fe80::1' } },
  { ipv6: { cidr: '2001:db8::/64', gateway: '2001:db8::ffff:ffff:ffff:ffff' } },
  { ipv6: { cidr: '2001:db8::ffff:10.0.0.1/96', gateway: '2001:db8::ffff:a00:2' } },
]

let rig: Rig
before(async (t) => {
  rig = await operationalRig(t as test.TestContext, { appliesNetwork: true })
})
const put = (json: object) => rig.call('PUT', '/config/network', { as: 'admin', json })

test('settings that lock out are 400, name the setting and change nothing', async () => {
  assert.equal((await put(NETWORK)).status, 204)
  const loopback = LOOPBACK.map((change): [object, RegExp] => [change, /loopback/])
  for (const [change, names] of [...REFUSED, ...loopback]) {
    const { status, json } = await put({ ...NETWORK, ...change })
    assert.equal(status, 400, JSON.stringify(change))
    assert.match(json().message, names)
  }
  assert.deepEqual((await rig.call('GET', '/config/network', { as: 'admin' })).json(), NETWORK)
})

test('all other settings are taken', async () => {
  for (const change of TAKEN) {
    const { status, text } = await put({ ...NETWORK, ...change })
    assert.equal(status, 204, `${JSON.stringify(change)}: ${text()}`)
  }
})

test('where the settings are never applied, nodes of one computer have loopback addresses', () => {
  for (const change of LOOPBACK) assert.equal(networkProblem({ ...NETWORK, ...change }, { allowLoopback: true }), null)
})

test('log port 0 and empty names of a time server are taken', async () => {
  const logging = { ipAddress: '192.0.2.3', port: 0, logLevel: 'info' }
  assert.equal(await rig.status('PUT', '/config/logging', { as: 'admin', json: logging }), 204)
  assert.deepEqual((await rig.call('GET', '/config/logging', { as: 'admin' })).json(), logging)
  for (const [json, shown] of [
    [{ ntpIP: '192.0.2.4', ntsName: '' }, { ntpIP: '192.0.2.4' }],
    [
      { ntpIP: '192.0.2.4', ntsName: 'time.example' },
      { ntpIP: '192.0.2.4', ntsName: 'time.example' },
    ],
    [{ ntpIP: '', ntsName: '' }, {}],
  ]) {
    assert.equal(await rig.status('PUT', '/config/ntp', { as: 'admin', json }), 204)
    assert.deepEqual((await rig.call('GET', '/config/ntp', { as: 'admin' })).json(), shown)
  }
})
