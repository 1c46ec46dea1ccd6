// @test long 30
/** Whole appliances over TLS: what goes on without the others, and what their disks and processes show. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { ADMIN, ADMIN_PASSPHRASE, expect, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { BACKUP_PASSPHRASE, type ClusterNode, startCluster, until } from '../support/cluster.ts'
import { familyOf } from '../support/proc.ts'
import { fileNeeds } from '../support/tools.ts'

await fileNeeds('etcd', 'openssl')

const OPERATOR = { id: 'olivia-operates', passphrase: 'words of an operator', realName: 'Olivia Operator' }
const [KEY, LABEL, TAG, NAMESPACE] = ['key-of-the-web', 'label of the web', 'tag-of-the-web', 'space-of-the-web']
const as = `${OPERATOR.id}:${OPERATOR.passphrase}`
const UNKNOWN_MS_MAX = 11_000 // until a change that was on its way is given up
const NEWER = '97.1'
const SOON_MS_MAX = 5000 // on a busy machine

const message = randomBytes(32).toString('base64')
const sign = (node: ClusterNode) => node.call('POST', `/keys/${KEY}/sign`, { as, json: { mode: 'ECDSA', message } })
const label = (node: ClusterNode, label: string) =>
  node.call('PUT', `/keys/${KEY}/label`, { as: ADMIN, json: { label } })
const answers = (node: ClusterNode, path: string): Promise<boolean> =>
  node.call('GET', path).then(
    ({ status }) => status === 200,
    () => false,
  )

test('a cluster of three', async (t) => {
  const { nodes } = await startCluster(t)
  const [first, second, third] = nodes as [ClusterNode, ClusterNode, ClusterNode]
  const { realName, passphrase } = OPERATOR
  const user = { realName, role: 'Operator', passphrase }
  await expect(201, first.call('PUT', `/users/${OPERATOR.id}`, { as: ADMIN, json: user }))
  await expect(204, second.call('PUT', `/users/${OPERATOR.id}/tags/${TAG}`, { as: ADMIN }))
  await expect(204, third.call('PUT', `/namespaces/${NAMESPACE}`, { as: ADMIN }))
  const json = { id: KEY, type: 'EC_P256', mechanisms: ['ECDSA_Signature'], restrictions: { tags: [TAG] } }
  await expect(201, second.call('POST', '/keys/generate', { as: ADMIN, json }))
  await expect(204, label(third, LABEL))
  for (const node of nodes) await expect(200, sign(node))

  await t.test(
    'without the others a node signs on and changes nothing; when they are back, so are changes',
    async () => {
      await Promise.all([second.kill(), third.kill()])
      const startedAt = performance.now()
      const input = await label(first, 'not now')
      assert.equal(input.status, 503, input.text())
      assert.ok(performance.now() - startedAt < UNKNOWN_MS_MAX + SOON_MS_MAX)
      const noticedAt = performance.now()
      const refused = await label(first, 'not now, either')
      assert.equal(refused.status, 503)
      assert.ok(refused.headers['retry-after'] !== undefined)
      assert.ok(performance.now() - noticedAt < SOON_MS_MAX)
      for (let n = 0; n < 10; n++) await expect(200, sign(first))
      assert.ok(await answers(first, '/health/ready'))
      await expect(200, first.call('GET', '/keys', { as: ADMIN }))

      second.start()
      await until('change', async () => (await label(first, LABEL).catch(() => null))?.status !== 503)
      third.start()
      for (const node of [second, third]) await until('open node', () => answers(node, '/health/ready'))
      for (const node of nodes) await until('label', async () => (await keyOf(node))?.label === LABEL)
    },
  )

  await t.test('one is updated while the others serve; old and new then serve side by side', async () => {
    const versionOf = async (node: ClusterNode): Promise<string> =>
      (await expect(200, node.call('GET', '/system/software', { as: ADMIN }))).json().version
    const before = await versionOf(first)
    assert.equal(await third.stop(), 0)
    await until('change', async () => (await label(first, 'of the old').catch(() => null))?.status === 204)
    for (const node of [first, second]) await expect(200, sign(node))
    third.start(await buildForTests(NEWER))
    await until('open node', () => answers(third, '/health/ready'))
    assert.deepEqual([await versionOf(first), await versionOf(third)], [before, NEWER])
    await until('label', async () => (await keyOf(third))?.label === 'of the old')
    await expect(200, sign(third))
    await until('change', async () => (await label(third, 'of the new').catch(() => null))?.status === 204)
    for (const node of nodes) assert.equal((await keyOf(node))?.label, 'of the new')
    await expect(204, label(first, LABEL))
    assert.equal((await keyOf(third))?.label, LABEL)
  })

  await t.test(
    'nothing of what it keeps is on the disk of etcd, and no secret in arguments, environment or output',
    async () => {
      const secrets = [ADMIN_PASSPHRASE, UNLOCK_PASSPHRASE, BACKUP_PASSPHRASE, passphrase]
      const names = [OPERATOR.id, realName, KEY, LABEL, TAG, NAMESPACE]
      for (const node of nodes) {
        for (const pid of familyOf(node.bootPid()))
          for (const what of ['cmdline', 'environ']) {
            const shown = readFileSync(`/proc/${pid}/${what}`, 'latin1')
            for (const secret of secrets) assert.ok(!shown.includes(secret), `${secret} in ${what}`)
          }
        for (const secret of secrets) assert.ok(!node.output().includes(secret), `${secret} was printed`)
        assert.equal(await node.stop(), 0)
        const directory = join(node.dataDirectory, 'etcd', 'data')
        const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
        assert.ok(files.some(({ name }) => name.endsWith('.wal')) && files.some(({ name }) => name === 'db'))
        for (const { parentPath, name } of files) {
          const bytes = readFileSync(join(parentPath, name))
          assert.ok(name === 'db' ? bytes.includes('/coffer/head') : true) // it is there that it would be
          for (const text of [...secrets, ...names])
            for (const form of [
              text,
              Buffer.from(text).toString('base64').replace(/=*$/, ''),
              Buffer.from(text).toString('hex'),
            ])
              assert.ok(!bytes.includes(form), `${text} in ${name}`)
        }
      }
    },
  )
})

const keyOf = async (node: ClusterNode): Promise<{ label?: string } | null> => {
  const reply = await node.call('GET', `/keys/${KEY}`, { as: ADMIN }).catch(() => null)
  return reply?.status === 200 ? reply.json() : null
}
