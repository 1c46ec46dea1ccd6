// @test long 30
/**
 * Clients nobody here wrote, in a cluster: the cluster calls of the published Python package, and NetHSM's PKCS #11 module with three
 * instances, each of which is killed once. The module is in no registry of packages: NETHSM_PKCS11_MODULE names it.
 */

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { createPublicKey, verify } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import test, { type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { ADMIN, ADMIN_PASSPHRASE, expect, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { BACKUP_PASSPHRASE, type ClusterNode, startNodes, until } from '../support/cluster.ts'
import { makeDataDirectory } from '../support/process.ts'
import { fileNeeds, needsPython, PYTHON } from '../support/tools.ts'

await fileNeeds('etcd', 'openssl')

const ENVIRONMENT = { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' }
const module = process.env.NETHSM_PKCS11_MODULE
const skip =
  module === undefined
    ? 'to run this: NETHSM_PKCS11_MODULE=/path/to/libnethsm_pkcs11.so, which Nitrokey publishes'
    : false
const KEY = 'signing-key'
const SIGNER = { id: 'signer', passphrase: 'words of an operator' }
const SIGNATURES = 20 // between two events

const clientOf = (name: string): string => join(import.meta.dirname, 'clients', name)

async function python(what: string, nodes: readonly ClusterNode[]): Promise<void> {
  const places = nodes.map(({ address, peerUrl }) => `${address}:8443=${peerUrl}`)
  const passphrases = [ADMIN_PASSPHRASE, UNLOCK_PASSPHRASE, BACKUP_PASSPHRASE]
  await promisify(execFile)(PYTHON, [clientOf('membership.py'), what, ...passphrases, ...places], { env: ENVIRONMENT })
}

test('clients of a cluster', needsPython(), async (t) => {
  const { nodes } = await startNodes(t, { count: 3 })
  const [first, , last] = nodes as [ClusterNode, ClusterNode, ClusterNode]
  await t.test('the Python package makes a cluster of three', () => python('join', nodes))
  for (const node of nodes)
    await expect(204, node.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))

  await t.test('the PKCS #11 module signs on while each of its instances is killed', { skip }, async (t) => {
    const user = { realName: 'Signer', role: 'Operator', passphrase: SIGNER.passphrase }
    await expect(201, first.call('PUT', `/users/${SIGNER.id}`, { as: ADMIN, json: user }))
    const json = { id: KEY, type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
    await expect(201, first.call('POST', '/keys/generate', { as: ADMIN, json }))
    const signatures = startSigning(t, nodes)
    const more = async (): Promise<void> => {
      const wanted = signatures.length + SIGNATURES
      await until('signatures', () => signatures.length >= wanted)
    }
    await more()
    for (const node of nodes) {
      await node.kill()
      await more()
      node.start()
      await until('open node', async () => (await node.call('GET', '/health/ready').catch(() => null))?.status === 200)
      await more()
    }
    const pem = (await expect(200, first.call('GET', `/keys/${KEY}/public.pem`, { as: ADMIN }))).text()
    const key = { key: createPublicKey(pem), dsaEncoding: 'ieee-p1363' } as const
    for (const signature of signatures)
      assert.ok(verify('sha256', Buffer.from('a message'), key, Buffer.from(signature, 'base64')))
    t.diagnostic(`${signatures.length} signatures`)
  })

  await t.test('the Python package removes a member, which goes on alone', () => python('part', nodes))
  assert.ok(last.etcdPid() === null)
})

/** In a process of its own, which ends with the test. What it has signed, in base 64; it fails the test when a call fails. */
function startSigning(t: TestContext, nodes: readonly ClusterNode[]): string[] {
  const configuration = join(makeDataDirectory(t), 'p11nethsm.conf')
  const instances = nodes.map(({ address }) => ({ url: `https://${address}:8443/api/v1`, danger_insecure_cert: true }))
  const slot = {
    ...{ label: 'cluster', operator: { username: SIGNER.id, password: SIGNER.passphrase }, instances },
    ...{ retries: { count: 3, delay_seconds: 1 }, timeout_seconds: 10 },
  }
  writeFileSync(configuration, JSON.stringify({ slots: [slot] })) // which is YAML, too
  const env = { ...ENVIRONMENT, P11NETHSM_CONFIG_FILE: configuration }
  const child = spawn(PYTHON, [clientOf('signing.py'), module!, KEY, SIGNER.passphrase], { env, stdio: 'pipe' })
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  let complaints = ''
  child.stderr.on('data', (text) => {
    complaints += text
  })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.stdin.end()
    const [code] = await ended
    assert.equal(code, 0, `${lines.at(-1)}\n${complaints}`)
  })
  return lines
}
