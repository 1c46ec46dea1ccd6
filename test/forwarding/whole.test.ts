// @test long 90
/** A whole Coffer and real log servers: restart, lock, kill, certificates on both sides, a full ring, and long lines. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createMessageWriter, createSequence } from '../../firmware/forwarding/messages.ts'
import { openProcess } from '../outgoing/started.ts'
import { ADMIN, expect, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { createClusterCa } from '../support/cluster-ca.ts'
import { type Coffer, makeDataDirectory } from '../support/process.ts'
import { createServer, type Kind, needsServer, type RealServer } from './support/servers.ts'
import { arrives, forwardTo, openWhole, signContinuously, start, until, verifyArrived } from './support/whole.ts'

const KINDS = ['rsyslog', 'syslog-ng'] as const satisfies Kind[]
const DEADLINE_MS = 120_000
const TIMEOUT_MS = 600_000

const unlock = (coffer: Coffer, passphrase = UNLOCK_PASSPHRASE, status = 204) =>
  expect(status, coffer.call('POST', '/unlock', { json: { passphrase } }))

const fingerprintOf = (server: RealServer): string =>
  `sha-256:${new X509Certificate(readFileSync(join(dirname(server.file), 'server.pem'))).fingerprint256}`

for (const kind of KINDS) {
  const options = { ...needsServer(kind), timeout: TIMEOUT_MS }

  test(
    `${kind} gets all lines over a restart, a lock and a kill, and lines of a Locked appliance`,
    options,
    async (t) => {
      const ca = createClusterCa(t)
      const server = await createServer(t, kind, ca)
      await server.start()
      const data = makeDataDirectory(t)
      let coffer = await openWhole(t, ca, data)
      await forwardTo(coffer, server)
      let signing = signContinuously(coffer)
      await until(coffer, ({ confirmed }) => confirmed > 20)

      await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
      await unlock(coffer, 'a wrong unlock passphrase', 403)
      await arrives(server, /"action":"POST \/unlock".*"result":403/)
      await unlock(coffer)
      await until(coffer, ({ state }) => state === 'connected')
      await signing.stop()

      assert.equal(await coffer.stop(), 0)
      coffer = await start(t, data)
      await unlock(coffer)
      signing = signContinuously(coffer)
      await until(coffer, ({ state }) => state === 'connected')
      await wait(1500)
      await coffer.kill(true)
      coffer = await start(t, data)
      await unlock(coffer)
      const { problems, lines, head } = await verifyArrived(coffer, server)
      assert.deepEqual(problems, [])
      assert.equal(lines, head!.sequence)
      // The program is another one now.
      void signing.stop()
    },
  )

  test(
    `${kind} that wants a client's certificate gets one, and one with another fingerprint gets no line`,
    options,
    async (t) => {
      const ca = createClusterCa(t)
      const server = await createServer(t, kind, ca, true)
      await server.start()
      const coffer = await openWhole(t, ca)
      await forwardTo(coffer, server)
      await until(coffer, ({ problem }) => problem !== undefined)
      assert.equal(server.text(), '')
      const tls = (method: string, path: string, more: object) =>
        coffer.call(method, `/config/syslog/tls/${path}`, { as: ADMIN, ...more })
      await expect(204, tls('POST', 'generate', { json: { type: 'EC_P256' } }))
      const request = await expect(200, tls('POST', 'csr.pem', { json: { commonName: 'coffer' } }))
      const body = ca.sign(request.text(), '192.0.2.7')
      await expect(201, tls('PUT', 'cert.pem', { body, type: 'application/x-pem-file' }))
      await until(coffer, ({ state }) => state === 'connected')
      await arrives(server, /"action":"PUT \/config\/syslog\/tls\/cert.pem"/)

      const wrong = fingerprintOf(server).replace(/..$/, (pair) => (pair === '00' ? '01' : '00'))
      await expect(204, coffer.call('PUT', '/config/syslog', { as: ADMIN, json: { fingerprints: [wrong] } }))
      const { problem } = await until(coffer, (status) => status.problem !== undefined)
      assert.match(problem!, /its certificate has none of the fingerprints that are set/)
      const before = server.text()
      await expect(204, coffer.call('PUT', '/config/console', { as: ADMIN, json: { status: 'on' } }))
      await wait(3000)
      assert.equal(server.text(), before)
      const json = { fingerprints: [wrong, fingerprintOf(server)] }
      await expect(204, coffer.call('PUT', '/config/syslog', { as: ADMIN, json }))
      const { problems } = await verifyArrived(coffer, server)
      assert.deepEqual(problems, [])
    },
  )

  test(`${kind} takes messages of 64 KiB`, options, async (t) => {
    const ca = createClusterCa(t)
    const server = await createServer(t, kind, ca)
    await server.start()
    const authorities = new TextEncoder().encode(ca.certificate)
    const { client } = await openProcess(t, { authorities, publicAuthorities: false })
    const writer = createMessageWriter('coffer', createSequence())
    const texts = ['x', 'y', 'z'].map((letter) => letter.repeat(64 * 1024))
    for (const message of texts) writer.entry({ level: 'info', source: 'access', message, timeMs: Date.now() })
    const answer = await client.syslog({
      ...{ host: '127.0.0.1', port: server.port, fingerprints: [], identity: null },
      ...{ frames: writer.toBytes(), timeoutMs: 60_000 },
    })
    assert.deepEqual(answer, { isAuthenticated: kind === 'syslog-ng' }) // rsyslog's GnuTLS does not end TLS
    assert.equal(server.text(), texts.map((text) => `access ${text}\n`).join(''))
  })
}

test('with whenFull refuse a full ring refuses uses until the server is back', {
  ...needsServer('syslog-ng'),
  timeout: TIMEOUT_MS,
}, async (t) => {
  const ca = createClusterCa(t)
  const server = await createServer(t, 'syslog-ng', ca)
  const coffer = await openWhole(t, ca)
  const json = { uses: 1000, whenFull: 'refuse' }
  await expect(204, coffer.call('PUT', '/config/audit', { as: ADMIN, json }))
  await forwardTo(coffer, server)
  const sign = () =>
    coffer.call('POST', '/keys/k/sign', {
      as: 'operator:passphrase of the operator',
      json: { mode: 'EdDSA', message: 'AA==' },
    })
  const signing = signContinuously(coffer)
  for (const deadline = Date.now() + DEADLINE_MS; (await sign()).status !== 503; await wait(100))
    assert.ok(Date.now() < deadline)
  const signed = await signing.stop()
  assert.ok(signed > 900 && signed <= 1064, `${signed}`)
  assert.match((await sign()).text(), /full of uses of keys that have not been exported/)
  await server.start()
  for (const deadline = Date.now() + DEADLINE_MS; (await sign()).status !== 200; await wait(100))
    assert.ok(Date.now() < deadline)
  const { problems, lines, head } = await verifyArrived(coffer, server)
  assert.deepEqual(problems, [])
  assert.equal(lines, head!.sequence)
})
