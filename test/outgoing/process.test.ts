/** The real process for outgoing connections: what it can do, and its end in the middle of a job of each kind. */

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { launch } from '../../boot/supervisor/firmware-process.ts'
import { bundle, command, get, openProcess } from './started.ts'

/** A server of names that never answers: jobs stay in the middle of it. */
async function silentResolver(t: TestContext) {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return { resolver: `127.0.0.1:${(socket.address() as AddressInfo).port}`, asked: () => once(socket, 'message') }
}

test('loopback is refused, and the process stays for the next job', async (t) => {
  const { client, launched } = await openProcess(t)
  for (const host of ['127.0.0.1', '169.254.169.254', '[::1]'])
    await assert.rejects(client.http(...get(`http://${host}/`, host)), /leads to an address that nothing is sent to/)
  const { problem } = await client.probe({ host: '127.0.0.1', port: 443, tls: true })
  assert.match(problem!, /leads to an address that nothing is sent to/)
  assert.equal(launched.length, 1)
})

test('on a device without a resolver that is what the failure says', async (t) => {
  const { client } = await openProcess(t, { onHost: false })
  await assert.rejects(client.http(...get('https://hooks.example.org/', 'hooks.example.org')), {
    message: 'its name cannot be resolved, because no resolver is set',
    isFinal: true,
  })
})

for (const kind of ['http', 'probe'] as const)
  test(`killed in a job of kind ${kind}, it fails that job, and another process has the next one`, async (t) => {
    const { resolver, asked } = await silentResolver(t)
    const { client, launched } = await openProcess(t, { resolvers: [resolver] })
    const waiting = asked()
    const job =
      kind === 'http'
        ? client.http(...get('https://hooks.example.org/', 'hooks.example.org'))
        : client.probe({ host: 'hooks.example.org', port: 443, tls: true })
    const failed = assert.rejects(job, /the process for outgoing connections ended/)
    await waiting
    launched[0]!.kill('SIGKILL')
    await failed
    await assert.rejects(client.http(...get('http://127.0.0.1/', '127.0.0.1')), /leads to an address/)
    assert.equal(launched.length, 2)
  })

test('a name that nobody resolves ends within its bound', async (t) => {
  const { resolver } = await silentResolver(t)
  const { client } = await openProcess(t, { resolvers: [resolver] })
  await assert.rejects(
    client.http(...get('https://hooks.example.org/', 'hooks.example.org')),
    /its name was not resolved within 5 seconds|could not be reached \(ETIMEOUT\)/,
  )
})

test('its JavaScript reads no file but its program, starts nothing and loads no native code', async () => {
  const program = join(import.meta.dirname, 'probe.ts')
  const child = launch(command(program), null)
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  await once(child, 'close')
  assert.deepEqual(output.trim().split('\n'), [
    'own program: works',
    'package.json beside: ERR_ACCESS_DENIED',
    '/etc/passwd: ERR_ACCESS_DENIED',
    'a directory: ERR_ACCESS_DENIED',
    'write: ERR_ACCESS_DENIED',
    'a program: ERR_ACCESS_DENIED',
    'native code: ERR_DLOPEN_DISABLED',
    'a thread: ERR_ACCESS_DENIED',
  ])
})

test('the bundle needs nothing of the chat or the store', () => {
  const text = readFileSync(join(bundle, 'outgoing.js'), 'utf8')
  assert.ok(text.length < 200_000, `it has ${text.length} characters`)
  assert.doesNotMatch(text, /better-sqlite3|node_modules/)
})
