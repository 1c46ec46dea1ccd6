// @test device 90
/** A device redirects at port 80, and its chat listens at port 443 once that is set. */

import assert from 'node:assert/strict'
import { get } from 'node:http'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../chat/support/process.ts'
import { ADMIN, expect, provision } from '../support/appliance.ts'
import { boot, onMachines } from '../support/machine.ts'
import { buildImage } from './images.ts'

const DEADLINE_MS = 300_000 // emulated
const NAME = 'chat.example.org'

test('port 80 leads to appliance and chat, and the chat moves to 443 and back', onMachines(), async (t) => {
  const device = await boot(t, await buildImage(), { guestPorts: [80, 443, 8080, 9443] })
  await device.answers()
  const located = (port: number, host: string) =>
    new Promise<string | undefined>((resolve, reject) => {
      const options = { port: device.portTo(port), host: '127.0.0.1', path: '/x', headers: { host } }
      get(options, (answer) => {
        answer.resume()
        resolve(answer.headers.location)
      }).on('error', reject)
    })
  for (const port of [80, 8080]) assert.equal(await located(port, 'box.example.org'), 'https://box.example.org:8443/x')
  await provision(device)
  const owner = { email: 'olivia@example.org', fullName: 'Olivia Owner', password: 'a password of an owner' }
  const json = { name: 'Example', url: `https://${NAME}`, owner }
  await expect(201, device.call('PUT', '/chat/organization', { as: ADMIN, json }))
  for (const port of [80, 8080]) assert.equal(await located(port, NAME), `https://${NAME}/x`)

  const settings = async () =>
    (await expect(200, device.call('GET', '/chat/settings', { as: ADMIN }))).json<{ port: number }>()
  async function untilAt(port: number, other: number): Promise<void> {
    const deadline = performance.now() + DEADLINE_MS
    const status = async () =>
      (await expect(200, device.call('GET', '/chat', { as: ADMIN }))).json<{ state: string; port?: number }>()
    for (let now = await status(); now.state !== 'running' || now.port !== port; now = await status()) {
      assert.notEqual(now.state, 'failed', device.output())
      assert.ok(performance.now() < deadline, JSON.stringify(now))
      await wait(500)
    }
    assert.equal((await settings()).port, port)
    assert.equal((await ask(device.portTo(port), 'GET', '/server_settings', {})).body.realm_name, 'Example')
    await assert.rejects(ask(device.portTo(other), 'GET', '/server_settings', {}))
  }
  await untilAt(9443, 443)
  await expect(400, device.call('PUT', '/chat/settings', { as: ADMIN, json: { port: 80 } }))
  await expect(204, device.call('PUT', '/chat/settings', { as: ADMIN, json: { port: 443 } }))
  await untilAt(443, 9443)
  await expect(204, device.call('PUT', '/chat/settings', { as: ADMIN, json: { port: 9443 } }))
  await untilAt(9443, 443)
})
