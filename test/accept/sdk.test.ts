/** A client nobody here wrote: the published NetHSM Python SDK, in the virtual environment that `.ci/run` makes. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startAppliance } from '../support/suite.ts'
import { needsPython, PYTHON } from '../support/tools.ts'

const program = join(import.meta.dirname, 'sdk.py')
const TIME_MS_MAX = 300_000

test('the NetHSM Python SDK works unmodified', needsPython(), async (t) => {
  const appliance = await startAppliance()
  t.after(() => appliance.dispose())
  const { stdout } = await promisify(execFile)(PYTHON, [program, `${appliance.host}:${appliance.port}`], {
    timeout: TIME_MS_MAX,
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1', COFFER_TEST_TRANSIT: process.env.COFFER_TEST_TRANSIT },
  })
  for (const line of stdout.trim().split('\n')) t.diagnostic(line)
  assert.match(stdout, /^all of it$/m)
})
