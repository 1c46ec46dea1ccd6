// @test long 60
/** Certificates for both ports of a whole Coffer from pebble, unmodified: refused nonces, slow validation, renewals. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { auditLines, makeOrganization, reach } from '../chat/support/process.ts'
import { ADMIN, expect } from '../support/appliance.ts'
import { acmeServer } from '../support/tools.ts'
import { startPebble } from './support/pebble.ts'
import { certificateAt, choosePorts, isForNames, openWhole, setAcme, untilPort } from './support/whole.ts'

const { skip } = acmeServer('pebble')
const ROUGH = { PEBBLE_WFE_NONCEREJECT: '50', PEBBLE_VA_SLEEPTIME: '2', PEBBLE_AUTHZREUSE: '0' }

async function open(t: TestContext, portOfTls: 'appliance' | 'chat') {
  const ports = await choosePorts()
  const pebble = await startPebble(t, { httpPort: ports.http, tlsPort: ports[portOfTls], environment: ROUGH })
  const coffer = await openWhole(t, ports, pebble.authorities)
  return { ports, pebble, coffer }
}

const NAMES = { appliance: ['coffer.test', 'keys.coffer.test'], chat: ['chat.coffer.test'] }

for (const challenge of ['http-01', 'tls-alpn-01'] as const)
  for (const portOfTls of challenge === 'http-01' ? (['chat'] as const) : (['appliance', 'chat'] as const))
    test(`both ports get certificates by ${challenge}, asked at the port of the ${portOfTls}`, { skip }, async (t) => {
      const { ports, pebble, coffer } = await open(t, portOfTls)
      await makeOrganization(coffer)
      await reach(coffer, 'running')
      const before = { appliance: await certificateAt(ports.appliance), chat: await certificateAt(ports.chat) }
      await setAcme(coffer, { directory: pebble.directory, termsAgreed: true, challenge, ...NAMES })
      for (const port of ['appliance', 'chat'] as const) {
        const status = await untilPort(coffer, port, ({ state }) => state === 'valid')
        assert.equal(status.failures, 0)
        const shown = await certificateAt(ports[port])
        assert.ok(isForNames(shown, NAMES[port]), shown.subjectAltName)
        assert.ok(shown.publicKey.equals(before[port].publicKey), 'the key stays')
        assert.equal(Date.parse(status.notAfter!), shown.validToDate.getTime())
        assert.ok(Date.parse(status.renewAt!) < shown.validToDate.getTime())
      }
      const installed = (await auditLines(coffer)).filter(({ action }) => action === 'acme')
      assert.deepEqual(installed.map(({ facts }) => facts!.port).sort(), ['appliance', 'chat'])
    })

test('a generated key is followed by an order', { skip }, async (t) => {
  const { ports, pebble, coffer } = await open(t, 'chat')
  await setAcme(coffer, { directory: pebble.directory, termsAgreed: true, appliance: ['coffer.test'] })
  await untilPort(coffer, 'appliance', ({ state }) => state === 'valid')
  const before = await certificateAt(ports.appliance)
  await expect(204, coffer.call('POST', '/config/tls/generate', { as: ADMIN, json: { type: 'EC_P384' } }))
  await untilPort(coffer, 'appliance', ({ state }) => state === 'valid')
  const after = await certificateAt(ports.appliance)
  assert.ok(isForNames(after, ['coffer.test']))
  assert.equal(after.publicKey.asymmetricKeyDetails!.namedCurve, 'secp384r1')
  assert.ok(!after.publicKey.equals(before.publicKey))
})
