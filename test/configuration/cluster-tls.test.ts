/** `/cluster/tls` without a cluster: the identity of the port until there is another, and each refusal. Contract section 3.6. */

import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import { CLUSTER_CA, CLUSTER_TLS_IDENTITY, TLS_IDENTITY } from '../../firmware/store/device-area.ts'
import type { Reply } from '../support/client.ts'
import { makeOperationalRig, makeRig, operationalRig, type Rig, UNLOCK } from '../support/in-process.ts'
import { fileNeeds } from '../support/tools.ts'
import { type Issued, Workshop } from './authority.ts'

await fileNeeds('openssl')

const PEM = 'application/x-pem-file'
const [PORT, MEMBER] = ['/config/tls', '/cluster/tls']
const SAN = 'subjectAltName=IP:192.0.2.1'
const DEVICE_KEY = new Uint8Array(32).fill(7)

interface Scene {
  rig: Rig
  root: Issued
  workshop: Workshop
}

async function prepare(t: TestContext, own?: Rig): Promise<Scene> {
  const rig = own ?? (await operationalRig(t))
  const workshop = new Workshop()
  t.after(() => workshop.remove())
  return { rig, workshop, root: workshop.root('root') }
}

const put = (rig: Rig, path: string, body: string, type = PEM): Promise<Reply> =>
  rig.call('PUT', path, { as: 'admin', body, headers: { 'content-type': type } })

const generate = (rig: Rig, owner: string, json: object = { type: 'EC_P256' }): Promise<number> =>
  rig.status('POST', `${owner}/generate`, { as: 'admin', json })

async function get(rig: Rig, path: string): Promise<string> {
  const { status, text, headers } = await rig.call('GET', path, { as: 'admin' })
  assert.equal(status, 200, text())
  assert.equal(headers['content-type'], PEM)
  return text()
}

const keyAndChain = async (rig: Rig, owner: string) => [
  await get(rig, `${owner}/public.pem`),
  await get(rig, `${owner}/cert.pem`),
]

/** A certificate of `issuer` for the key that signs requests at `of`. */
async function issue({ rig, workshop }: Scene, owner: string, issuer: Issued, extensions = [SAN]): Promise<string> {
  const json = { commonName: 'box.example' }
  const { status, text, headers } = await rig.call('POST', `${owner}/csr.pem`, { as: 'admin', json })
  assert.equal(status, 200, text())
  assert.equal(headers['cache-control'], 'no-cache')
  return workshop.issue({ name: 'box', csr: text(), issuer, extensions }).pem
}

const stored = (rig: Rig) =>
  [TLS_IDENTITY, CLUSTER_TLS_IDENTITY, CLUSTER_CA].map((name) => {
    const bytes = rig.appliance.deviceRecords.read('reading it', (area) => area.get(name))
    return bytes === null ? null : Buffer.from(bytes!).toString('base64')
  })

const isOwn = (rig: Rig): boolean => rig.appliance.configuration.clusterTls.isOwn

async function refused(rig: Rig, expected: number, message: RegExp, call: () => Promise<Reply>): Promise<void> {
  const before = stored(rig)
  const identities = [await keyAndChain(rig, PORT), await keyAndChain(rig, MEMBER)]
  const { status, text, json } = await call()
  assert.equal(status, expected, text())
  assert.match(json().message, message)
  assert.deepEqual(stored(rig), before)
  assert.deepEqual([await keyAndChain(rig, PORT), await keyAndChain(rig, MEMBER)], identities)
}

async function setAuthority(scene: Scene): Promise<void> {
  const { rig, root } = scene
  assert.equal((await put(rig, `${PORT}/cert.pem`, await issue(scene, PORT, root))).status, 201)
  assert.equal((await put(rig, `${MEMBER}/ca.pem`, root.pem)).status, 201)
}

/** The second state: an own identity under an own authority, and a port that knows nothing of it. */
async function setOwn(scene: Scene): Promise<void> {
  const { rig, root } = scene
  assert.equal(await generate(rig, MEMBER), 204)
  assert.equal((await put(rig, `${MEMBER}/cert.pem`, await issue(scene, MEMBER, root))).status, 201)
  assert.equal((await put(rig, `${MEMBER}/ca.pem`, root.pem)).status, 201)
}

test('until something is written members show the identity of the port, and reading writes nothing', async (t) => {
  const scene = await prepare(t)
  const { rig, workshop } = scene
  for (let n = 0; n < 2; n++) {
    assert.deepEqual(await keyAndChain(rig, MEMBER), await keyAndChain(rig, PORT))
    const pem = await issue(scene, MEMBER, workshop.root('any'))
    assert.equal(
      new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'pem' }),
      await get(rig, `${PORT}/public.pem`),
    )
    assert.equal(stored(rig)[1], null)
    assert.ok(!isOwn(rig))
    assert.equal(await generate(rig, PORT), 204)
  }
})

test('a chain that is put takes a copy of the key of the port along: from then on either changes without the other', async (t) => {
  const scene = await prepare(t)
  const { rig, root, workshop } = scene
  const portCertificate = await get(rig, `${PORT}/cert.pem`)
  const publicPem = await get(rig, `${PORT}/public.pem`)
  const pem = await issue(scene, MEMBER, root)
  const answer = await put(rig, `${MEMBER}/cert.pem`, pem)
  assert.deepEqual([answer.status, answer.text(), answer.headers.location], [201, '', '/api/v1/cluster/tls/cert.pem'])
  assert.ok(rig.entries.some(({ message }) => /cluster certificate set by admin$/.test(message)))
  assert.deepEqual(await keyAndChain(rig, MEMBER), [publicPem, pem])
  assert.equal(await get(rig, `${PORT}/cert.pem`), portCertificate)
  assert.equal((await put(rig, `${MEMBER}/ca.pem`, root.pem)).status, 201)

  // The port is bound by nothing any more.
  assert.equal((await put(rig, `${PORT}/cert.pem`, await issue(scene, PORT, workshop.root('public')))).status, 201)
  const former = rig.appliance.tlsIdentity().key
  assert.equal(await generate(rig, PORT), 204)
  assert.ok(former.every((byte) => byte === 0))
  assert.deepEqual(await keyAndChain(rig, MEMBER), [publicPem, pem])
  const { cert, key } = rig.appliance.configuration.clusterTls.identity
  assert.ok(new X509Certificate(cert).checkPrivateKey(createPrivateKey(Buffer.from(key))))

  const portKey = await get(rig, `${PORT}/public.pem`)
  assert.equal((await put(rig, `${MEMBER}/cert.pem`, await issue(scene, MEMBER, root))).status, 201)
  assert.equal(await get(rig, `${MEMBER}/public.pem`), publicPem)
  assert.equal(await get(rig, `${PORT}/public.pem`), portKey)
})

test('a key that is made is for members alone, and replaces one of them', async (t) => {
  const { rig } = await prepare(t)
  const port = await keyAndChain(rig, PORT)
  assert.equal(await generate(rig, MEMBER, { type: 'RSA', length: 2048 }), 204)
  const first = rig.appliance.configuration.clusterTls.identity
  assert.ok(rig.entries.some(({ message }) => /cluster key of type RSA generated by admin$/.test(message)))
  assert.equal(new X509Certificate(first.cert).publicKey.asymmetricKeyDetails?.modulusLength, 2048)
  assert.equal(await generate(rig, MEMBER, { type: 'EC_P384' }), 204)
  assert.ok(first.key.every((byte) => byte === 0))
  assert.notEqual(await get(rig, `${MEMBER}/cert.pem`), first.cert)
  assert.deepEqual(await keyAndChain(rig, PORT), port)
  for (const json of [{ type: 'RSA', length: 1024 }, { type: 'EC_P256K1' }, {}])
    assert.equal(await generate(rig, MEMBER, json), 400)
})

test('etags change with what they stand for, and conditions are judged by them', async (t) => {
  const scene = await prepare(t)
  const { rig, root } = scene
  const etag = async (path: string) => (await rig.call('GET', `${MEMBER}/${path}`, { as: 'admin' })).headers.etag!
  const [cert, key] = [await etag('cert.pem'), await etag('public.pem')]
  const body = await issue(scene, MEMBER, root)
  const conditional = (ifMatch: string) =>
    rig.status('PUT', `${MEMBER}/cert.pem`, {
      ...{ as: 'admin', body },
      headers: { 'content-type': PEM, 'if-match': ifMatch },
    })
  assert.equal(await conditional('"another"'), 412)
  assert.equal(await conditional(cert), 201)
  assert.notEqual(await etag('cert.pem'), cert)
  assert.equal(await etag('public.pem'), key)
  assert.equal(await generate(rig, MEMBER), 204)
  assert.notEqual(await etag('public.pem'), key)
})

test('bad input is 400, another type 415, and neither is stored', async (t) => {
  const scene = await prepare(t)
  const { rig, root, workshop } = scene
  for (const prepareState of [async () => {}, () => generate(rig, MEMBER)]) {
    await prepareState()
    const pem = await issue(scene, MEMBER, root)
    const foreign = workshop.issue({ name: 'foreign', issuer: root }).pem
    for (const body of ['', 'nonsense', pem + pem, root.pem + pem, pem.slice(0, -40)])
      await refused(rig, 400, /./, () => put(rig, `${MEMBER}/cert.pem`, body))
    await refused(rig, 400, /not for the cluster key$/, () => put(rig, `${MEMBER}/cert.pem`, foreign))
    for (const path of ['cert.pem', 'ca.pem'])
      await refused(rig, 415, /./, () => put(rig, `${MEMBER}/${path}`, pem, 'text/plain'))
  }
})

test('while members show the identity of the port the authority binds both', async (t) => {
  const scene = await prepare(t)
  const { rig, root, workshop } = scene
  await refused(rig, 412, /^The TLS certificate is not signed by the cluster CA$/, () =>
    put(rig, `${MEMBER}/ca.pem`, root.pem),
  )
  await setAuthority(scene)
  const stranger = await issue(scene, PORT, workshop.root('stranger'))
  await refused(rig, 412, /^The TLS certificate is not signed/, () => put(rig, `${PORT}/cert.pem`, stranger))
  await refused(rig, 412, /^The cluster certificate is not signed/, () => put(rig, `${MEMBER}/cert.pem`, stranger))
  for (const owner of [PORT, MEMBER])
    await refused(rig, 412, /^A cluster CA is set/, () =>
      rig.call('POST', `${owner}/generate`, { as: 'admin', json: { type: 'EC_P256' } }),
    )
  assert.ok(!isOwn(rig))
})

test('an identity of its own is bound by the authority, and the port is not', async (t) => {
  const scene = await prepare(t)
  const { rig, root, workshop } = scene
  assert.equal(await generate(rig, MEMBER), 204)
  assert.equal((await put(rig, `${PORT}/cert.pem`, await issue(scene, PORT, root))).status, 201)
  await refused(rig, 412, /^The cluster certificate is not signed/, () => put(rig, `${MEMBER}/ca.pem`, root.pem))
  await setOwn(scene)
  const stranger = workshop.root('stranger')
  const unsigned = await issue(scene, MEMBER, stranger)
  await refused(rig, 412, /^The cluster certificate is not signed/, () => put(rig, `${MEMBER}/cert.pem`, unsigned))
  await refused(rig, 412, /^A cluster CA is set/, () =>
    rig.call('POST', `${MEMBER}/generate`, { as: 'admin', json: { type: 'EC_P256' } }),
  )
  assert.equal((await put(rig, `${PORT}/cert.pem`, await issue(scene, PORT, stranger))).status, 201)
  assert.equal(await generate(rig, PORT), 204)
})

test('in a cluster the certificate that members show must be fit, and the authority stays', async (t) => {
  const scene = await prepare(t)
  const { rig, root, workshop } = scene
  const { peers } = rig.appliance.configuration
  await setAuthority(scene)
  peers.host = '192.0.2.1'
  const unfit = [['subjectAltName=IP:192.0.2.2'], [SAN, 'extendedKeyUsage=serverAuth']]
  for (const extensions of unfit) {
    const pem = await issue(scene, PORT, root, extensions)
    await refused(rig, 412, /^The TLS certificate (has no|is not for)/, () => put(rig, `${PORT}/cert.pem`, pem))
    await refused(rig, 412, /^The cluster certificate (has no|is not for)/, () => put(rig, `${MEMBER}/cert.pem`, pem))
  }
  const inCluster = /^This node is in a cluster/
  await refused(rig, 412, inCluster, () => put(rig, `${MEMBER}/ca.pem`, root.pem))
  assert.equal((await put(rig, `${MEMBER}/cert.pem`, await issue(scene, MEMBER, root))).status, 201)
  for (const extensions of unfit) {
    const pem = await issue(scene, MEMBER, root, extensions)
    await refused(rig, 412, /^The cluster certificate (has no|is not for)/, () => put(rig, `${MEMBER}/cert.pem`, pem))
    assert.equal((await put(rig, `${PORT}/cert.pem`, await issue(scene, PORT, root, extensions))).status, 201)
  }
  await refused(rig, 412, inCluster, () => put(rig, `${MEMBER}/ca.pem`, root.pem))
  await refused(rig, 412, inCluster, () => put(rig, `${PORT}/cluster-ca.pem`, root.pem))
  assert.equal((await put(rig, `${PORT}/cert.pem`, await issue(scene, PORT, workshop.root('public')))).status, 201)
  peers.assertFit('192.0.2.1')
  assert.equal(peers.identity().certificate, await get(rig, `${MEMBER}/cert.pem`))
})

test('a node whose own members’ certificate is unfit neither joins nor begins a cluster, whatever the port has', async (t) => {
  const scene = await prepare(t)
  const { rig, root } = scene
  const { peers } = rig.appliance.configuration
  await setAuthority(scene)
  peers.assertFit('192.0.2.1')
  const other = await issue(scene, MEMBER, root, ['subjectAltName=IP:192.0.2.9'])
  assert.equal((await put(rig, `${MEMBER}/cert.pem`, other)).status, 201)
  assert.throws(
    () => peers.assertFit('192.0.2.1'),
    /^CofferError: The cluster certificate has no subject alternative name 192/,
  )
  peers.assertFit('192.0.2.9')
})

test('it is there after a restart, also while Locked', async (t) => {
  const scene = await prepare(t, await makeOperationalRig())
  const { rig } = scene
  await setOwn(scene)
  const before = await keyAndChain(rig, MEMBER)
  const { dataDirectory } = rig
  await rig.pool.close()
  await rig.appliance.close()
  const again = await makeRig(DEVICE_KEY, undefined, { dataDirectory })
  t.after(() => again.close())
  assert.equal(again.appliance.state, 'Locked')
  assert.equal(again.appliance.configuration.peers.identity().certificate, before[1])
  assert.equal((await again.call('POST', '/unlock', { json: { passphrase: UNLOCK } })).status, 204)
  assert.deepEqual(await keyAndChain(again, MEMBER), before)
})

test('changes of both at the same time leave whole identities', async (t) => {
  const scene = await prepare(t)
  const { rig, root } = scene
  const pem = await issue(scene, MEMBER, root)
  const changes = [
    () => put(rig, `${MEMBER}/cert.pem`, pem),
    () => rig.call('POST', `${PORT}/generate`, { as: 'admin', json: { type: 'EC_P256' } }),
  ]
  const answers = await Promise.all([...changes, ...changes, ...changes].map((change) => change()))
  for (const { status } of answers) assert.ok([201, 204, 400].includes(status)) // 400: for the key before
  const { tls, clusterTls } = rig.appliance.configuration
  for (const { cert, key } of [tls.identity, clusterTls.identity])
    assert.ok(new X509Certificate(cert).checkPrivateKey(createPrivateKey(Buffer.from(key))))
})

test('a lock while a certificate is tried stores nothing: members go on with the identity of the port', async (t) => {
  const scene = await prepare(t)
  const { rig, root } = scene
  const { clusterTls } = rig.appliance.configuration
  const setting = clusterTls.setCertificates(Buffer.from(await issue(scene, MEMBER, root)))
  const ended = assert.rejects(setting)
  rig.appliance.lock()
  await ended
  assert.ok(!isOwn(rig))
  assert.equal(clusterTls.identity, rig.appliance.tlsIdentity())
  assert.ok(rig.appliance.tlsIdentity().key.some((byte) => byte !== 0))
})
