/** The README's walk-through and what goes on from it, run as it stands there; what follows `# →` must be printed, in that order. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort } from '../../tools/free-ports.ts'
import { BAO, needsBao } from '../kms/transit/bao.ts'
import { buildForTests } from '../support/build.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'
import { fileNeeds, needsOpenssl35, OPENSSL_35 } from '../support/tools.ts'

await fileNeeds('openssl', 'curl')

const TIME_MS_MAX = 120_000

const blocks = (page: string, marks: string): string[] => {
  const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`(?:${marks})\\n([^]*?)^\`\`\`$`, 'gm'))].map(([, block]) => block!)
}

test('the walk-through of the README works as it is written, and what the page of the API adds to it', (t) =>
  works(t, [...blocks('README.md', 'sh'), ...blocks('firmware/kms/README.md', 'sh')], 8))

test('so do its post-quantum signatures, with an OpenSSL that knows them', needsOpenssl35(), (t) => {
  const signatures = blocks('firmware/kms/README.md', 'shell').filter((block) => block.includes('ML_DSA'))
  return works(t, [...blocks('README.md', 'sh'), ...signatures], 6, OPENSSL_35!)
})

test('so do the commands of bao for the transit API and versions of keys', needsBao(), (t) => {
  const commands = blocks('firmware/kms/README.md', 'shell').filter((block) => block.includes('bao '))
  return works(t, [...blocks('README.md', 'sh'), ...commands], 8, dirname(BAO))
})

async function works(t: TestContext, parts: readonly string[], least: number, programs?: string): Promise<void> {
  const script = parts.join('\n')
  const expected = [...script.matchAll(/# → (.*)$/gm)].map(([, text]) => text!)
  assert.ok(expected.length >= least, 'the blocks were found')
  const chatPort = await freePort()
  const settings = { COFFER_CHAT_PORT: String(chatPort) }
  const coffer = startCoffer(t, { program: await buildForTests(), data: makeDataDirectory(t), settings })
  const { port } = await coffer.target()

  for (const port of [8443, 9443]) assert.ok(script.includes(`127.0.0.1:${port}`))
  const here = script
    .replaceAll('127.0.0.1:8443', `127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:9443', `127.0.0.1:${chatPort}`)
  const path = [programs, process.env.PATH].filter((part) => part !== undefined).join(delimiter)
  const { stdout, stderr, status } = spawnSync('bash', ['-euo', 'pipefail', '-c', here], {
    cwd: makeDataDirectory(t),
    encoding: 'utf8',
    timeout: TIME_MS_MAX,
    env: { ...process.env, PATH: path },
  })
  const printed = stdout + stderr
  assert.equal(status, 0, printed)
  let rest = printed
  for (const text of expected) {
    assert.ok(rest.includes(text), `not printed, or too early: ${text}\n${printed}`)
    rest = rest.slice(rest.indexOf(text) + text.length)
  }
}
