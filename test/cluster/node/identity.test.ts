/** Members with an identity of their own, beside the port's: contract section 3.6. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import test from 'node:test'
import { type TLSSocket, connect as tlsConnect } from 'node:tls'
import { type ClusterCa, createClusterCa } from '../../support/cluster-ca.ts'
import { fileNeeds } from '../../support/tools.ts'
import {
  BACKUP,
  expect,
  freeAddress,
  join,
  keysAt,
  membersAt,
  networkOf,
  openNode,
  register,
  restart,
  type TestNode,
  unlock,
  until,
} from './rig.ts'

await fileNeeds('etcd', 'openssl')

const LOOPBACK = '127.0.0.1' // where connections within this machine come from
const PEER_PORT = 2380
const PEM = { 'content-type': 'application/x-pem-file' }

const put = ({ rig }: TestNode, path: string, body: string) =>
  rig.call('PUT', path, { as: 'admin', body, headers: PEM })

async function signed({ rig }: TestNode, ca: ClusterCa, owner: string, ...hosts: string[]): Promise<string> {
  const json = { commonName: 'node' }
  const { text } = await expect(200, rig.call('POST', `${owner}/csr.pem`, { as: 'admin', json }))
  return ca.sign(text(), ...hosts)
}

async function certifyMember(node: TestNode, ca: ClusterCa): Promise<void> {
  await expect(204, node.rig.call('POST', '/cluster/tls/generate', { as: 'admin', json: { type: 'EC_P256' } }))
  await expect(201, put(node, '/cluster/tls/cert.pem', await signed(node, ca, '/cluster/tls', node.address, LOOPBACK)))
  await expect(201, put(node, '/cluster/tls/ca.pem', ca.certificate))
}

const openMember = async (t: test.TestContext, ca: ClusterCa): Promise<TestNode> => {
  const node = await openNode(t, ca, { ca: null })
  await certifyMember(node, ca)
  return node
}

const shownAt = async (node: TestNode): Promise<string> => {
  const socket: TLSSocket = tlsConnect({ host: node.address, port: PEER_PORT, rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    return new X509Certificate(socket.getPeerCertificate().raw).toString()
  } finally {
    socket.destroy()
  }
}

const ownCertificate = ({ rig }: TestNode): string =>
  new X509Certificate(rig.appliance.configuration.clusterTls.identity.cert).toString()

for (const [first, second] of [
  ['of the port', 'of its own'],
  ['of its own', 'of the port'],
] as const)
  test(`a node with the identity ${second} joins one with the identity ${first}`, async (t) => {
    const ca = createClusterCa(t)
    const open = (which: string) => (which === 'of its own' ? openMember(t, ca) : openNode(t, ca))
    const [a, b] = [await open(first), await open(second)]
    const ports = [a, b].map(({ rig }) => rig.appliance.tlsIdentity().cert)
    await join(a, b)
    for (const [node, which] of [
      [a, first],
      [b, second],
    ] as const) {
      assert.equal(node.rig.appliance.configuration.clusterTls.isOwn, which === 'of its own', 'it was kept')
      assert.equal(await shownAt(node), ownCertificate(node))
    }
    await b.rig.key('made-there')
    await until('it is there, too', async () => (await keysAt(a)).includes('made-there'))
    assert.deepEqual(
      [a, b].map(({ rig }) => rig.appliance.tlsIdentity().cert),
      ports,
    )
    await restart(b)
    await unlock(b, a.unlockPassphrase)
    await a.rig.key('since')
    await until('it follows', async () => (await keysAt(b)).length === 2)
    assert.equal(await shownAt(b), ownCertificate(b))
  })

test('a member is taken apart from its port, which then takes any certificate and key; etcd hears of the members’ alone', async (t) => {
  const ca = createClusterCa(t)
  const public_ = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca)
  await join(a, b)
  const former = await shownAt(b)
  const foreign = await signed(b, public_, '/config/tls', b.address)
  await expect(412, put(b, '/config/tls/cert.pem', foreign))
  const { starts } = b.etcd
  await expect(201, put(b, '/cluster/tls/cert.pem', await signed(b, ca, '/cluster/tls', b.address, LOOPBACK)))
  await until('its etcd shows the new one', () => b.etcd.starts === starts + 1 && b.etcd.pid !== null)
  await until('it is shown', async () => (await shownAt(b).catch(() => former)) === ownCertificate(b))
  assert.notEqual(ownCertificate(b), former)

  await expect(201, put(b, '/config/tls/cert.pem', foreign))
  await expect(204, b.rig.call('POST', '/config/tls/generate', { as: 'admin', json: { type: 'EC_P256' } }))
  const json = { type: 'EC_P256' }
  await expect(412, b.rig.call('POST', '/cluster/tls/generate', { as: 'admin', json }))
  await expect(412, a.rig.call('POST', '/config/tls/generate', { as: 'admin', json })) // a is in the first state
  assert.equal(b.etcd.starts, starts + 1)
  await until(
    'a change goes through',
    async () => (await b.rig.status('PUT', '/namespaces/n', { as: 'admin' })) === 204,
  )
  assert.equal((await membersAt(a)).length, 2)
})

test('whether a node is fit for members is asked of the members’ certificate, in every place', async (t) => {
  const ca = createClusterCa(t)
  const a = await openNode(t, ca)
  const b = await openNode(t, ca)
  const message = /^The cluster certificate has no subject alternative name/
  const refused = async (call: Promise<{ json(): { message: string } }>) =>
    assert.match((await call).json().message, message)
  const set = async (node: TestNode, ...hosts: string[]) =>
    expect(201, put(node, '/cluster/tls/cert.pem', await signed(node, ca, '/cluster/tls', ...hosts)))

  await set(a, LOOPBACK)
  await refused(expect(412, a.rig.call('POST', '/cluster/members', { as: 'admin', json: { urls: [b.url] } })))
  assert.equal(a.rig.appliance.cluster.node.membership, null)
  await set(a, a.address, LOOPBACK)
  const json = { ...(await register(a, b)), backupPassphrase: BACKUP }
  await set(b, LOOPBACK)
  await refused(expect(412, b.rig.call('POST', '/cluster/join', { as: 'admin', json })))
  assert.equal(b.rig.appliance.cluster.node.membership, null)
  await set(b, b.address, LOOPBACK)
  await expect(204, b.rig.call('POST', '/cluster/join', { as: 'admin', json }))

  const elsewhere = freeAddress()
  await certifyPort(a, ca, elsewhere) // of no use to members
  await refused(expect(412, a.rig.call('PUT', '/config/network', { as: 'admin', json: networkOf(elsewhere) })))
  const { id } = (await membersAt(a)).find(({ urls }) => urls.includes(a.url))!
  const urls = [`https://${elsewhere}:2380`]
  await refused(expect(412, a.rig.call('PUT', `/cluster/members/${id}`, { as: 'admin', json: { urls } })))
  await refused(expect(412, put(a, '/cluster/tls/cert.pem', await signed(a, ca, '/cluster/tls', elsewhere))))
  assert.deepEqual((await membersAt(a)).find((member) => member.id === id)?.urls, [a.url])
})

const certifyPort = async (node: TestNode, ca: ClusterCa, host: string) =>
  expect(201, put(node, '/config/tls/cert.pem', await signed(node, ca, '/config/tls', host)))
