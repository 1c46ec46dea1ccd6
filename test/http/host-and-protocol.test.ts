/** The `host` header, of which there is one (RFC 9112 section 3.2), and the protocols that a TLS client may name. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'
import { RawClient } from '../support/raw-client.ts'
import { sampleApi } from './sample-api.ts'

const identity = await makeTlsIdentity(systemRandom)

async function connectTo(t: TestContext, ALPNProtocols?: string[]): Promise<RawClient> {
  const api = sampleApi()
  const { log } = api
  const listener = await listenTls({
    app: api.app,
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log,
    now: () => 0,
  })
  t.after(() => listener.close())
  const client = await RawClient.connect(listener, { ...(ALPNProtocols && { ALPNProtocols }) })
  t.after(() => client.socket.destroy())
  return client
}

for (const [what, lines] of [
  ['two hosts', 'host: appliance\r\nhost: another\r\n'],
  ['the same host twice', 'Host: appliance\r\nHOST: appliance\r\n'],
  ['two hosts, one of them empty', 'host: \r\nhost: appliance\r\n'],
  ['no host', ''],
] as const)
  test(`a request with ${what} is 400`, async (t) => {
    const client = await connectTo(t)
    client.send(`GET /api/v1/info HTTP/1.1\r\n${lines}\r\n`)
    const answer = await client.answer()
    assert.equal(answer?.status, 400)
    assert.match(JSON.parse(answer.body).message, /host header/)
  })

test('HTTP/1.0 may leave the host out, but not give two', async (t) => {
  const without = await connectTo(t)
  without.send('GET /api/v1/info HTTP/1.0\r\n\r\n')
  assert.equal((await without.answer())?.status, 200)
  const two = await connectTo(t)
  two.send('GET /api/v1/info HTTP/1.0\r\nhost: a\r\nhost: b\r\n\r\n')
  assert.equal((await two.answer())?.status, 400)
})

test('a client that offers HTTP/1.0 alone is served, one that offers both gets HTTP/1.1', async (t) => {
  const old = await connectTo(t, ['http/1.0'])
  assert.equal(old.socket.alpnProtocol, 'http/1.0')
  old.send('GET /api/v1/info HTTP/1.0\r\n\r\n')
  assert.equal((await old.answer())?.status, 200)
  const both = await connectTo(t, ['http/1.0', 'http/1.1'])
  assert.equal(both.socket.alpnProtocol, 'http/1.1')
  await assert.rejects(connectTo(t, ['h2']))
})
