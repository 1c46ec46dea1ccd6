// @test long 30
/** The published Rust library of NetHSM 5.0 founds a cluster of three by the paths that it knows. Contract sections 3.4 and 3.6. */

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import { ADMIN, ADMIN_PASSPHRASE, expect, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { BACKUP_PASSPHRASE, type ClusterNode, startNodes, until } from '../support/cluster.ts'
import { makeDataDirectory } from '../support/process.ts'
import { fileNeeds, needsRustClient, RUST_CLIENT } from '../support/tools.ts'

await fileNeeds('etcd', 'openssl')

const LOOPBACK = '127.0.0.1' // where connections on this machine come from
const PORT = 8443

const rust = async (...parameters: string[]): Promise<string> =>
  (await promisify(execFile)(RUST_CLIENT, parameters, { env: {} })).stdout

test('it sets certificates and authority, and makes one cluster of three appliances', needsRustClient(), async (t) => {
  const { nodes, ca } = await startNodes(t, { count: 3 })
  const directory = makeDataDirectory(t)
  const file = (name: string, text: string): string => {
    const path = join(directory, name)
    writeFileSync(path, text)
    return path
  }
  const authority = file('ca.pem', ca.certificate)
  for (const { address } of nodes) {
    const host = `${address}:${PORT}`
    const certificate = ca.sign(await rust('request', ADMIN_PASSPHRASE, host), address, LOOPBACK)
    await rust('certify', ADMIN_PASSPHRASE, host, file(`${address}.pem`, certificate), authority)
  }
  const places = nodes.map(({ address, peerUrl }) => `${address}:${PORT}=${peerUrl}`)
  await rust('join', ADMIN_PASSPHRASE, UNLOCK_PASSPHRASE, BACKUP_PASSPHRASE, ...places)

  const [first, second, third] = nodes as [ClusterNode, ClusterNode, ClusterNode]
  await third.kill()
  const json = { id: 'made-by-two', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
  await until('key', async () => {
    const { status } = await first.call('POST', '/keys/generate', { as: ADMIN, json })
    return status === 201
  })
  await expect(200, second.call('GET', '/keys/made-by-two', { as: ADMIN }))
})
