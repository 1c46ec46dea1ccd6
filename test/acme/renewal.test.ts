// @test long 20
/** A renewal at pebble: profile, external account, and a window that the CA moves into the past. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { ADMIN, expect, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { type Ending, makeDataDirectory } from '../support/process.ts'
import { acmeServer } from '../support/tools.ts'
import { startPebble } from './support/pebble.ts'
import { acmeOf, certificateAt, choosePorts, openWhole, setAcme, startWhole, untilPort } from './support/whole.ts'

const { skip } = acmeServer('pebble')
const DAY_MS = 86_400_000
const BEAT_MS = 1000
const KEY = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W'
const PAST = { suggestedWindow: { start: '2020-01-01T00:00:00Z', end: '2020-01-02T00:00:00Z' } }

test('profile, external account, and a window in the past', { skip }, async (t) => {
  const [ports, data] = [await choosePorts(), makeDataDirectory(t)]
  const pebble = await startPebble(t, {
    ...{ httpPort: ports.http, tlsPort: ports.appliance, environment: { PEBBLE_WFE_NONCEREJECT: '50' } },
    settings: { externalAccountBindingRequired: true, externalAccountMACKeys: { 'kid-1': KEY } },
  })
  const coffer = await openWhole(t, ports, pebble.authorities, data)
  const common = { directory: pebble.directory, termsAgreed: true, profile: 'shortlived', appliance: ['coffer.test'] }
  await setAcme(coffer, common)
  const { problem } = await untilPort(coffer, 'appliance', ({ state }) => state === 'failing')
  assert.match(problem!, /^eab must be set/)
  await setAcme(coffer, { eab: { kid: 'kid-1', key: KEY } })
  await untilPort(coffer, 'appliance', ({ state }) => state === 'valid')
  const before = await certificateAt(ports.appliance)
  const days = (before.validToDate.getTime() - before.validFromDate.getTime()) / DAY_MS
  assert.ok(days > 5 && days < 7, `${days}`)
  const { account } = await acmeOf(coffer)

  const json = { certificate: before.toString(), ariResponse: JSON.stringify(PAST) }
  await pebble.manage('POST', '/set-renewal-info/', json)
  const time = `${new Date(Date.now() + 2 * 3_600_000).toISOString().slice(0, 19)}Z` // an order is followed by none for an hour
  await expect(204, coffer.call('PUT', '/config/time', { as: ADMIN, json: { time } }))
  await coffer.stop()
  const again = await startWhole(t, ports, data)
  await again.target()
  const old = openConnection(t, ports.appliance)
  assert.equal(await old.status('/api/v1/health/alive'), 200)
  await expect(204, again.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  const formerEnd = before.validToDate.getTime()
  await untilPort(again, 'appliance', ({ state, notAfter }) => {
    return state === 'valid' && Date.parse(notAfter!) > formerEnd
  })
  const after = await certificateAt(ports.appliance)
  assert.notEqual(after.serialNumber, before.serialNumber)
  assert.ok(after.publicKey.equals(before.publicKey), 'the key stays')
  assert.equal((await acmeOf(again)).account, account)
  assert.match(pebble.output(), /ARI: order "[^"]+" is a replacement of/)

  assert.equal(await old.status('/api/v1/health/ready'), 200, 'the connection from before the renewal goes on')
  assert.deepEqual([...old.serials], [before.serialNumber])
})

/** One connection for all requests, which is never idle for long enough to be closed. */
function openConnection(t: Ending, port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, maxCachedSessions: 0, rejectUnauthorized: false })
  t.after(() => agent.destroy())
  const serials = new Set<string>()
  const status = async (path: string): Promise<number> => {
    const asked = request({ agent, host: '127.0.0.1', port, path }).end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    serials.add((response.socket as TLSSocket).getPeerCertificate().serialNumber)
    await response.resume().toArray()
    return response.statusCode!
  }
  const beat = setInterval(() => void status('/api/v1/health/alive').catch(() => {}), BEAT_MS)
  t.after(() => clearInterval(beat))
  return { status, serials }
}
