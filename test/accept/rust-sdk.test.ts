// @test long 60
/** The published Rust library of NetHSM 5.0 passes its own test, which expects a fresh appliance for each of its parts. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import test from 'node:test'
import { promisify } from 'node:util'
import { buildForTests } from '../support/build.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'
import { needsRustClient, RUST_SDK_TEST } from '../support/tools.ts'

test('tests/basic.rs of nethsm-sdk-rs', needsRustClient(RUST_SDK_TEST), async (t) => {
  const program = await buildForTests()
  const server = createServer(async (connection) => {
    const coffer = startCoffer(t, { program, data: makeDataDirectory(t) })
    connection.on('error', () => {}).resume()
    connection.once('close', () => void coffer.stop())
    const { host, port } = await coffer.target()
    connection.write(`${host}:${port}\n`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const env = { COFFERS: `127.0.0.1:${(server.address() as AddressInfo).port}` }
  const { stdout } = await promisify(execFile)(RUST_SDK_TEST, ['--test-threads=1'], { env })
  assert.match(stdout, /test result: ok\. [1-9]\d* passed; 0 failed; 0 ignored/)
})
