// @test long 60
/** Whole appliances whose members have certificates of their own: begun so, and taken apart from their ports while they serve. */

import assert from 'node:assert/strict'
import { randomBytes, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import test, { type TestContext } from 'node:test'
import { connect } from 'node:tls'
import { ADMIN, expect } from '../support/appliance.ts'
import { bringIn, type ClusterNode, equip, NEW_PATHS, startCluster, startNodes, until } from '../support/cluster.ts'
import { type ClusterCa, createClusterCa } from '../support/cluster-ca.ts'
import { fileNeeds } from '../support/tools.ts'

await fileNeeds('etcd', 'openssl')

const KEY = 'signing-key'
const OPERATOR = { id: 'operator', passphrase: 'words of an operator' }
const LOOPBACK = '127.0.0.1' // where connections on this machine come from
const PEM = 'application/x-pem-file'

const sign = (node: ClusterNode) => {
  const json = { mode: 'ECDSA', message: randomBytes(32).toString('base64') }
  return expect(200, node.call('POST', `/keys/${KEY}/sign`, { as: `${OPERATOR.id}:${OPERATOR.passphrase}`, json }))
}

async function makeSigner(node: ClusterNode): Promise<void> {
  const user = { realName: 'Operator', role: 'Operator', passphrase: OPERATOR.passphrase }
  await expect(201, node.call('PUT', `/users/${OPERATOR.id}`, { as: ADMIN, json: user }))
  const json = { id: KEY, type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
  await expect(201, node.call('POST', '/keys/generate', { as: ADMIN, json }))
}

const read = async (node: ClusterNode, path: string): Promise<string> =>
  (await expect(200, node.call('GET', path, { as: ADMIN }))).text()

const requestAt = async (node: ClusterNode, path: string): Promise<string> =>
  (await expect(200, node.call('POST', path, { as: ADMIN, json: { commonName: 'node' } }))).text()

const put = (node: ClusterNode, path: string, body: string) => node.call('PUT', path, { as: ADMIN, body, type: PEM })

/** Certificate shown to other members; null while nothing listens. */
async function shownAt(url: URL): Promise<string | null> {
  const socket = connect({ host: url.hostname, port: Number(url.port), rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    return new X509Certificate(socket.getPeerCertificate().raw).toString()
  } catch {
    return null
  } finally {
    socket.destroy()
  }
}

const shownToMembers = ({ peerUrl }: ClusterNode) => shownAt(new URL(peerUrl))
const shownToClients = ({ address }: ClusterNode) => shownAt(new URL(`https://${address}:8443`))
const leafOf = (chain: string): string => new X509Certificate(chain).toString()

const isChangeable = (node: ClusterNode) =>
  until('change', async () => {
    const reply = await node.call('PUT', '/namespaces/any', { as: ADMIN }).catch(() => null)
    return reply !== null && reply.status !== 503
  })

test('fresh nodes found a cluster by /cluster/tls, and their ports keep the certificates that they had', async (t) => {
  const made = new Map<string, string>()
  const { nodes } = await startNodes(t, {
    count: 3,
    equip: async (node, ca, sources) => {
      made.set(node.peerUrl, (await node.call('GET', '/config/tls/cert.pem', { as: ADMIN })).text())
      await equip(node, ca, sources, NEW_PATHS)
    },
  })
  const [first, ...others] = nodes as [ClusterNode, ...ClusterNode[]]
  for (const node of others) await bringIn(first, node)
  await makeSigner(first)
  for (const node of nodes) {
    const former = made.get(node.peerUrl)!
    const current = await read(node, '/config/tls/cert.pem')
    const [was, is] = [new X509Certificate(former), new X509Certificate(current)]
    assert.ok(is.publicKey.equals(was.publicKey)) // the name of the new address may have been added, by Coffer itself
    assert.equal(is.issuer, 'CN=coffer')
    assert.equal(await shownToClients(node), leafOf(current))
    assert.equal(await shownToMembers(node), leafOf(await read(node, '/cluster/tls/cert.pem')))
    await sign(node)
  }
  await others[0]!.kill()
  for (const node of [first, others[1]!]) for (let n = 0; n < 5; n++) await sign(node)
  await isChangeable(first)
  others[0]!.start()
  await until(
    'open node',
    async () => (await others[0]!.call('GET', '/health/ready').catch(() => null))?.status === 200,
  )
  await sign(others[0]!)
  assert.equal(await shownToMembers(others[0]!), leafOf(await read(others[0]!, '/cluster/tls/cert.pem')))
})

test('a running cluster is taken apart from its ports node by node, and loses no write', async (t) => {
  const { nodes, ca } = await startCluster(t)
  await makeSigner(nodes[0]!)
  const writes = startWriting(t, nodes)
  for (const node of nodes) {
    const before = writes.answered.length
    await takeApart(node, ca)
    await until('writes go on', () => writes.answered.length > before)
  }
  await writes.end()
  assert.ok(writes.answered.length >= nodes.length)
  for (const node of nodes)
    for (const id of writes.answered) await expect(200, node.call('GET', `/keys/${id}`, { as: ADMIN }))

  const strangers = createClusterCa(t)
  for (const node of nodes) {
    const member = await read(node, '/cluster/tls/cert.pem')
    const foreign = strangers.sign(await requestAt(node, '/config/tls/csr.pem'), node.address)
    await expect(201, put(node, '/config/tls/cert.pem', foreign))
    assert.equal(await shownToClients(node), leafOf(foreign))
    const key = await read(node, '/config/tls/public.pem')
    await expect(204, node.call('POST', '/config/tls/generate', { as: ADMIN, json: { type: 'EC_P256' } }))
    assert.notEqual(await read(node, '/config/tls/public.pem'), key)
    assert.equal(await read(node, '/cluster/tls/cert.pem'), member)
    assert.equal(await shownToMembers(node), leafOf(member))
    await sign(node)
  }
  await isChangeable(nodes[1]!)
})

async function takeApart(node: ClusterNode, ca: ClusterCa): Promise<void> {
  const chain = ca.sign(await requestAt(node, '/cluster/tls/csr.pem'), node.address, LOOPBACK)
  await expect(201, put(node, '/cluster/tls/cert.pem', chain))
  await until('shown', async () => (await shownToMembers(node)) === leafOf(chain))
  await isChangeable(node)
}

/** Keys, made at one node after the other; ids of those whose making was answered with 201. */
function startWriting(t: TestContext, nodes: readonly ClusterNode[]) {
  const answered: string[] = []
  let isEnding = false
  const write = async (): Promise<void> => {
    for (let n = 0; !isEnding; n++) {
      const id = `written-${n}`
      const json = { id, type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
      const node = nodes[n % nodes.length]!
      const reply = await node.call('POST', '/keys/generate', { as: ADMIN, json }).catch(() => null)
      if (reply?.status === 201) answered.push(id)
      else assert.ok(reply === null || reply.status === 503, reply?.text()) // a node without its etcd changes nothing
    }
  }
  const writing = write()
  const end = (): Promise<void> => {
    isEnding = true
    return writing
  }
  t.after(() => end().catch(() => {}))
  return { answered, end }
}
