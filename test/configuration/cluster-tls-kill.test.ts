// @test long 60
/** Killed at any moment of a change, an appliance has the members' identity of before or the new one, whole. Contract section 3.6. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { cpSync } from 'node:fs'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, expect, provision, stateOf } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { fileNeeds } from '../support/tools.ts'
import { type Issued, Workshop } from './authority.ts'

await fileNeeds('openssl')

const KILLS = 10 // of each change
const PEM = 'application/x-pem-file'

let program: string
let workshop: Workshop
let root: Issued
before(async () => {
  program = await buildForTests()
  workshop = new Workshop()
  root = workshop.root('root')
})
after(() => workshop.remove())

const start = (t: TestContext, data: string) => startCoffer(t, { program, data, settings: { COFFER_LOG: 'warning' } })

const read = async (coffer: Coffer, path: string): Promise<string> =>
  (await expect(200, coffer.call('GET', path, { as: ADMIN }))).text()

async function chainFor(coffer: Coffer): Promise<string> {
  const json = { commonName: 'box.example' }
  const csr = (await expect(200, coffer.call('POST', '/cluster/tls/csr.pem', { as: ADMIN, json }))).text()
  return workshop.issue({ name: 'box', csr, issuer: root }).pem
}

const put = (coffer: Coffer, body: string) =>
  coffer.call('PUT', '/cluster/tls/cert.pem', { as: ADMIN, body, type: PEM }).then(
    ({ status }) => status,
    () => null,
  )

async function shown(coffer: Coffer): Promise<string> {
  const [cert, key] = [await read(coffer, '/cluster/tls/cert.pem'), await read(coffer, '/cluster/tls/public.pem')]
  assert.equal(new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'pem' }), key)
  return cert
}

/** Kills it within `change`; the status that was answered by then. */
async function killedWithin(coffer: Coffer, change: () => Promise<number | null>, windowMs: number) {
  const answer = change()
  await wait(Math.random() * windowMs)
  await coffer.kill(true)
  return answer
}

test(`${KILLS} kills while the identity of the port is left, and as many while a certificate replaces another`, async (t) => {
  const template = makeDataDirectory(t)
  const first = start(t, template)
  await stateOf(first)
  await provision(first)
  await expect(204, first.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
  const ofPort = await read(first, '/config/tls/cert.pem')
  const chains = [await chainFor(first), await chainFor(first)]
  assert.equal(await first.stop(), 0)

  const seen = { old: 0, new: 0, unanswered: 0 }
  let windowMs = 100 // follows the load of the machine, so that both outcomes are met
  for (let kill = 0; kill < KILLS; kill++) {
    const data = makeDataDirectory(t)
    cpSync(template, data, { recursive: true })
    let current = ofPort
    for (const chain of chains) {
      const coffer = start(t, data)
      assert.equal(await stateOf(coffer), 'Operational')
      await shown(coffer) // its tables are computed
      const status = await killedWithin(coffer, () => put(coffer, chain), windowMs)
      const again = start(t, data)
      assert.equal(await stateOf(again), 'Operational')
      const now = await shown(again)
      assert.ok(now === chain || now === current, 'neither the old nor the new one')
      assert.ok(status === null || (status === 201 && now === chain), `answered ${status}`)
      assert.equal(await read(again, '/config/tls/cert.pem'), ofPort)
      seen[now === chain ? 'new' : 'old']++
      if (status === null) seen.unanswered++
      windowMs *= now === chain ? 0.8 : 1.25
      current = now
      await again.kill(true)
    }
  }
  t.diagnostic(JSON.stringify(seen))
  // The control: the kills hit changes under way, some before and some after the moment that counts.
  assert.ok(seen.old > 0 && seen.new > 0 && seen.unanswered > 0, JSON.stringify(seen))
})
