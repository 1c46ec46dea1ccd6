// @test device 120
/**
 * Outgoing connections of a device: it resolves names by the server that is set, here dnsmasq, and says so where none is. After a power cut
 * of the device a log server lacks no line of the audit log.
 */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { askWebhook, keyOf, makeOrganization, reach } from '../chat/support/process.ts'
import { createServer as createLogServer, needsServer } from '../forwarding/support/servers.ts'
import { arrives, forwardTo, prepare, signContinuously, until, verifyArrived } from '../forwarding/support/whole.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { createClusterCa } from '../support/cluster-ca.ts'
import { boot, onMachines, THIS_COMPUTER } from '../support/machine.ts'
import { needs } from '../support/tools.ts'
import { buildImage, makeDisk } from './images.ts'

const CHAT_PORT = 9443
const CONFIRMED_BEFORE_CUT = 20 // lines: some batches have been confirmed, others are on their way

interface Finding {
  addresses: string[]
  problem?: string
}

test('outgoing connections of a device', onMachines(), async (t) => {
  const image = await buildImage()
  const disk = makeDisk(t, image)
  const start = async () => {
    const device = await boot(t, image, { disk, snapshot: false, isolated: false, guestPorts: [CHAT_PORT] })
    await device.answers()
    return device
  }
  let device = await start()
  await provision(device)

  await t.test('it reaches a host by its name once a resolver is set', needs('dnsmasq'), async (t) => {
    const dns = await serveName(t, 'hooks.test', THIS_COMPUTER)
    const hook = await serveHook(t)
    const json = { host: 'hooks.test', port: hook.port, tls: false }
    const probe = async () =>
      (await expect(200, device.call('POST', '/config/outgoing/test', { as: ADMIN, json }))).json<Finding>()
    await makeOrganization(device)
    const outgoingHosts = [`hooks.test:${hook.port}`]
    await expect(204, device.call('PUT', '/chat/settings', { as: ADMIN, json: { outgoingHosts } }))
    await reach(device, 'running')
    const chat = device.portTo(CHAT_PORT)
    const owner = await keyOf(chat)
    const answerOf = (name: string) => askWebhook(chat, owner, name, `http://hooks.test:${hook.port}/`)

    assert.deepEqual(await probe(), {
      addresses: [],
      problem: 'Cannot connect: its name cannot be resolved, because no resolver is set',
    })
    assert.match(await answerOf('early'), /not answered: its name cannot be resolved, because no resolver is set\.$/)
    assert.equal(hook.connections(), 0)
    const resolvers = [`${THIS_COMPUTER}:${dns}`]
    await expect(204, device.call('PUT', '/config/outgoing', { as: ADMIN, json: { resolvers } }))
    assert.deepEqual(await probe(), { addresses: [THIS_COMPUTER] })
    assert.equal(hook.connections(), 1)
    assert.equal(await answerOf('late'), 'You said: to late')
  })

  await t.test('a log server has each line of the audit log after a power cut', needsServer('rsyslog'), async (t) => {
    const ca = createClusterCa(t)
    const server = await createLogServer(t, 'rsyslog', ca)
    await server.start()
    await prepare(device, ca)
    await forwardTo(device, server, { server: THIS_COMPUTER })
    const sign = () => signContinuously({ target: async () => ({ host: '127.0.0.1', port: device.apiPort }) })
    let signing = sign()
    const before = await until(device, ({ confirmed, waiting }) => confirmed > CONFIRMED_BEFORE_CUT && waiting > 0)
    await device.kill()
    const signed = await signing.stop()

    device = await start()
    const unlock = (status: number, passphrase: string) =>
      expect(status, device.call('POST', '/unlock', { json: { passphrase } }))
    await unlock(403, 'a wrong unlock passphrase')
    await arrives(server, /"action":"POST \/unlock".*"result":403/)
    await unlock(204, UNLOCK_PASSPHRASE)
    signing = sign()
    await until(device, ({ state }) => state === 'connected')
    await signing.stop()
    const { problems, lines, head } = await verifyArrived(device, server)
    t.diagnostic(`${signed} signatures before the cut, ${before.confirmed} lines confirmed, ${before.waiting} waiting`)
    t.diagnostic(`${lines} lines in all`)
    assert.deepEqual(problems, [])
    assert.equal(lines, head!.sequence)
    assert.ok(signed > 0 && lines > before.confirmed)
  })
})

/** A server of names that knows one. Returns its port. */
async function serveName(t: TestContext, name: string, address: string): Promise<number> {
  const taken = createSocket('udp4').bind(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address()
  taken.close()
  const rest = [
    '--keep-in-foreground',
    '--no-resolv',
    '--no-hosts',
    '--conf-file=/dev/null',
    '--pid-file=',
    '--user=root',
  ]
  const place = [`--port=${port}`, '--listen-address=127.0.0.1', '--bind-interfaces', `--address=/${name}/${address}`]
  const child = spawn('dnsmasq', [...rest, ...place], { stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  return port
}

/** A webhook that repeats what it was told. */
async function serveHook(t: TestContext): Promise<{ port: number; connections(): number }> {
  let connections = 0
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    request.on('end', () => response.end(JSON.stringify({ content: `You said: ${JSON.parse(text).data}` })))
  }).listen(0, '127.0.0.1')
  server.on('connection', () => connections++)
  await once(server, 'listening')
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}
