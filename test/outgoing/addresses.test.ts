import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { mayAsk } from '../../firmware/outgoing/addresses.ts'
import { systemNetwork } from '../../firmware/outgoing/resolve.ts'

const OWN = ['192.0.2.7', '2001:db8::7']

const TABLE: [address: string, may: boolean][] = [
  ['203.0.113.9', true],
  ['10.1.2.3', true], // a private network: the list may name a host in it
  ['192.168.1.2', true],
  ['2001:db8::8', true],
  ['fd00::1', true],
  ['192.0.2.7', false],
  ['2001:db8::7', false],
  ['2001:db8:0:0:0:0:0:7', false],
  ['0.0.0.0', false],
  ['0.1.2.3', false],
  ['127.0.0.1', false],
  ['127.255.255.254', false],
  ['169.254.169.254', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['::', false],
  ['::1', false],
  ['::127.0.0.1', false],
  ['::ffff:127.0.0.1', false],
  ['::ffff:203.0.113.9', false],
  ['64:ff9b::7f00:1', false],
  ['2002:7f00:1::', false],
  ['fe80::1', false],
  ['febf::1', false],
  ['ff02::1', false],
  ['localhost', false],
  ['', false],
]

for (const [address, may] of TABLE)
  test(`${address === '' ? 'no address' : address} may ${may ? '' : 'not '}be asked`, () => {
    assert.equal(mayAsk(address, OWN), may)
  })

test('every address of this machine is its own', () => {
  const own = [...systemNetwork({ onHost: true, resolvers: [] }).own()]
  for (const { address } of Object.values(networkInterfaces()).flatMap((all) => all ?? []))
    assert.equal(mayAsk(address, own), false, address)
})
