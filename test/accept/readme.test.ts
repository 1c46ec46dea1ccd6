/** The README's walk-through and what goes on from it, run as it stands there; what follows `# →` must be printed, in that order. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startAppliance } from '../support/suite.ts'
import { fileNeeds, needsOpenssl35, OPENSSL_35 } from '../support/tools.ts'

await fileNeeds('openssl', 'curl')

const TIME_MS_MAX = 120_000

/** The commands of a page, in blocks marked so. */
const blocks = (page: string, marks: string): string[] => {
  const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`(?:${marks})\\n([^]*?)^\`\`\`$`, 'gm'))].map(([, block]) => block!)
}

test('the walk-through of the README works as it is written, and what the page of the API adds to it', (t) =>
  works(t, [...blocks('README.md', 'sh'), ...blocks('firmware/kms/README.md', 'sh')], 8))

test('so do its post-quantum signatures, with an OpenSSL that knows them', needsOpenssl35(), (t) => {
  const all = blocks('README.md', 'sh|shell')
  const mine = all.findIndex((block) => block.includes('ML_DSA'))
  return works(t, all.slice(0, mine + 1), 5, OPENSSL_35!)
})

async function works(t: TestContext, parts: readonly string[], least: number, programs?: string): Promise<void> {
  const script = parts.join('\n')
  const expected = [...script.matchAll(/# → (.*)$/gm)].map(([, text]) => text!)
  assert.ok(expected.length >= least, 'the blocks were found')
  const appliance = await startAppliance()
  t.after(() => appliance.dispose())
  const directory = mkdtempSync(join(tmpdir(), 'coffer-readme-'))
  t.after(() => rmSync(directory, { recursive: true }))

  assert.match(script, /127\.0\.0\.1:8443/)
  const here = script.replaceAll('127.0.0.1:8443', `127.0.0.1:${appliance.port}`)
  const path = [programs, process.env.PATH].filter((part) => part !== undefined).join(delimiter)
  const { stdout, stderr, status } = spawnSync('bash', ['-euo', 'pipefail', '-c', here], {
    cwd: directory,
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
