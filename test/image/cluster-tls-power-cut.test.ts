// @test device 120
/**
 * The plug is pulled at each write of changes of a node's cluster key, certificate and CA: the device has the old ones or the new ones,
 * whole, and every answered one. Contract section 3.6.
 */

import assert from 'node:assert/strict'
import { createPublicKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { CLUSTER_CA } from '../../firmware/store/device-area.ts'
import { type Issued, Workshop } from '../configuration/authority.ts'
import { ADMIN, expect } from '../support/appliance.ts'
import { type Appliance, onMachines } from '../support/machine.ts'
import { buildImage } from './images.ts'
import { cutPower, record } from './power-cuts.ts'

const ROUNDS = 3
const timeoutMs = 180_000 // on a busy computer
const PEM = 'application/x-pem-file'

/** Times are lengths of the log of writes; `state` is read once it is answered. */
interface Change {
  name: string
  asked: number
  answered: number
  state: string
}

interface State {
  cert: string
  key: string
  ca: string | null
}

test('at each write of a change the identity of members is the old one or the new one', onMachines(), async (t) => {
  const workshop = new Workshop()
  t.after(() => workshop.remove())
  const root = workshop.root('root')
  const recording = await record(t, await buildImage(), (appliance, position) =>
    change(appliance, position, workshop, root),
  )
  const changes = recording.result
  const seen = { before: 0, after: 0 }
  const bad = await cutPower(t, recording, 'after each write', ({ configuration, deviceRecords }, cutAt) => {
    const { cert, key } = configuration.clusterTls.identity
    const publicKey = createPublicKey(Buffer.from(key)).export({ type: 'spki', format: 'pem' }) as string
    if (new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'pem' }) !== publicKey)
      return 'the certificate is not for the key'
    const ca = deviceRecords.read('reading it', (area) => area.get(CLUSTER_CA)) ?? null
    const state = asText({ cert, key: publicKey, ca: ca && Buffer.from(ca).toString() })
    const last = changes.findLastIndex(({ answered }) => answered <= cutAt)
    if (last === -1) return null
    const next = changes[last + 1]
    if (next !== undefined && next.asked <= cutAt) {
      if (state === next.state) {
        seen.after++
        return null
      }
      if (state === changes[last]!.state) seen.before++
    }
    return state === changes[last]!.state ? null : `after ${changes[last]!.name}, which was answered`
  })
  t.diagnostic(JSON.stringify(seen))
  assert.deepEqual(bad, [])
  // The control: cuts hit changes that were not answered, some before and some after the moment that counts.
  assert.ok(seen.before > changes.length && seen.after > 0, JSON.stringify(seen))
})

async function change(
  appliance: Appliance,
  position: () => number,
  workshop: Workshop,
  root: Issued,
): Promise<Change[]> {
  const get = async (path: string): Promise<string | null> => {
    const answer = await appliance.call('GET', `/cluster/tls/${path}`, { as: ADMIN, timeoutMs })
    if (answer.status === 404) return null
    assert.equal(answer.status, 200)
    return answer.text()
  }
  const state = async () =>
    asText({ cert: (await get('cert.pem'))!, key: (await get('public.pem'))!, ca: await get('ca.pem') })
  const issue = async (owner = '/cluster/tls'): Promise<string> => {
    const json = { commonName: 'box.example' }
    const csr = await expect(200, appliance.call('POST', `${owner}/csr.pem`, { as: ADMIN, json, timeoutMs }))
    return workshop.issue({ name: 'box', csr: csr.text(), issuer: root }).pem
  }

  // A certificate that was put: the device renews its own one for each name that it learns.
  const certificate = { as: ADMIN, body: await issue('/config/tls'), type: PEM, timeoutMs }
  await expect(201, appliance.call('PUT', '/config/tls/cert.pem', certificate))
  const first = await state()
  const changes: Change[] = [{ name: 'the start', asked: 0, answered: position(), state: first }]
  const made = async (name: string, ask: () => ReturnType<Appliance['call']>): Promise<void> => {
    const asked = position()
    const { status, text } = await ask()
    assert.ok(status === 201 || status === 204, text())
    const answered = position()
    changes.push({ name, asked, answered, state: await state() })
    assert.notEqual(changes.at(-1)!.state, changes.at(-2)!.state)
  }
  const put = (path: string, body: string) =>
    made(`PUT ${path}`, () => appliance.call('PUT', `/cluster/tls/${path}`, { as: ADMIN, body, type: PEM, timeoutMs }))

  await put('cert.pem', await issue()) // takes the key of the port along
  for (let round = 0; round < ROUNDS; round++) {
    const json = { type: 'EC_P256' }
    await made('generate', () => appliance.call('POST', '/cluster/tls/generate', { as: ADMIN, json, timeoutMs }))
    await put('cert.pem', await issue())
  }
  await put('ca.pem', root.pem)
  for (let round = 0; round < ROUNDS; round++) {
    await put('cert.pem', await issue())
    await put('ca.pem', renewed(workshop, root, round))
  }
  return changes
}

/** A certificate of the same authority and key. */
function renewed(workshop: Workshop, root: Issued, round: number): string {
  const path = workshop.file(`renewed-${round}.pem`, '')
  const dates = ['-days', String(3650 + round)]
  workshop.openssl(['x509', '-in', root.certPath, '-signkey', root.keyPath, ...dates, '-out', path])
  return readFileSync(path, 'utf8')
}

const asText = (state: State): string => JSON.stringify(state)
