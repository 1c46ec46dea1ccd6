/** The commands of the cluster's page, run as they stand there, with three appliances on addresses of their own. */

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { buildForTests } from '../support/build.ts'
import { makeDataDirectory } from '../support/process.ts'
import { fileNeeds } from '../support/tools.ts'

await fileNeeds('etcd', 'openssl', 'curl')

const README = readFileSync(join(import.meta.dirname, '../../firmware/cluster/README.md'), 'utf8')
const TOOL = join(import.meta.dirname, '../../tools/cluster.ts')
const TIME_MS_MAX = 180_000
const HERE = '"IP:127.0.0.1"' // which stays: connections on this machine come from there

async function startCluster(t: TestContext, network: string): Promise<{ output: () => string }> {
  const passage = makeDataDirectory(t)
  chmodSync(passage, 0o711)
  const parameters = ['--network', network, '--program', await buildForTests(), join(passage, 'cluster')]
  const tool = spawn(process.execPath, [TOOL, ...parameters], {
    env: { PATH: process.env.PATH }, // no settings of who runs the tests
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(tool, 'close')
  let output = ''
  for (const stream of [tool.stdout, tool.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  t.after(async () => {
    tool.kill('SIGTERM')
    await ended
  })
  for (const deadline = Date.now() + TIME_MS_MAX; ; await wait(100)) {
    if ([1, 2, 3].every((number) => output.includes(`https://${network}.${number}:`))) return { output: () => output }
    assert.ok(Date.now() < deadline && tool.exitCode === null, output)
  }
}

test('from three empty appliances to one cluster that loses a node, as the page has it', async (t) => {
  const network = `127.${1 + Math.floor(Math.random() * 254)}.${Math.floor(Math.random() * 256)}`
  const { output } = await startCluster(t, network)
  const blocks = [...README.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block!)
  assert.equal(blocks.length, 4)
  const script = blocks
    .join('\n')
    .split(HERE)
    .map((part) =>
      part.replaceAll('127.0.0.', `${network}.`).replaceAll('127\\.0\\.0\\.', `${network.replaceAll('.', '\\.')}\\.`),
    )
    .join(HERE)
  const expected = [...script.matchAll(/# → (.*)$/gm)].map(([, text]) => text!)
  assert.ok(expected.length >= 4)
  const { stdout, stderr, status } = spawnSync('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: makeDataDirectory(t),
    encoding: 'utf8',
    timeout: TIME_MS_MAX,
  })
  assert.equal(status, 0, `${stdout}${stderr}\n${output()}`)
  let from = 0
  for (const text of expected) {
    const at = stdout.indexOf(text, from)
    assert.ok(at !== -1, `${text} is not in ${stdout.slice(from)}`)
    from = at + text.length
  }
})
