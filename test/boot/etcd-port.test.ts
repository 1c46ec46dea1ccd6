/** A port that another program has: the answer names its user, by a real etcd that cannot listen. */

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { createTestEtcd } from '../support/etcd-service.ts'
import { makeDataDirectory } from '../support/process.ts'
import { fileNeeds } from '../support/tools.ts'

await fileNeeds('etcd')

async function occupy(t: TestContext, address: string, port = 0): Promise<number> {
  const server = createServer().listen(port, address)
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as { port: number }).port
}

const ownNetwork = (): string => `127.${1 + Math.floor(Math.random() * 254)}.${Math.floor(Math.random() * 256)}`

for (const at of ['127.0.0.1', '::'])
  test(`the etcd of a node whose port is taken at ${at} says by which user`, async (t) => {
    const port = await occupy(t, at)
    const etcd = createTestEtcd(t)
    const peerUrl = `http://127.0.0.1:${port}`
    const start = { how: 'create' as const, name: 'a', peerUrl, members: [], token: 'token', tls: null }
    await assert.rejects(etcd.service.run(start), (error) => {
      assert.ok(error instanceof CofferError)
      assert.ok(
        error.message.includes(`port ${port} of 127.0.0.1 in use by user ${userInfo().username}`),
        error.message,
      )
      assert.doesNotMatch(error.message, /exit code/)
      return true
    })
  })

test('make cluster names the port and its user before it starts anything', async (t) => {
  const network = ownNetwork()
  await occupy(t, `${network}.2`, 2380)
  const tool = join(import.meta.dirname, '../../tools/cluster.ts')
  const directory = join(makeDataDirectory(t), 'cluster')
  const { status, stderr } = spawnSync(
    process.execPath,
    [tool, '--network', network, '--program', 'none.js', directory],
    {
      encoding: 'utf8',
    },
  )
  assert.equal(status, 1)
  assert.ok(stderr.includes(`port 2380 of ${network}.2 in use by user ${userInfo().username}`), stderr)
})

test('a loop of the walk ends, with the last answer', async () => {
  const { readFileSync } = await import('node:fs')
  const page = readFileSync(join(import.meta.dirname, '../../firmware/cluster/README.md'), 'utf8')
  const [retry] = /^retry\(\) \{[\s\S]*?^\}$/m.exec(page)!
  assert.doesNotMatch(page, /^ *until /m)
  const child = spawn('bash', ['-c', `sleep() { :; }\n${retry}\nretry sh -c 'echo the answer; exit 22'`])
  let shown = ''
  child.stderr.on('data', (bytes) => (shown += bytes))
  const [status] = await once(child, 'close')
  assert.deepEqual([status, shown], [1, 'gave up after a minute: the answer\n'])
})
