/** Certificates that Coffer makes itself name what clients reach its ports by: contract sections 2 and 3.4. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import { describe, it, type TestContext } from 'node:test'
import { reachNames } from '../../firmware/certificate-names.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { fingerprintOf, isFor, isSelfMade, makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { operationalRig } from '../support/in-process.ts'
import { fileNeeds } from '../support/tools.ts'
import { Workshop } from './authority.ts'

await fileNeeds('openssl')

const NETWORK = { ipAddress: '192.0.2.7', netmask: '255.255.255.0', gateway: '0.0.0.0' }
const LOOPBACK = ['localhost', 'IP:127.0.0.1', 'IP:::1']

const alternatives = (cert: string) =>
  (new X509Certificate(cert).subjectAltName ?? '').split(', ').filter((name) => name !== '')

async function tlsOf(t: TestContext) {
  const rig = await operationalRig(t)
  return { rig, tls: rig.appliance.configuration.tls }
}

describe('Names that clients reach a port by', () => {
  it('are those of the machine itself, and the address that is listened on', () => {
    assert.deepEqual(reachNames({ host: '127.0.0.1', network: NETWORK, chatHost: null }), LOOPBACK)
    assert.deepEqual(reachNames({ host: '192.0.2.9', network: NETWORK, chatHost: 'chat.example.org' }), [
      ...LOOPBACK,
      'chat.example.org',
      'IP:192.0.2.9',
    ])
    assert.deepEqual(reachNames({ host: 'localhost', network: null, chatHost: '2001:db8::5' }), [
      ...LOOPBACK,
      'IP:2001:db8::5',
    ])
  })

  it('are all addresses of the machine where all are listened on, those without a zone of their own', () => {
    const own = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal, address }) => !internal && !address.startsWith('fe80') && !address.startsWith('169.254.'))
      .map(({ address }) => `IP:${address}`)
    const ipv6 = { cidr: '2001:db8::7/64', gateway: null }
    for (const host of ['0.0.0.0', '::']) {
      const names = reachNames({ host, network: { ...NETWORK, ipv6 }, chatHost: null })
      for (const name of [...LOOPBACK, 'IP:192.0.2.7', 'IP:2001:db8::7', ...own]) assert.ok(names.includes(name), name)
    }
  })
})

describe('A certificate that Coffer has made itself', () => {
  it('has them all, and is known as its own', async () => {
    const names = [...LOOPBACK, 'chat.example.org', 'IP:192.0.2.7']
    const identity = await makeTlsIdentity(systemRandom, undefined, names)
    assert.deepEqual(alternatives(identity.cert), [
      'DNS:localhost',
      'IP Address:127.0.0.1',
      'IP Address:0:0:0:0:0:0:0:1',
      'DNS:chat.example.org',
      'IP Address:192.0.2.7',
    ])
    assert.ok(isFor(identity, names))
    for (const name of ['IP:192.0.2.8', 'example.org', 'coffer']) assert.ok(!isFor(identity, [name]), name)
    assert.ok(isSelfMade(identity))
  })

  it('is made anew for the same key when one is missing, is stored, and stays when none is', async (t) => {
    const { rig, tls } = await tlsOf(t)
    const told: string[] = []
    rig.appliance.configuration.onChange((part) => void told.push(part))
    const before = tls.identity.cert
    const pin = fingerprintOf(tls.identity)
    tls.names = [...LOOPBACK, 'chat.example.org']
    await tls.keepNames()
    const { cert } = tls.identity
    assert.notEqual(cert, before)
    assert.equal(fingerprintOf(tls.identity), pin)
    assert.ok(isFor(tls.identity, tls.names))
    assert.deepEqual(told, ['tls'])
    await tls.keepNames()
    tls.names = LOOPBACK
    await tls.keepNames()
    assert.equal(tls.identity.cert, cert)
    assert.deepEqual(told, ['tls'])
    tls.reload()
    assert.equal(tls.identity.cert, cert)
  })

  it('has them with another key, too, of each kind that an Administrator may ask for', async (t) => {
    const { tls } = await tlsOf(t)
    for (const [type, bits] of [['EC_P384'], ['RSA', 2048]] as const) {
      tls.names = [...LOOPBACK]
      await tls.generate(type, bits)
      assert.ok(isFor(tls.identity, LOOPBACK), type)
      const pin = fingerprintOf(tls.identity)
      tls.names = [...LOOPBACK, `${type.replace('_', '-')}.example.org`]
      await tls.keepNames()
      assert.ok(isFor(tls.identity, tls.names), type)
      assert.equal(fingerprintOf(tls.identity), pin)
    }
  })
})

describe('A certificate that an Administrator has set', () => {
  it('is never replaced, self-signed ones included', async (t) => {
    const { rig, tls } = await tlsOf(t)
    const workshop = new Workshop()
    t.after(() => workshop.remove())
    const request = await rig.call('POST', '/config/tls/csr.pem', { as: 'admin', json: { commonName: 'coffer' } })
    const root = workshop.root('root')
    const { pem } = workshop.issue({ name: 'coffer', csr: request.text(), issuer: root, extensions: [] })
    const headers = { 'content-type': 'application/x-pem-file' }
    const { status } = await rig.call('PUT', '/config/tls/cert.pem', { as: 'admin', body: pem, headers })
    assert.equal(status, 201)
    const { cert } = tls.identity
    tls.names = [...LOOPBACK, 'chat.example.org']
    await tls.keepNames()
    assert.equal(tls.identity.cert, cert)
    assert.ok(!isSelfMade({ ...tls.identity, cert: root.pem }))
  })
})
