// @test device 60
/** A device whose clock is wrong follows a time server: chronyd on it may set the clock and nothing else. */

import assert from 'node:assert/strict'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, expect, provision } from '../support/appliance.ts'
import { boot, onMachines, THIS_COMPUTER } from '../support/machine.ts'
import { buildImage } from './images.ts'

const NTP_PORT = 123
const AHEAD_MS = 5 * 365 * 86_400_000
const NTP_EPOCH_MS = Date.UTC(1900, 0, 1)

/** A server of the time in five years: RFC 5905 section 7.3. Null where the port may not be had. */
async function serveTime(t: TestContext): Promise<Socket | null> {
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  socket.on('message', (asked, { address, port }) => {
    const answer = Buffer.alloc(48)
    answer.set([0x24, 1, asked[2]!, 0xec]) // version 4, server, stratum 1
    answer.write('TEST', 12)
    const now = Date.now() + AHEAD_MS - NTP_EPOCH_MS
    for (const offset of [16, 32, 40]) {
      answer.writeUInt32BE(Math.floor(now / 1000) % 2 ** 32, offset)
      answer.writeUInt32BE(Math.floor(((now % 1000) / 1000) * 2 ** 32), offset + 4)
    }
    asked.copy(answer, 24, 40, 48)
    socket.send(answer, port, address)
  })
  socket.bind(NTP_PORT, '127.0.0.1')
  const [error] = (await Promise.race([once(socket, 'listening'), once(socket, 'error')])) as [Error?]
  return error === undefined ? socket : null
}

test('the clock follows the time server that is set, and not the time that was set before', onMachines(), async (t) => {
  if ((await serveTime(t)) === null) return t.skip('the port of NTP is reserved: to run this, be root')
  const device = await boot(t, await buildImage(), { isolated: false, cores: 1 })
  await device.answers()
  await provision(device)
  const as = ADMIN
  await expect(204, device.call('PUT', '/config/time', { as, json: { time: '2001-02-03T04:05:06Z' } }))
  await expect(204, device.call('PUT', '/config/ntp', { as, json: { ntpIP: THIS_COMPUTER } }))
  const time = async () =>
    Date.parse((await expect(200, device.call('GET', '/config/time', { as }))).json<{ time: string }>().time)
  while ((await time()) < Date.UTC(2002)) await wait(1000)
  assert.ok(Math.abs((await time()) - Date.now() - AHEAD_MS) < 60_000)
})
