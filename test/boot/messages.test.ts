import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SLOT_WRITE_BYTES_MAX, type ToBoot } from '../../firmware/channel/protocol.ts'
import { readMessage } from '../../firmware/channel/to-boot.ts'

const URL = 'https://10.0.0.1:2380'
const START = {
  how: 'join',
  name: 'ab-c.D_1',
  peerUrl: URL,
  members: [{ name: 'b', urls: ['https://[fe80::1]:2380', 'https://host.example:2380'] }],
  token: '0123456789abcdef',
  tls: { certificate: new Uint8Array(3), key: new Uint8Array(2), authority: new Uint8Array(1) },
} as const

const MESSAGES: ToBoot[] = [
  { type: 'listening', address: '127.0.0.1', port: 8443 },
  { type: 'state', state: 'Locked' },
  { type: 'state', state: 'Failed', reason: 'the store is damaged' },
  { type: 'unlockResult', result: 'wrong' },
  { type: 'unlockResult', result: 'failed', message: 'the disk is full' },
  { type: 'refused', reason: 'port taken' },
  { type: 'request', action: 'reboot' },
  { type: 'network', network: { ipAddress: '10.0.0.2', netmask: '255.0.0.0', gateway: '0.0.0.0' } },
  {
    type: 'network',
    network: {
      ipAddress: '10.0.0.2',
      netmask: '255.0.0.0',
      gateway: '10.0.0.1',
      ipv6: { cidr: '2001:db8::2/64', gateway: 'fe80::1' },
    },
  },
  { type: 'ntp', ntp: {} },
  { type: 'ntp', ntp: { ntpIP: '2001:db8::7', ntsName: 'time.example' } },
  { type: 'tlsKey', fingerprint: `sha256//${'Aa1+/'.repeat(8)}Aa1=` },
  { type: 'slot', step: { do: 'begin', manifest: new Uint8Array(3), signature: new Uint8Array(64) } },
  { type: 'slot', step: { do: 'write', name: 'firmware.js', bytes: new Uint8Array(SLOT_WRITE_BYTES_MAX) } },
  { type: 'slot', step: { do: 'finish' } },
  { type: 'slot', step: { do: 'activate' } },
  { type: 'slot', step: { do: 'discard' } },
  { type: 'kept', count: 7 },
  { type: 'chat', wanted: 'running' },
  { type: 'chat', wanted: 'fresh' },
  { type: 'chat', wanted: 'none' },
  { type: 'outgoing', wanted: 'running' },
  { type: 'etcd', step: { do: 'look' } },
  { type: 'etcd', step: { do: 'stop' } },
  { type: 'etcd', step: { do: 'erase' } },
  { type: 'etcd', step: { do: 'run', start: START } },
  { type: 'pong' },
]

const NETWORK = { ipAddress: '10.0.0.2', netmask: '255.0.0.0', gateway: '10.0.0.1' }
const start = (change: object) => ({ type: 'etcd', step: { do: 'run', start: { ...START, ...change } } })
const network = (change: object) => ({ type: 'network', network: { ...NETWORK, ...change } })

test('reads every message of the protocol', () => {
  for (const message of MESSAGES) assert.deepEqual(readMessage(message), message)
})

test('drops members that the protocol does not have', () => {
  assert.deepEqual(readMessage({ type: 'pong', more: 1 }), { type: 'pong' })
  assert.deepEqual(readMessage({ type: 'state', state: 'Locked', reason: 7 }), { type: 'state', state: 'Locked' })
})

test('makes texts printable', () => {
  const message = readMessage({ type: 'state', state: 'Failed', reason: 'a\x1b[2J\nb' })
  assert.deepEqual(message, { type: 'state', state: 'Failed', reason: 'a·[2J·b' })
})

test('refuses what is not of the protocol', () => {
  const refused = [
    null,
    undefined,
    'pong',
    7,
    [],
    {},
    { type: 'stop' },
    { type: 'tlsKey' },
    { type: 'ntp' },
    { type: 'ntp', ntp: { ntpIP: 'time.example' } },
    { type: 'ntp', ntp: { ntsName: 'time.example\nport 123' } },
    { type: 'tlsKey', fingerprint: `sha256//${'A'.repeat(44)}` },
    { type: 'tlsKey', fingerprint: `sha256//${'A'.repeat(42)}\n=` },
    { type: 'listening', address: '127.0.0.1', port: '8443' },
    { type: 'listening', port: 8443 },
    { type: 'state', state: 'locked' },
    { type: 'unlockResult', result: 'maybe' },
    { type: 'request', action: 'execute' },
    { type: 'chat' },
    { type: 'outgoing', wanted: 'two' },
    { type: 'chat', wanted: 'two' },
    { type: 'refused' },
    { type: 'slot' },
    { type: 'slot', step: 'finish' },
    { type: 'slot', step: { do: 'run' } },
    { type: 'slot', step: { do: 'begin', manifest: '{}', signature: new Uint8Array(64) } },
    { type: 'slot', step: { do: 'write', name: 7, bytes: new Uint8Array(1) } },
    { type: 'slot', step: { do: 'write', name: 'x', bytes: new Uint8Array(SLOT_WRITE_BYTES_MAX + 1) } },
    { type: 'etcd' },
    { type: 'etcd', step: { do: 'run' } },
    { type: 'etcd', step: { do: 'start' } },
    start({ how: 'force' }),
    start({ name: '--force-new-cluster' }),
    start({ name: 'a=b' }),
    start({ name: '' }),
    start({ token: 'a,b' }),
    start({ peerUrl: 'http://10.0.0.1:2380' }),
    start({ peerUrl: 'https://10.0.0.1:2380/' }),
    start({ peerUrl: 'https://10.0.0.1:2380,https://10.0.0.2:2380' }),
    start({ members: [{ name: 'a', urls: ['https://10.0.0.1'] }] }),
    start({ members: [{ name: 'a,b', urls: [] }] }),
    start({ members: Array(33).fill({ name: 'a', urls: [] }) }),
    start({ tls: null }),
    start({ tls: { ...START.tls, key: '-----BEGIN' } }),
    start({ tls: { ...START.tls, certificate: new Uint8Array(256 * 1024 + 1) } }),
    { type: 'network' },
    network({ ipAddress: '10.0.0' }),
    network({ netmask: '255.0.0.0; reboot' }),
    network({ gateway: undefined }),
    network({ ipv6: null }),
    network({ ipv6: { cidr: '2001:db8::2/64' } }),
    network({ ipv6: { cidr: '2001:db8::2/129', gateway: null } }),
    network({ ipv6: { cidr: '2001:db8::2', gateway: null } }),
    network({ ipv6: { cidr: 'fe80::1%eth0/64', gateway: null } }),
    network({ ipv6: { cidr: '2001:db8::2/64', gateway: 'fe80::1%eth0' } }),
  ]
  for (const value of refused) assert.equal(readMessage(value), null)
})

test('survives anything', () => {
  fc.assert(fc.property(fc.anything(), (value) => void readMessage(value)))
  const almost = fc.record({ type: fc.constantFrom(...MESSAGES.map(({ type }) => type)) }, { noNullPrototype: false })
  fc.assert(fc.property(almost, fc.object(), (type, rest) => void readMessage({ ...rest, ...type })))
})
