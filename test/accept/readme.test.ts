/** The README's walk-through, run as it stands there; what follows `# →` must be printed, in that order. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startAppliance } from '../support/suite.ts'
import { fileNeeds } from '../support/tools.ts'

await fileNeeds('openssl', 'curl')

const README = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
const TIME_MS_MAX = 120_000

test('the walk-through of the README works as it is written', async (t) => {
  const script = [...README.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join('\n')
  const expected = [...script.matchAll(/# → (.*)$/gm)].map(([, text]) => text!)
  assert.ok(expected.length >= 8, 'the blocks were found')
  const appliance = await startAppliance()
  t.after(() => appliance.dispose())
  const directory = mkdtempSync(join(tmpdir(), 'coffer-readme-'))
  t.after(() => rmSync(directory, { recursive: true }))

  assert.match(script, /127\.0\.0\.1:8443/)
  const here = script.replaceAll('127.0.0.1:8443', `127.0.0.1:${appliance.port}`)
  const { stdout, stderr, status } = spawnSync('bash', ['-euo', 'pipefail', '-c', here], {
    cwd: directory,
    encoding: 'utf8',
    timeout: TIME_MS_MAX,
  })
  const printed = stdout + stderr
  assert.equal(status, 0, printed)
  let rest = printed
  for (const text of expected) {
    assert.ok(rest.includes(text), `not printed, or too early: ${text}\n${printed}`)
    rest = rest.slice(rest.indexOf(text) + text.length)
  }
})
