// @test device 60
/** A device resolves names by the server that is set, here dnsmasq, and says so where none is. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { ADMIN, expect, provision } from '../support/appliance.ts'
import { boot, onMachines } from '../support/machine.ts'
import { needs } from '../support/tools.ts'
import { buildImage } from './images.ts'

const HOST = '192.168.1.254' // this computer, as the machine sees it

interface Finding {
  addresses: string[]
  problem?: string
}

test('a device reaches a host by its name', { ...onMachines(), ...needs('dnsmasq') }, async (t) => {
  const taken = createSocket('udp4').bind(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port: dns } = taken.address()
  taken.close()
  const rest = [
    '--keep-in-foreground',
    '--no-resolv',
    '--no-hosts',
    '--conf-file=/dev/null',
    '--pid-file=',
    '--user=root',
  ]
  const place = [`--port=${dns}`, '--listen-address=127.0.0.1', '--bind-interfaces', `--address=/hooks.test/${HOST}`]
  const child = spawn('dnsmasq', [...rest, ...place], { stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())

  const device = await boot(t, await buildImage(), { isolated: false })
  await device.answers()
  await provision(device)
  const json = { host: 'hooks.test', port: (server.address() as AddressInfo).port, tls: false }
  const probe = async () =>
    (await expect(200, device.call('POST', '/config/outgoing/test', { as: ADMIN, json }))).json<Finding>()
  assert.deepEqual(await probe(), {
    addresses: [],
    problem: 'Cannot connect: its name cannot be resolved, because no resolver is set',
  })
  const resolvers = [`${HOST}:${dns}`]
  await expect(204, device.call('PUT', '/config/outgoing', { as: ADMIN, json: { resolvers } }))
  assert.deepEqual(await probe(), { addresses: [HOST] })
  assert.equal(connections, 1)
})
