// @test long 30
/** The published Python clients for NetHSM 5.1 give members certificates of their own. Contract section 3.6. */

import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import { ADMIN, ADMIN_PASSPHRASE, expect } from '../support/appliance.ts'
import { bringIn, type ClusterNode, equip, NEW_PATHS, startNodes } from '../support/cluster.ts'
import { createClusterCa } from '../support/cluster-ca.ts'
import { makeDataDirectory } from '../support/process.ts'
import { fileNeeds, needsPython, PYTHON } from '../support/tools.ts'

await fileNeeds('etcd', 'openssl')

const LOOPBACK = '127.0.0.1' // where connections on this machine come from
const PORT = 8443
const NITROPY = join(dirname(PYTHON), 'nitropy')
const ENVIRONMENT = { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' }

const knows = (program: string, ...parameters: string[]): boolean =>
  existsSync(program) && spawnSync(program, parameters, { env: ENVIRONMENT }).status === 0

/** In CI, too: until they are published they cannot be had. */
const needsPackage = (name: string, isThere: () => boolean) => ({
  skip: needsPython().skip || (!isThere() && `to run this: .venv/bin/pip install '${name}', once it is published`),
})
const library = needsPackage('nethsm>=3.1.0', () => knows(PYTHON, '-c', 'import nethsm; nethsm.NetHSM.cluster_csr'))
const commands = needsPackage('pynitrokey>=0.15.0', () => knows(NITROPY, 'nethsm', 'get-cluster-certificate', '--help'))

const python = async (...parameters: string[]): Promise<string> => {
  const script = join(import.meta.dirname, 'clients/identity.py')
  return (await promisify(execFile)(PYTHON, [script, ...parameters], { env: ENVIRONMENT })).stdout
}

test('the Python package founds a cluster by the new paths', library, async (t) => {
  const ca = createClusterCa(t)
  const directory = makeDataDirectory(t)
  const file = (name: string, text: string): string => {
    const path = join(directory, name)
    writeFileSync(path, text)
    return path
  }
  const authority = file('ca.pem', ca.certificate)
  const { nodes } = await startNodes(t, {
    count: 3,
    async equip(node, _ca, sources) {
      const { hostname } = new URL(node.peerUrl)
      const host = `${hostname}:${PORT}`
      const certificate = ca.sign(await python('request', ADMIN_PASSPHRASE, host), hostname, LOOPBACK)
      await python('certify', ADMIN_PASSPHRASE, host, file(`${hostname}.pem`, certificate), authority)
      await equip(node, ca, sources, NEW_PATHS) // the same once more, and what else a node needs
    },
  })
  const [first, ...others] = nodes as [ClusterNode, ...ClusterNode[]]
  for (const node of others) await bringIn(first, node)
  const { json } = await expect(200, first.call('GET', '/cluster/members', { as: ADMIN }))
  assert.equal(json<unknown[]>().length, nodes.length)
})

test('nitropy shows the key and the certificate that members see', commands, async (t) => {
  const { nodes } = await startNodes(t, { count: 1 })
  const [{ address }] = nodes as [ClusterNode]
  const credentials = ['--host', `${address}:${PORT}`, '--no-verify-tls', '--username', 'admin']
  for (const [command, pem] of [
    ['get-cluster-certificate', 'BEGIN CERTIFICATE'],
    ['get-cluster-public-key', 'BEGIN PUBLIC KEY'],
  ] as const) {
    const parameters = ['nethsm', ...credentials, '--password', ADMIN_PASSPHRASE, command]
    const { stdout } = await promisify(execFile)(NITROPY, parameters, { env: ENVIRONMENT })
    assert.ok(stdout.includes(pem), stdout)
  }
})
