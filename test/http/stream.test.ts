/** Streamed bodies and answers over the TLS port: early answers, clients that go away, and connections that go on. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import test, { type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'
import { clientsOf, type RawClient } from '../support/raw-client.ts'
import { basic, type SampleApi, sampleApi } from './sample-api.ts'

const MIB = 1024 * 1024
const identity = await makeTlsIdentity((bytes) => new Uint8Array(randomBytes(bytes)))

type Setup = Pick<SampleApi, 'sample' | 'entries'> & { port: number; client: () => Promise<RawClient> }

async function setup(t: TestContext): Promise<Setup> {
  const { app, log, sample, entries } = sampleApi()
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
  return { sample, entries, client: clientsOf(t, listener), port: listener.port }
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
    connection.send(`${post('content-length: 3\r\n')}abc`)
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

const backup = (query: string) => `/api/v1/system/backup?${query}`

async function download(port: number, agent: Agent, path: string): Promise<{ headers: object; body: Buffer }> {
  const sent = request({
    host: '127.0.0.1',
    port,
    agent,
    path,
    method: 'POST',
    headers: { authorization: basic('admin') },
  })
  sent.end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const pieces: Buffer[] = []
  for await (const piece of answer) pieces.push(piece as Buffer)
  assert.equal(answer.statusCode, 200)
  return { headers: answer.headers, body: Buffer.concat(pieces) }
}

function keepAlive(t: TestContext): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  t.after(() => agent.destroy())
  return agent
}

test('a streamed answer arrives whole, and the connection goes on', async (t) => {
  const { port } = await setup(t)
  const agent = keepAlive(t)
  const sockets = new Set<unknown>()
  agent.on('free', (socket) => sockets.add(socket))
  for (const pieces of [0, 1, 300]) {
    const { headers, body } = await download(port, agent, backup(`pieces=${pieces}`))
    assert.equal((headers as Record<string, string>)['content-type'], 'application/octet-stream')
    assert.equal((headers as Record<string, string>)['cache-control'], 'no-cache')
    assert.equal(body.length, pieces * 1024)
    assert.ok(body.every((byte, index) => byte === Math.floor(index / 1024) % 256))
  }
  assert.equal(sockets.size, 1)
})

test('a streamed answer that fails ends in a cut connection and a line in the log', { timeout: 20_000 }, async (t) => {
  const { port, sample, entries } = await setup(t)
  const agent = keepAlive(t)
  for (const fail of [0, 1, 200]) {
    await assert.rejects(download(port, agent, backup(`pieces=300&fail=${fail}`)), /aborted|hang up/)
  }
  assert.equal(sample.calls.filter((call) => call === 'end of pieces').length, 3)
  assert.equal(entries.filter(({ message }) => message.includes('storage: The disk failed')).length, 3)
})

test('a client that does not read holds a streamed answer back, and ends it by going away', async (t) => {
  const { client, sample } = await setup(t)
  const connection = await client()
  connection.socket.pause()
  const pieces = 100 * 1024
  connection.send(
    `POST ${backup(`pieces=${pieces}`)} HTTP/1.1\r\nhost: appliance\r\nauthorization: ${basic('admin')}\r\n\r\n`,
  )
  while (sample.calls.length === 0) await sleep(5)
  let made = -1
  while (made !== sample.calls.length) {
    made = sample.calls.length
    await sleep(200)
  }
  assert.ok(made < pieces / 2, `${made} pieces`)
  connection.destroy()
  while (!sample.calls.includes('end of pieces')) await sleep(5)
})
