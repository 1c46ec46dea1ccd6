/** Streamed bodies over the TLS port: early answers, clients that go away, and connections that go on. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeTlsIdentity } from '../../firmware/crypto/tls-identity.ts'
import { listenTls } from '../../firmware/http/listener.ts'
import { basic, type Sample, sampleApi } from './sample-api.ts'
import { TlsClient } from './tls-client.ts'

const MIB = 1024 * 1024
const identity = await makeTlsIdentity((bytes) => new Uint8Array(randomBytes(bytes)))

async function setup(t: TestContext): Promise<{ sample: Sample; client: () => Promise<TlsClient> }> {
  const { app, log, sample } = sampleApi()
  const limits = { closeMs: 200 }
  const listener = await listenTls({
    app,
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log,
    now: Date.now,
    limits,
  })
  const clients: TlsClient[] = []
  t.after(async () => {
    for (const client of clients) client.destroy()
    await listener.close()
  })
  const client = async () => {
    const made = await TlsClient.connect(listener.port)
    clients.push(made)
    return made
  }
  return { sample, client }
}

const post = (headers: string, query = '') =>
  `POST /api/v1/system/update${query} HTTP/1.1\r\nhost: appliance\r\nauthorization: ${basic('admin')}\r\n${headers}\r\n`

test('a body over every limit of size arrives whole, with a length or in chunks', async (t) => {
  const { client } = await setup(t)
  const connection = await client()
  const piece = randomBytes(MIB)
  connection.send(post(`content-type: Test/One; x=1\r\ncontent-length: ${70 * MIB}\r\n`))
  for (let n = 0; n < 70; n++) connection.send(piece)
  const whole = await connection.answer()
  assert.deepEqual(JSON.parse(whole!.body), { bytes: 70 * MIB, contentType: 'Test/One; x=1' })
  connection.send(post('transfer-encoding: chunked\r\n'))
  for (let n = 0; n < 3; n++) connection.send(Buffer.concat([Buffer.from('100000\r\n'), piece, Buffer.from('\r\n')]))
  connection.send('0\r\n\r\n')
  assert.deepEqual(JSON.parse((await connection.answer())!.body), { bytes: 3 * MIB, contentType: '' })
})

test('a handler that stops early answers at once, and the connection goes on after the rest', async (t) => {
  const { client } = await setup(t)
  for (const until of [0, 1, MIB]) {
    const connection = await client()
    connection.send(post(`content-length: ${4 * MIB}\r\n`, `?until=${until}`))
    connection.send(new Uint8Array(2 * MIB))
    assert.equal((await connection.answer())?.status, until === 0 ? 409 : 400)
    connection.send(new Uint8Array(2 * MIB))
    connection.send(post('content-length: 3\r\n') + 'abc')
    assert.equal(JSON.parse((await connection.answer())!.body).bytes, 3)
  }
})

test('a client that asks first is refused before it sends, or told to go on', async (t) => {
  const { client } = await setup(t)
  const refused = await client()
  refused.send(post('content-length: 3\r\nexpect: 100-continue\r\n', '?until=0'))
  assert.equal((await refused.answer())?.status, 409)
  const taken = await client()
  taken.send(post('content-length: 3\r\nexpect: 100-continue\r\n'))
  assert.equal((await taken.answer())?.status, 100)
  taken.send('abc')
  assert.equal(JSON.parse((await taken.answer())!.body).bytes, 3)
})

test('a client that goes away ends the iteration', { timeout: 20_000 }, async (t) => {
  const { client, sample } = await setup(t)
  const connection = await client()
  connection.send(post(`content-length: ${MIB}\r\n`))
  connection.send(new Uint8Array(1000))
  while (!sample.calls.includes('chunk')) await sleep(5)
  assert.ok(!sample.calls.includes('end'))
  connection.destroy()
  while (!sample.calls.includes('end')) await sleep(5)
})
