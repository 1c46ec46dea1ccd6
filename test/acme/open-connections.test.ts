// @test long 20
/** Open connections keep their certificate and go on through orders and renewals of both ports; new ones get the new certificate. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { makeOrganization, reach } from '../chat/support/process.ts'
import { ADMIN, expect, provision } from '../support/appliance.ts'
import { needs } from '../support/tools.ts'
import { DIRECTORY } from './support/ca.ts'
import { joinCa, serveCa } from './support/served.ts'
import { certificateAt, choosePorts, isForNames, setAcme, startWhole, untilPort } from './support/whole.ts'

const NAMES = { appliance: ['coffer.example.org'], chat: ['chat.example.org'] }
const PATHS = { appliance: '/api/v1/info', chat: '/api/v1/server_settings' }
const DEADLINE_MS = 60_000 // the machine may be busy
const PORTS = ['appliance', 'chat'] as const

/** One connection, on which requests follow each other. */
async function openConnection(t: TestContext, port: number, path: string) {
  const socket: TLSSocket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  const shown = socket.getPeerX509Certificate()!.fingerprint256
  return {
    shown,
    async ask(): Promise<void> {
      socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nuser-agent: test/1.0\r\n\r\n`)
      const [bytes] = (await once(socket, 'data')) as [Buffer]
      assert.match(bytes.toString(), /^HTTP\/1\.1 200 /)
    },
  }
}

test('connections to both ports go on through an order and a renewal', needs('openssl'), async (t) => {
  const served = await serveCa(t)
  const ports = await choosePorts()
  const coffer = await startWhole(t, ports)
  await provision(coffer)
  await joinCa(coffer, served)
  await makeOrganization(coffer)
  await reach(coffer, 'running')
  const open = async () => {
    const opened = []
    for (const port of PORTS) opened.push(await openConnection(t, ports[port], PATHS[port]))
    return opened
  }
  const first = await open()
  for (const { ask } of first) await ask()
  await setAcme(coffer, { directory: DIRECTORY, challenge: 'tls-alpn-01', ...NAMES })
  for (const port of PORTS) await untilPort(coffer, port, ({ state }) => state === 'valid')
  for (const { ask } of first) await ask()
  const second = await open()
  for (const port of PORTS) assert.ok(isForNames(await certificateAt(ports[port]), NAMES[port]))

  for (const port of PORTS) {
    const { fingerprint256 } = await certificateAt(ports[port])
    await expect(204, coffer.call('POST', '/config/acme/renew', { as: ADMIN, json: { port } }))
    const deadline = Date.now() + DEADLINE_MS
    while ((await certificateAt(ports[port])).fingerprint256 === fingerprint256) {
      assert.ok(Date.now() < deadline, coffer.output())
      await wait(50)
    }
  }
  const third = await open()
  for (const at of [0, 1]) {
    const seen = [first, second, third].map((connections) => connections[at]!.shown)
    assert.equal(new Set(seen).size, 3, PORTS[at])
  }
  for (const { ask } of [...first, ...second, ...third]) await ask()
})
