/** Every command of the published command line of NetHSM, against the bundle as it is shipped. Contract section 10. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { buildForTests, makeDataDirectory, startCoffer } from '../boot/coffer.ts'

const run = promisify(execFile)
const python = join(import.meta.dirname, '../../.venv/bin/python')

test('the command line of NetHSM, unmodified, goes through a day', { timeout: 600_000 }, async (t) => {
  if (!existsSync(python)) {
    assert.notEqual(process.env.CI, 'true', 'no Python in .venv: .ci/run makes it from test/accept/requirements.txt')
    t.skip('no Python in .venv: python3 -m venv .venv && .venv/bin/pip install -r test/accept/requirements.txt')
    return
  }
  const program = await buildForTests()
  const addresses = []
  for (let n = 0; n < 2; n++) {
    const settings = { COFFER_PORT: String(await freePort()) } // the same after a restart
    const { host, port } = await startCoffer(t, { program, data: makeDataDirectory(t), settings }).target()
    addresses.push(`${host}:${port}`)
  }
  const { stdout } = await run(python, [join(import.meta.dirname, 'commands.py'), ...addresses, makeDataDirectory(t)], {
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' },
  })
  t.diagnostic(stdout.trim().split('\n').at(-1)!)
  assert.match(stdout, /^68 commands, \d+ calls$/m)
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
