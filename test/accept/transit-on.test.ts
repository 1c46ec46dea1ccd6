// @test long 120
/** Published clients of NetHSM pass their tests while the transit API is on: Python, the command line, PKCS #11, and Go. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const TESTS = ['accept/sdk', 'accept/commands', 'accept/unknown-types', 'coffer/pkcs11', 'accept/openapi-client']
const TIME_MS_MAX = 900_000

for (const name of TESTS)
  test(`${name} passes`, { timeout: TIME_MS_MAX }, async (t) => {
    // Without it, the child would report to the runner of this test.
    const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
    const env = { ...inherited, COFFER_TEST_TRANSIT: 'on' }
    const file = join(import.meta.dirname, '..', `${name}.test.ts`)
    const args = ['--test', '--test-reporter=tap', file]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env, maxBuffer: 2 ** 25 })
    assert.match(stdout, /^# fail 0$/m)
    if (name === 'accept/sdk' && /^# skipped 0$/m.test(stdout)) assert.match(stdout, /^# transit on$/m)
    for (const [line] of stdout.matchAll(/^ *ok .*# SKIP.*$/gm)) t.diagnostic(line)
  })
