/** A client nobody here wrote: the published NetHSM Python SDK, in the virtual environment that `.ci/run` makes. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startAppliance } from './harness.ts'

const python = join(import.meta.dirname, '../../.venv/bin/python')
const program = join(import.meta.dirname, 'sdk.py')
const TIME_MS_MAX = 300_000

test('the NetHSM Python SDK works unmodified', async (t) => {
  if (!existsSync(python)) {
    assert.notEqual(process.env.CI, 'true', 'no Python in .venv: .ci/run makes it from test/accept/requirements.txt')
    t.skip(
      'no Python in .venv; to run this: python3 -m venv .venv && .venv/bin/pip install -r test/accept/requirements.txt',
    )
    return
  }
  const appliance = await startAppliance()
  t.after(() => appliance.dispose())
  const { stdout } = await promisify(execFile)(python, [program, `${appliance.host}:${appliance.port}`], {
    timeout: TIME_MS_MAX,
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' },
  })
  for (const line of stdout.trim().split('\n')) t.diagnostic(line)
  assert.match(stdout, /^all of it$/m)
})
