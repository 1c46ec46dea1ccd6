// @test long 70
/** Every command of the published command line of NetHSM, against the bundle as it is shipped. Contract section 10. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../../tools/free-ports.ts'
import { buildForTests } from '../support/build.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'
import { needsPython, PYTHON } from '../support/tools.ts'

const run = promisify(execFile)

test('the command line of NetHSM, unmodified, goes through a day', {
  ...needsPython(),
  timeout: 600_000,
}, async (t) => {
  const program = await buildForTests()
  const addresses = []
  for (let n = 0; n < 2; n++) {
    const settings = { COFFER_PORT: String(await freePort()) } // the same after a restart
    const { host, port } = await startCoffer(t, { program, data: makeDataDirectory(t), settings }).target()
    addresses.push(`${host}:${port}`)
  }
  const { stdout } = await run(PYTHON, [join(import.meta.dirname, 'commands.py'), ...addresses, makeDataDirectory(t)], {
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1', COFFER_TEST_TRANSIT: process.env.COFFER_TEST_TRANSIT },
  })
  t.diagnostic(stdout.trim().split('\n').at(-1)!)
  assert.match(stdout, /^68 commands, \d+ calls$/m)
})
