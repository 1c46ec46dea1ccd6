import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createNetwork, type NetworkInterface } from '../../../boot/device/network.ts'
import { ProgramError } from '../../../boot/device/system/programs.ts'
import type { Network } from '../../../firmware/channel/protocol.ts'

const DEFAULT: Network = { ipAddress: '192.168.1.1', netmask: '255.255.255.0', gateway: '0.0.0.0' }

interface Rig {
  network: NetworkInterface
  /** Calls of ip(8) since the last read. */
  asked(): string[]
  said: string[]
  disableIpv6(): string
}

function makeRig(
  t: TestContext,
  { interfaces = ['eth0'], refuse = /never/ }: { interfaces?: string[]; refuse?: RegExp } = {},
): Rig {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const root = mkdtempSync(join(tmpdir(), 'coffer-net-'))
  t.after(() => rmSync(root, { recursive: true }))
  const addInterface = (name: string, index: number, type: string, hardware: boolean) => {
    mkdirSync(join(root, 'class/net', name, hardware ? 'device' : 'statistics'), { recursive: true })
    writeFileSync(join(root, 'class/net', name, 'type'), `${type}\n`)
    writeFileSync(join(root, 'class/net', name, 'ifindex'), `${index}\n`)
    mkdirSync(join(root, 'net/ipv6/conf', name), { recursive: true })
    writeFileSync(join(root, 'net/ipv6/conf', name, 'disable_ipv6'), '?')
  }
  addInterface('lo', 1, '772', false)
  addInterface('dummy0', 2, '1', false)
  for (const [index, name] of interfaces.entries()) addInterface(name, 10 - index, '1', true)
  const said: string[] = []
  let asked: string[] = []
  return {
    network: createNetwork({
      say: (text) => said.push(text),
      ip: (parameters) => {
        const text = parameters.join(' ')
        asked.push(text)
        if (refuse.test(text)) throw new ProgramError('ip failed (2): RTNETLINK answers: Network is unreachable')
      },
      sysfs: root,
      sysctls: root,
    }),
    asked: () => {
      const all = asked
      asked = []
      return all
    },
    said,
    disableIpv6: () => readFileSync(join(root, 'net/ipv6/conf', interfaces[0]!, 'disable_ipv6'), 'utf8'),
  }
}

test('gives the only interface the address of the configuration, and nothing else', (t) => {
  const { network, asked, said, disableIpv6 } = makeRig(t)
  network.apply(DEFAULT)
  assert.deepEqual(asked(), [
    'link set lo up',
    'addr flush dev eth0',
    'addr add 192.168.1.1/24 broadcast + dev eth0',
    'link set eth0 up',
  ])
  assert.equal(disableIpv6()[0], '1')
  assert.deepEqual(said, [])
})

test('sets gateways and IPv6 where they are configured', (t) => {
  const { network, asked, disableIpv6 } = makeRig(t)
  network.apply({
    ipAddress: '10.1.2.3',
    netmask: '255.255.240.0',
    gateway: '10.1.0.1',
    ipv6: { cidr: 'fd00::5/64', gateway: 'fe80::1' },
  })
  assert.deepEqual(asked().slice(2), [
    'addr add 10.1.2.3/20 broadcast + dev eth0',
    'link set eth0 up',
    'route add default via 10.1.0.1 dev eth0',
    '-6 addr add fd00::5/64 dev eth0',
    '-6 route add default via fe80::1 dev eth0',
  ])
  assert.equal(disableIpv6()[0], '0')
})

test('a change waits until its answer is out, and the last of several counts', (t) => {
  const { network, asked } = makeRig(t)
  network.apply(DEFAULT)
  asked()
  network.apply({ ...DEFAULT, ipAddress: '192.168.1.2' })
  network.apply({ ...DEFAULT, ipAddress: '192.168.1.3' })
  assert.deepEqual(asked(), [])
  t.mock.timers.tick(500)
  assert.deepEqual(
    asked().filter((text) => text.startsWith('addr add')),
    ['addr add 192.168.1.3/24 broadcast + dev eth0'],
  )
})

test('a change that is taken back before it is applied leaves the first address', (t) => {
  const { network, asked } = makeRig(t)
  network.apply(DEFAULT)
  asked()
  network.apply({ ...DEFAULT, ipAddress: '192.168.1.2' })
  network.apply(DEFAULT)
  t.mock.timers.tick(500)
  assert.deepEqual(
    asked().filter((text) => text.startsWith('addr add')),
    ['addr add 192.168.1.1/24 broadcast + dev eth0'],
  )
})

test('the same address again, at the next start of the firmware, disturbs no connection', (t) => {
  const { network, asked } = makeRig(t)
  network.apply(DEFAULT)
  asked()
  network.apply({ ...DEFAULT })
  t.mock.timers.tick(500)
  assert.deepEqual(asked(), [])
})

test('a gateway that cannot be reached is said, and the address stands', (t) => {
  const { network, asked, said } = makeRig(t, { refuse: /^route/ })
  network.apply({ ...DEFAULT, gateway: '10.9.9.9' })
  assert.deepEqual(said, ['Cannot set the gateway 10.9.9.9: ip failed (2): RTNETLINK answers: Network is unreachable.'])
  assert.equal(
    asked().some((text) => text.includes('192.168.1.1/24')),
    true,
  )
})

test('of several interfaces the one the kernel found first is used', (t) => {
  const { network, asked } = makeRig(t, { interfaces: ['eth1', 'eth0'] })
  network.apply(DEFAULT)
  assert.equal(asked().at(-1), 'link set eth0 up')
})

test('a device without a network interface says so', (t) => {
  const { network, asked, said } = makeRig(t, { interfaces: [] })
  network.apply(DEFAULT)
  assert.deepEqual(asked(), [])
  assert.deepEqual(said, ['No network interface.'])
})
