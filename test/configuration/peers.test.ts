/** Which TLS certificate members of a cluster can show each other: contract section 3.6. */

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { operationalRig, type Rig } from '../support/in-process.ts'
import { fileNeeds } from '../support/tools.ts'
import { type Issued, Workshop } from './authority.ts'

await fileNeeds('openssl')

const SAN = 'subjectAltName=IP:192.0.2.1,IP:2001:db8::1,DNS:box.example'
const HOSTS = ['192.0.2.1', '2001:db8::1', 'box.example']

const refusedWith = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CofferError, String(error))
  assert.equal(error.code, 'unavailable')
  assert.match(error.message, message)
  return true
}

async function prepare(t: TestContext): Promise<{ rig: Rig; workshop: Workshop; root: Issued }> {
  const rig = await operationalRig(t)
  const workshop = new Workshop()
  t.after(() => workshop.remove())
  return { rig, workshop, root: workshop.root('root') }
}

async function put(rig: Rig, path: string, body: string): Promise<void> {
  const headers = { 'content-type': 'application/x-pem-file' }
  const { status, text } = await rig.call('PUT', `/config/tls/${path}`, { as: 'admin', body, headers })
  assert.equal(status, 201, text())
}

const requestOf = async (rig: Rig): Promise<string> =>
  (await rig.call('POST', '/config/tls/csr.pem', { as: 'admin', json: { commonName: 'box.example' } })).text()

test('it is signed by the authority of the cluster, and names the host', async (t) => {
  const { rig, workshop, root } = await prepare(t)
  const { peers } = rig.appliance.configuration
  for (const ask of [() => peers.identity(), () => peers.assertFit('192.0.2.1')])
    assert.throws(ask, refusedWith(/^No cluster CA is set$/))
  const csr = await requestOf(rig)
  const { pem } = workshop.issue({ name: 'box', csr, issuer: root, extensions: [SAN] })
  await put(rig, 'cert.pem', pem)
  await put(rig, 'cluster-ca.pem', root.pem)
  for (const host of HOSTS) peers.assertFit(host)
  for (const host of ['192.0.2.2', 'other.example', '2001:db8::2'])
    assert.throws(() => peers.assertFit(host), refusedWith(new RegExp(`alternative name ${host}$`)))

  const { certificate, key, authority } = peers.identity()
  assert.equal(certificate, pem)
  assert.equal(authority, root.pem)
  assert.deepEqual(key, Uint8Array.from(rig.appliance.tlsIdentity().key))
  key.fill(0)
  assert.ok(
    rig.appliance.tlsIdentity().key.some((byte) => byte !== 0),
    'a copy was given',
  )
})

test('it is for clients as for servers, where it says what it is for', async (t) => {
  const { rig, workshop, root } = await prepare(t)
  const { peers } = rig.appliance.configuration
  const csr = await requestOf(rig)
  const issue = (use: string) =>
    workshop.issue({ name: 'box', csr, issuer: root, extensions: [SAN, `extendedKeyUsage=${use}`] }).pem
  await put(rig, 'cert.pem', issue('serverAuth,clientAuth'))
  await put(rig, 'cluster-ca.pem', root.pem)
  peers.assertFit('192.0.2.1')
  await put(rig, 'cert.pem', issue('serverAuth'))
  assert.throws(() => peers.assertFit('192.0.2.1'), refusedWith(/not for clients/))
  await put(rig, 'cert.pem', issue('clientAuth'))
  assert.throws(() => peers.assertFit('192.0.2.1'), refusedWith(/not for servers/))
})

test('its key is on a curve that others know', async (t) => {
  const { rig, workshop, root } = await prepare(t)
  const { peers } = rig.appliance.configuration
  assert.equal(await rig.status('POST', '/config/tls/generate', { as: 'admin', json: { type: 'BrainpoolP256' } }), 204)
  const csr = await requestOf(rig)
  await put(rig, 'cert.pem', workshop.issue({ name: 'box', csr, issuer: root, extensions: [SAN] }).pem)
  await put(rig, 'cluster-ca.pem', root.pem)
  assert.throws(() => peers.assertFit('192.0.2.1'), refusedWith(/Brainpool/))
})

test('while others know this node by it, its authority stays, and no certificate takes its place that they would refuse', async (t) => {
  const { rig, workshop, root } = await prepare(t)
  const csr = await requestOf(rig)
  const issue = (extensions: string[]) => workshop.issue({ name: 'box', csr, issuer: root, extensions }).pem
  const pem = issue([SAN])
  await put(rig, 'cert.pem', pem)
  await put(rig, 'cluster-ca.pem', root.pem)
  rig.appliance.configuration.peers.host = '192.0.2.1'
  const headers = { 'content-type': 'application/x-pem-file' }
  for (const [path, body] of [
    ['cluster-ca.pem', root.pem],
    ['cert.pem', issue(['subjectAltName=IP:192.0.2.2'])],
    ['cert.pem', issue([SAN, 'extendedKeyUsage=serverAuth'])],
  ])
    assert.equal(await rig.status('PUT', `/config/tls/${path}`, { as: 'admin', body: body!, headers }), 412)
  assert.equal(rig.appliance.configuration.tls.identity.cert, pem)
  await put(rig, 'cert.pem', issue([SAN, 'extendedKeyUsage=clientAuth,serverAuth']))
})

test('a node that becomes a member while a certificate is tried does not get one that the others would refuse', async (t) => {
  const { rig, workshop, root } = await prepare(t)
  const { peers } = rig.appliance.configuration
  const csr = await requestOf(rig)
  const issue = (extension: string) => workshop.issue({ name: 'box', csr, issuer: root, extensions: [extension] }).pem
  await put(rig, 'cert.pem', issue(SAN))
  await put(rig, 'cluster-ca.pem', root.pem)
  const trying = rig.appliance.configuration.tls.setCertificates(Buffer.from(issue('subjectAltName=IP:192.0.2.2')))
  const refused = assert.rejects(trying, refusedWith(/alternative name 192\.0\.2\.1$/))
  await new Promise(setImmediate)
  peers.host = '192.0.2.1'
  await refused
  peers.assertFit('192.0.2.1')
})
