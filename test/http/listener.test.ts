/** The TLS port, by raw bytes: headers, malformed and slow clients, large bodies, pipelining, identity, closing. */

import assert from 'node:assert/strict'
import { randomBytes, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { Server } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { duplexPair } from 'node:stream'
import test, { type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import type { ListenerLimits } from '../../firmware/http/server/limits.ts'
import { type Listener, listenTls } from '../../firmware/http/server/listener.ts'
import { createTraffic, type Traffic } from '../../firmware/http/server/traffic.ts'
import type { ApiOptions } from '../../firmware/kms/pipeline/pipeline.ts'
import { clientsOf, type RawAnswer, RawClient } from '../support/raw-client.ts'
import { basic, type Sample, type SampleApi, sampleApi } from './sample-api.ts'

const makeIdentity = () => makeTlsIdentity((bytes) => new Uint8Array(randomBytes(bytes)))
const identity = await makeIdentity()

const MIB = 1024 * 1024
const NOW = Date.UTC(2024, 4, 17, 12, 0, 0)

interface Setup extends SampleApi {
  listener: Listener
  traffic: Traffic
  client: () => Promise<RawClient>
}

async function setup(
  t: TestContext,
  limits: Partial<ListenerLimits> = {},
  options: Partial<ApiOptions<Sample>> = {},
): Promise<Setup> {
  const api = sampleApi(options)
  const traffic = createTraffic()
  const listener = await listenTls({
    app: api.app,
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: api.log,
    now: () => NOW,
    traffic,
    limits: { ...limits, closeMs: 200 },
  })
  return { ...api, listener, traffic, client: clientsOf(t, listener) }
}

const HOST = 'host: appliance\r\n'
const ADMIN = `authorization: ${basic('admin')}\r\n`
const OPERATOR = `authorization: ${basic('operator')}\r\n`
const INFO = `GET /api/v1/info HTTP/1.1\r\n${HOST}\r\n`

function assertError(answer: RawAnswer | null, status: number, reason: string): void {
  assert.equal(answer?.status, status)
  assert.equal(answer.reason, reason)
  assert.equal(answer.headers['content-type'], 'application/json')
  assert.deepEqual(Object.keys(JSON.parse(answer.body)), ['message'])
  assertCommon(answer)
}

function assertCommon({ headers }: RawAnswer): void {
  assert.equal(headers.date, 'Fri, 17 May 2024 12:00:00 GMT')
  assert.equal(headers.vary, 'Accept, Accept-Encoding, Accept-Charset, Accept-Language')
  assert.match(headers['strict-transport-security'] ?? '', /^max-age=\d+$/)
  assert.equal(headers['x-frame-options'], 'DENY')
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['x-xss-protection'], '1; mode=block')
  assert.equal(headers['x-permitted-cross-domain-policies'], 'none')
}

test('every answer carries the common headers, by the clock of the appliance', async (t) => {
  const { client } = await setup(t)
  const connection = await client()
  connection.send(INFO)
  const info = await connection.answer()
  assert.equal(info?.status, 200)
  assert.equal(info.reason, 'OK')
  assert.equal(info.headers['content-type'], 'application/json')
  assertCommon(info)
  connection.send(`GET /api/v1/keys HTTP/1.1\r\n${HOST}\r\n`)
  assertError(await connection.answer(), 401, 'Unauthorized')
  connection.send(`GET /nothing HTTP/1.1\r\n${HOST}\r\n`)
  assertError(await connection.answer(), 404, 'Not Found')
})

test('empty answers say content-length 0 on the wire, also 204, and 304 does not', async (t) => {
  const { client } = await setup(t)
  const connection = await client()
  connection.send(`PUT /api/v1/keys/k/tags/new HTTP/1.1\r\n${HOST}${ADMIN}\r\n`)
  const tagged = await connection.answer()
  assert.deepEqual([tagged?.status, tagged?.headers['content-length']], [204, '0'])
  connection.send(`PUT /api/v1/keys/k/tags/there HTTP/1.1\r\n${HOST}${ADMIN}\r\n`)
  const same = await connection.answer()
  assert.deepEqual(
    [same?.status, same?.headers['content-length'], same?.headers['transfer-encoding']],
    [304, undefined, undefined],
  )
  connection.send(
    `PUT /api/v1/keys/k/cert HTTP/1.1\r\n${HOST}${ADMIN}content-type: application/x-pem-file\r\ncontent-length: 1\r\n\r\nx`,
  )
  const created = await connection.answer()
  assert.deepEqual([created?.status, created?.headers['content-length']], [201, '0'])
  connection.send(`HEAD /api/v1/info HTTP/1.1\r\n${HOST}\r\n`)
  const head = await connection.answer(true)
  assert.deepEqual([head?.status, head?.headers['content-length']], [200, '17'])
  connection.send(INFO)
  assert.equal((await connection.answer())?.status, 200)
})

test('what is no HTTP gets a proper 400, and the connection ends', async (t) => {
  const { client } = await setup(t)
  const malformed = [
    'nonsense\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01',
    `GET /api/v1/info HTTP/9.9\r\n${HOST}\r\n`,
    `GET  HTTP/1.1\r\n${HOST}\r\n`,
    `GET /api/v1/info HTTP/1.1\r\nhost : x\r\n\r\n`,
    `GET /api/v1/info HTTP/1.1\r\n${HOST}a\x00b: c\r\n\r\n`,
    `POST /api/v1/unlock HTTP/1.1\r\n${HOST}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`,
    `POST /api/v1/unlock HTTP/1.1\r\n${HOST}content-length: -1\r\n\r\n`,
    `POST /api/v1/unlock HTTP/1.1\r\n${HOST}content-length: 1\r\ncontent-length: 2\r\n\r\n`,
    `GET /api/v1/\x7finfo\x01 HTTP/1.1\r\n${HOST}\r\n`,
    'GET /api/v1/info HTTP/1.1\r\n\r\n',
  ]
  for (const bytes of malformed) {
    const connection = await client()
    connection.send(bytes)
    assertError(await connection.answer(), 400, 'Bad Request')
    connection.destroy()
  }
})

test('unknown methods are 501 after path and state, whatever the case of their letters', async (t) => {
  const { client, sample } = await setup(t)
  const status = async (line: string) => {
    const connection = await client()
    connection.send(`${line} HTTP/1.1\r\n${HOST}\r\n`)
    const answer = await connection.answer()
    connection.destroy()
    assertCommon(answer!)
    return answer?.status
  }
  for (const method of ['FOO', 'get', 'GETT', 'PATCH', 'PROPFIND', 'A', 'X-Y'])
    assert.equal(await status(`${method} /api/v1/keys`), 501, method)
  assert.equal(await status('FOO /nothing'), 404)
  assert.equal(await status('CONNECT example.org:443'), 501)
  assert.equal(await status('OPTIONS /api/v1/keys'), 405)
  assert.equal(await status('TRACE /api/v1/keys'), 405)
  assert.equal(await status('OPTIONS *'), 400)
  sample.state = 'Locked'
  assert.equal(await status('FOO /api/v1/keys'), 412)
  assert.equal(await status('PATCH /api/v1/keys'), 412)
})

test('targets over 2000 characters are 414, headers over 16 KiB 431', async (t) => {
  const { client } = await setup(t)
  const connection = await client()
  connection.send(`GET /api/v1/info?${'x'.repeat(1987)} HTTP/1.1\r\n${HOST}\r\n`)
  assert.equal((await connection.answer())?.status, 200)
  connection.send(`GET /api/v1/info?${'x'.repeat(1988)} HTTP/1.1\r\n${HOST}\r\n`)
  assertError(await connection.answer(), 414, 'URI Too Long')
  connection.send(`GET /api/v1/info HTTP/1.1\r\n${HOST}x: ${'x'.repeat(20_000)}\r\n\r\n`)
  assertError(await connection.answer(), 431, 'Request Header Fields Too Large')
  await connection.end()
})

test('targets are taken as sent: dots are no path, absolute forms are', async (t) => {
  const { client } = await setup(t)
  const connection = await client()
  const get = async (target: string) => {
    connection.send(`GET ${target} HTTP/1.1\r\n${HOST}${ADMIN}\r\n`)
    return (await connection.answer())?.status
  }
  assert.equal(await get('/api/v1/keys/..'), 400)
  assert.equal(await get('/api/v1/keys/%2e%2e'), 400)
  assert.equal(await get('/api/v1/keys/../info'), 404)
  assert.equal(await get('//api/v1/info'), 404)
  assert.equal(await get('https://appliance/api/v1/info'), 200)
  assert.equal(await get('https://appliance/api/v1/keys/k%2A'), 200)
  assert.equal(await get('/api/v1/info#fragment'), 404)
})

test('pipelined requests are answered in order, the last before an error too', async (t) => {
  const { client } = await setup(t)
  const connection = await client()
  const sign = `POST /api/v1/keys/k/sign HTTP/1.1\r\n${HOST}${OPERATOR}content-length: 33\r\n\r\n{"mode":"EdDSA","message":"AAAA"}`
  connection.send(`${INFO.repeat(100) + sign + INFO}HEAD /api/v1/nothing HTTP/1.1\r\n${HOST}\r\n`)
  for (let n = 0; n < 100; n++) assert.equal((await connection.answer())?.body, '{"vendor":"Test"}')
  assert.equal((await connection.answer())?.body, '{"signature":"3"}')
  assert.equal((await connection.answer())?.status, 200)
  assert.equal((await connection.answer(true))?.status, 404)
  connection.send(`${sign}${sign}nonsense\r\n\r\n`)
  assert.equal((await connection.answer())?.status, 200)
  assert.equal((await connection.answer())?.status, 200)
  assertError(await connection.answer(), 400, 'Bad Request')
  assert.equal(await connection.end(), '')
})

test('a thousand pipelined requests, bodies among them, are all answered in order', async (t) => {
  const { client, sample } = await setup(t)
  const connection = await client()
  const put = (text: string) =>
    `PUT /api/v1/keys/k HTTP/1.1\r\n${HOST}${ADMIN}content-type: application/json\r\ncontent-length: ${text.length + 11}\r\n\r\n{"text":"${text}"}`
  const get = `GET /api/v1/keys/k HTTP/1.1\r\n${HOST}${ADMIN}\r\n`
  for (let n = 0; n < 1000; n++) connection.send(n % 3 === 0 ? put(`${n}`) : get)
  for (let n = 0; n < 1000; n++) assert.equal((await connection.answer())?.status, n % 3 === 0 ? 204 : 200)
  assert.equal(sample.keys.get('k'), '999')
})

test('a client that pipelines faster than it reads gets every answer', { timeout: 20_000 }, async (t) => {
  const answers = { '/small': 'x', '/large': 'x'.repeat(70_000) }
  const listener = await listenTls({
    app: {
      fetch: async (request) => {
        await request.arrayBuffer()
        const body = answers[new URL(request.url).pathname as keyof typeof answers]
        return new Response(body, { headers: { 'content-length': String(body.length) } })
      },
    },
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: sampleApi().log,
    now: () => NOW,
    limits: { closeMs: 100 },
  })
  t.after(() => listener.close())
  const post = (path: string, bytes: number) =>
    `POST ${path} HTTP/1.1\r\n${HOST}content-length: ${bytes}\r\n\r\n${'b'.repeat(bytes)}`
  for (let round = 0; round < 10; round++) {
    const requests = Array.from({ length: 300 }, (_, n) => post(n % 5 === 0 ? '/large' : '/small', (n * 997) % 3000))
    const sent = requests.join('')
    const connection = await RawClient.connect(listener)
    const lazy = setInterval(() => {
      connection.socket.pause()
      setTimeout(() => connection.socket.resume(), 10)
    }, 15)
    t.after(() => {
      clearInterval(lazy)
      connection.destroy()
    })
    const step = 3000 + 1500 * round
    for (let at = 0; at < sent.length; at += step) connection.send(sent.slice(at, at + step))
    for (const n of requests.keys()) assert.equal((await connection.answer())?.status, 200, `answer ${n} of ${round}`)
  }
})

test('clients that vanish or send noise at any moment harm nobody', { timeout: 60_000 }, async (t) => {
  const { listener, client, entries, sample } = await setup(t)
  const body = '{"mode":"EdDSA","message":"AAAA"}'
  const sign = `POST /api/v1/keys/k/sign HTTP/1.1\r\n${HOST}${OPERATOR}content-length: ${body.length}\r\n\r\n${body}`
  const chunked = `POST /api/v1/keys/k/sign HTTP/1.1\r\n${HOST}${OPERATOR}transfer-encoding: chunked\r\n\r\n5\r\n{"mod\r\n0\r\n\r\n`
  const talk = Buffer.from(INFO + sign + chunked + sign)
  for (let cut = 0; cut < talk.length; cut += 11) {
    const connection = await RawClient.connect(listener)
    const bytes = Buffer.from(talk.subarray(0, cut))
    if (cut % 2 === 1) bytes.fill(randomBytes(1), Math.floor(cut / 2), Math.floor(cut / 2) + 1)
    connection.send(bytes)
    if (cut % 3 === 0) await sleep(1)
    connection.destroy()
  }
  await sleep(50)
  sample.nowMs += 1000 // noise may have hit the passphrase
  const connection = await client()
  connection.send(talk)
  const statuses: (number | undefined)[] = []
  for (let n = 0; n < 4; n++) statuses.push((await connection.answer())?.status)
  assert.deepEqual(statuses, [200, 200, 400, 200])
  assert.deepEqual(
    entries.filter(({ level }) => level === 'error'),
    [],
  )
})

test('a client that closed its side still gets its answers', async (t) => {
  const { client } = await setup(t)
  const connection = await client()
  connection.socket.end(`GET /api/v1/keys HTTP/1.1\r\n${HOST}${ADMIN}\r\n${INFO}`)
  assert.equal((await connection.answer())?.body, '[{"id":"k"}]')
  assert.equal((await connection.answer())?.status, 200)
  assert.equal(await connection.end(), '')
})

test('a body that ends early leaves no trace but a closed connection', async (t) => {
  const { client, sample } = await setup(t)
  const connection = await client()
  connection.socket.end(
    `PUT /api/v1/keys/k/cert HTTP/1.1\r\n${HOST}${ADMIN}content-type: application/x-pem-file\r\ncontent-length: 5\r\n\r\nab`,
  )
  await connection.end()
  const other = await client()
  other.send(INFO)
  assert.equal((await other.answer())?.status, 200)
  assert.deepEqual(sample.calls, [])
})

test('broken chunks in a body are 400', async (t) => {
  const { client } = await setup(t)
  const connection = await client()
  connection.send(
    `POST /api/v1/keys/k/sign HTTP/1.1\r\n${HOST}${OPERATOR}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n`,
  )
  assertError(await connection.answer(), 400, 'Bad Request')
  await connection.end()
})

test('a body of 67 MiB is signed without holding other requests up for long', { timeout: 60_000 }, async (t) => {
  const { client } = await setup(t)
  const large = await client()
  const message = 'A'.repeat(66 * MIB)
  const body = `{"mode":"EdDSA","message":"${message}"}`
  large.send(`POST /api/v1/keys/k/sign HTTP/1.1\r\n${HOST}${OPERATOR}content-length: ${body.length}\r\n\r\n`)
  large.send(body)
  const answer = large.answer()
  const other = await client()
  let others = 0
  let done = false
  void answer.then(() => {
    done = true
  })
  while (!done) {
    other.send(INFO)
    assert.equal((await other.answer())?.status, 200)
    if (!done) others++
  }
  assert.equal((await answer)?.body, `{"signature":"${(message.length / 4) * 3}"}`)
  assert.ok(others >= 5, `${others} others were answered meanwhile`)
})

test('a large body with wrong credentials is refused at once, and the connection stays usable', {
  timeout: 60_000,
}, async (t) => {
  const { client } = await setup(t)
  const connection = await client()
  connection.send(
    `POST /api/v1/keys/k/sign HTTP/1.1\r\n${HOST}authorization: ${basic('operator', 'wrong one')}\r\ncontent-length: ${67 * MIB}\r\n\r\n`,
  )
  connection.send(new Uint8Array(MIB))
  assertError(await connection.answer(), 401, 'Unauthorized')
  for (let sent = 1; sent < 67; sent++) connection.send(new Uint8Array(MIB))
  connection.send(INFO)
  assert.equal((await connection.answer())?.status, 200)
})

test('a declared body over the limit is 413 before it comes, a chunked one when it exceeds it', async (t) => {
  const { client } = await setup(t, { drainBytesMax: 2 * MIB })
  const connection = await client()
  const head = `PUT /api/v1/keys/k/cert HTTP/1.1\r\n${HOST}${ADMIN}content-type: application/octet-stream\r\n`
  connection.send(`${head}transfer-encoding: chunked\r\n\r\n`)
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), new Uint8Array(65536), Buffer.from('\r\n')])
  for (let sent = 0; sent < 17; sent++) connection.send(chunk)
  assertError(await connection.answer(), 413, 'Payload Too Large')
  connection.send('0\r\n\r\n')
  connection.send(`${head}content-length: ${100 * MIB}\r\n\r\n`)
  assertError(await connection.answer(), 413, 'Payload Too Large')
  // What comes is discarded up to a bound; then the connection is cut.
  for (let sent = 0; sent < 100 && !connection.socket.destroyed; sent++) {
    connection.send(new Uint8Array(65536))
    await sleep(1)
  }
  assert.equal(await connection.end(), '')
})

test('a client that ends the connection with its request reads the refusal, also if it sends all of the request first', {
  timeout: 60_000,
}, async (t) => {
  const { listener } = await setup(t)
  const head = (bytes: number) =>
    `POST /api/v1/keys/k/sign HTTP/1.1\r\n${HOST}${ADMIN}connection: close\r\ncontent-length: ${bytes}\r\n\r\n`
  const upstream = connectPlain(listener.port, '127.0.0.1')
  await once(upstream, 'connect')
  t.after(() => upstream.destroy())
  const [near, far] = duplexPair()
  far.on('data', (bytes: Buffer) => upstream.write(bytes))
  upstream.on('data', (bytes: Buffer) => far.write(bytes)).on('end', () => far.end())
  const socket = connectTls({ socket: near, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  upstream.pause() // the client reads nothing while it sends
  const blind = new RawClient(socket)
  blind.send(head(16 * MIB))
  for (let sent = 0; sent < 16; sent++) {
    blind.send(new Uint8Array(MIB))
    await sleep(5)
  }
  await blind.send('')
  upstream.resume()
  assertError(await blind.answer(), 403, 'Forbidden')
  assert.equal(await blind.end(), '')

  const { client } = await setup(t, { drainMs: 500 })
  const slow = await client() // who takes too long is cut off
  slow.send(head(MIB))
  assertError(await slow.answer(), 403, 'Forbidden')
  assert.equal(await slow.end(), '')
  while (!slow.socket.destroyed) {
    slow.send('x')
    await sleep(20)
  }
})

test('an answer that ends its connection says nothing of keeping it, and does end it', async (t) => {
  const { log } = sampleApi()
  let answered = 0
  const answer = () => {
    answered++
    return new Response('last', { headers: { connection: 'close', 'content-length': '4' } })
  }
  const place = { host: '127.0.0.1', port: 0, identity: () => identity, log, now: () => NOW }
  const listener = await listenTls({ app: { fetch: answer }, ...place, limits: { closeMs: 200 } })
  const connection = await clientsOf(t, listener)()
  connection.send(INFO.repeat(3)) // and nothing else that was asked on it is done
  const { headers, body } = (await connection.answer())!
  assert.deepEqual([headers.connection, headers['keep-alive'], body], ['close', undefined, 'last'])
  assert.equal(await connection.end(), '')
  assert.equal(answered, 1)
})

test('a client that waits for 100 gets it only when its body is wanted', async (t) => {
  const { client, sample, entries } = await setup(t)
  const head = (user: string) =>
    `PUT /api/v1/keys/k/cert HTTP/1.1\r\n${HOST}authorization: ${basic(user)}\r\ncontent-type: application/octet-stream\r\ncontent-length: 3\r\nexpect: 100-continue\r\n\r\n`
  const wanted = await client()
  wanted.send(head('admin'))
  assert.equal((await wanted.answer())?.status, 100)
  wanted.send('abc')
  const created = await wanted.answer()
  assert.deepEqual([created?.status, created?.headers.connection], [201, 'keep-alive'])
  assert.deepEqual(sample.calls, ['certificate application/octet-stream 3'])
  const refused = await client()
  refused.send(head('operator'))
  const answer = await refused.answer()
  assertError(answer, 403, 'Forbidden')
  assert.equal(answer?.headers.connection, 'close')
  await refused.end()
  refused.send(`abc${INFO}`) // no request any more: it may be what the client sends for a body
  while (!refused.socket.destroyed) {
    refused.send(' ')
    await sleep(5)
  }
  assert.ok(!entries.some(({ message }) => message.includes('GET /api/v1/info')))
})

test('an upgrade and other expectations are ignored, HTTP/1.0 is answered and closed', async (t) => {
  const { client } = await setup(t)
  const connection = await client()
  connection.send(`GET /api/v1/info HTTP/1.1\r\n${HOST}connection: upgrade\r\nupgrade: websocket\r\n\r\n`)
  assert.equal((await connection.answer())?.status, 200)
  connection.send(`GET /api/v1/info HTTP/1.1\r\n${HOST}expect: tea\r\n\r\n`)
  assert.equal((await connection.answer())?.status, 200)
  const old = await client()
  old.send('GET /api/v1/info HTTP/1.0\r\n\r\n')
  assert.equal((await old.answer())?.status, 200)
  assert.equal(await old.end(), '')
})

test('slow headers are 408, and a connection that says nothing ends', { timeout: 20_000 }, async (t) => {
  const { client } = await setup(t, { headersMs: 300 })
  const slow = await client()
  slow.send('GET /api/v1/info HTTP/1.1\r\n')
  const trickle = setInterval(() => slow.send('a: b\r\n'), 50)
  assertError(await slow.answer(), 408, 'Request Timeout')
  clearInterval(trickle)
  await slow.end()
  const silent = await client()
  await silent.end()
})

test('headers whose end is not read while earlier answers are due are not slow', { timeout: 20_000 }, async (t) => {
  const listener = await listenTls({
    app: {
      fetch: async () => {
        await sleep(3)
        return new Response('done', { headers: { 'content-length': '4' } })
      },
    },
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: sampleApi().log,
    now: () => NOW,
    limits: { headersMs: 200, closeMs: 100 },
  })
  const connection = await clientsOf(t, listener)()
  const count = 600 // more than one TLS record
  connection.send(INFO.repeat(count))
  for (const { status } of await connection.answers(count)) assert.equal(status, 200)
})

test('slow bodies are 408, whether they are read or only discarded', { timeout: 20_000 }, async (t) => {
  const { client } = await setup(t, { drainMs: 300 }, { bodyLimits: { graceMs: 200, bytesPerSecondMin: 100_000 } })
  const head = (user: string) =>
    `POST /api/v1/keys/k/sign HTTP/1.1\r\n${HOST}authorization: ${basic(user)}\r\ncontent-length: 100000\r\n\r\n`
  const slow = await client()
  slow.send(head('operator'))
  const trickle = setInterval(() => slow.send(' '), 20)
  assertError(await slow.answer(), 408, 'Request Timeout')
  await slow.end()
  clearInterval(trickle)
  const refused = await client()
  refused.send(head('admin'))
  assert.equal((await refused.answer())?.status, 403)
  assert.equal(await refused.end(), '')
})

test('a client that does not take its answer is cut off, one whose request is worked on is not', {
  timeout: 20_000,
}, async (t) => {
  const page = 'x'.repeat(32 * MIB)
  const [cut, working] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const work = Promise.withResolvers<Response>()
  const listener = await listenTls({
    app: {
      fetch: async (request, { outgoing }) => {
        if (!request.url.endsWith('/large')) {
          working.resolve()
          return work.promise
        }
        outgoing?.once('close', cut.resolve)
        return new Response(page, { headers: { 'content-length': String(page.length) } })
      },
    },
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: sampleApi().log,
    now: () => NOW,
    limits: { stallMs: 300, closeMs: 100 },
  })
  t.after(() => listener.close())
  const lazy = await RawClient.connect(listener)
  lazy.socket.pause()
  lazy.send(`GET /large HTTP/1.1\r\n${HOST}\r\n`)
  await cut.promise
  lazy.socket.resume()
  assert.ok((await lazy.end()).length < page.length)
  const patient = await RawClient.connect(listener)
  patient.send(`GET /work HTTP/1.1\r\n${HOST}\r\n`)
  await working.promise
  await sleep(1200) // several times the limit of a stall
  work.resolve(new Response('done', { headers: { 'content-length': '4' } }))
  assert.equal((await patient.answer())?.body, 'done')
  patient.destroy()
})

test('of answers that nobody takes the oldest gives way when all together are too much, and small ones never', {
  timeout: 60_000,
}, async (t) => {
  const large = 'x'.repeat(8 * MIB)
  const listener = await listenTls({
    app: {
      fetch: async (request) => {
        const page = request.url.endsWith('/large') ? large : 'small'
        return new Response(page, { headers: { 'content-length': String(page.length) } })
      },
    },
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: sampleApi().log,
    now: () => NOW,
    limits: { unsentBytesMax: 20 * MIB },
  })
  t.after(() => listener.close())
  const ask = async (path: string) => {
    const client = await RawClient.connect(listener)
    const begins = once(client.socket, 'data') // by then the whole answer was given out, and counts
    client.socket.once('data', () => client.socket.pause())
    client.send(`GET ${path} HTTP/1.1\r\n${HOST}connection: close\r\n\r\n`)
    await begins
    return client
  }
  const small = await ask('/small')
  const clients = [await ask('/large'), await ask('/large'), await ask('/large')]
  const lengths = []
  for (const client of [...clients, small]) {
    client.socket.resume()
    lengths.push((await client.end()).length)
  }
  const [oldest, second, third, last] = lengths
  assert.ok(oldest! < large.length, `${oldest}`)
  assert.ok(second! > large.length && third! > large.length, `${second} ${third}`)
  assert.ok(last! > 0)
  const after = await ask('/large')
  after.socket.resume()
  assert.ok((await after.end()).length > large.length, 'what was taken counts no more')
})

test('over the bound the oldest connection of a stranger gives way, and none on which somebody logged in', {
  timeout: 60_000,
}, async (t) => {
  const { client } = await setup(t, { connectionsMax: 3 })
  const login = async (connection: RawClient) => {
    connection.send(`GET /api/v1/keys HTTP/1.1\r\n${HOST}${ADMIN}\r\n`)
    assert.equal((await connection.answer())?.status, 200)
  }
  const user = await client()
  await login(user)
  const strangers = [await client(), await client()]
  for (const one of strangers) {
    one.send(INFO)
    assert.equal((await one.answer())?.status, 200)
  }
  const third = await client()
  assert.equal(await strangers[0]!.end(), '')
  await login(strangers[1]!)
  await login(third)
  await assert.rejects(client())
  third.destroy()
  let next = await client().catch(() => null)
  while (next === null) {
    await sleep(50) // until the server has seen it go
    next = await client().catch(() => null)
  }
  for (const one of [user, strangers[1]!, next]) {
    one.send(INFO)
    assert.equal((await one.answer())?.status, 200)
  }
})

test('one address with all the connections there may be keeps nobody else out, before its handshakes or after them', {
  timeout: 60_000,
}, async (t) => {
  const { listener } = await setup(t, { connectionsMax: 100 })
  const { port } = listener
  const from = (n: number) => ({ localAddress: `127.0.0.${n}` }) as ConnectionOptions
  const flood = Array.from({ length: 300 }, () => {
    const socket = connectPlain({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
    return socket.on('error', () => {}).resume()
  })
  const secured = Array.from({ length: 100 }, () => RawClient.connect({ port }, from(2)))
  const outcomes = await Promise.allSettled(secured)
  t.after(() => {
    for (const socket of flood) socket.destroy()
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') outcome.value.destroy()
  })
  for (let n = 3; n < 30; n++) {
    const other = await RawClient.connect({ port }, from(n))
    t.after(() => other.destroy())
    other.send(INFO)
    assert.equal((await other.answer())?.status, 200)
  }
})

test('of ten megabytes of requests that one connection pipelines, some thirty wait; the rest is not read', {
  timeout: 60_000,
}, async (t) => {
  let begun = 0
  const parked: ((response: Response) => void)[] = []
  const answer = () => new Response(null, { status: 401, headers: { 'content-length': '0' } })
  const listener = await listenTls({
    app: {
      fetch: () => {
        begun++
        return new Promise((resolve) => parked.push(resolve))
      },
    },
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: sampleApi().log,
    now: () => NOW,
    limits: { closeMs: 100 },
  })
  const client = await RawClient.connect(listener)
  t.after(async () => {
    client.destroy()
    await listener.close()
  })
  const seen: unknown[] = []
  const parsed = () => seen.length
  const { emit } = Server.prototype
  t.mock.method(Server.prototype, 'emit', function (this: Server, ...parameters: Parameters<typeof emit>) {
    if (String(parameters[0]) === 'request') seen.push(parameters)
    return emit.apply(this, parameters)
  })
  const login = `GET /api/v1/keys HTTP/1.1\r\n${HOST}authorization: ${basic('nobody', 'a wrong one')}\r\n\r\n`
  const count = Math.ceil((10 * MIB) / login.length)
  client.send(login.repeat(count))
  while (begun === 0) await sleep(1)
  for (let round = 0; round < 100; round++) await sleep(1)
  assert.ok(parsed() < 32 + 16_384 / login.length, `${parsed()} requests were parsed`) // and what came in one TLS record
  for (let answered = 1; answered <= 1000; answered++) {
    while (parked.length === 0) await sleep(0)
    parked.shift()!(answer())
    assert.equal((await client.answer())?.status, 401)
    const most = answered + 32 + (answered < 200 ? 16_384 : 1024) / login.length + 1
    assert.ok(parsed() <= most, `${parsed()} requests were parsed when ${answered} were answered`)
  }
})

test('requests that wait on all connections together are bounded, and none that fits is lost', {
  timeout: 60_000,
}, async (t) => {
  const { client } = await setup(t, { waitingTotalMax: 200 })
  const clients = await Promise.all(Array.from({ length: 20 }, client))
  for (const one of clients) one.send(INFO.repeat(30))
  const counts = await Promise.all(
    clients.map(async (one) => {
      for (let n = 0; n < 30; n++) if ((await one.answer())?.status !== 200) return n
      return 30
    }),
  )
  assert.ok(counts.filter((count) => count === 30).length >= 6, counts.join(' '))
  const other = await client()
  other.send(INFO.repeat(5))
  for (let n = 0; n < 5; n++) assert.equal((await other.answer())?.status, 200)
})

test('what strangers do has a share of the log, users have all of it', async (t) => {
  const { client, entries } = await setup(t)
  const ask = async (connection: RawClient, text: string, count: number) => {
    connection.send(text.repeat(count))
    for (let n = 0; n < count; n++) await connection.answer()
  }
  await ask(await client(), INFO, 1000)
  await sleep(20)
  const lines = () => entries.filter(({ source }) => source === 'access').map(({ message }) => message)
  assert.ok(lines().length < 800, `${lines().length} lines`)
  entries.length = 0
  const user = await client()
  await ask(user, `GET /api/v1/keys HTTP/1.1\r\n${HOST}${ADMIN}\r\n`, 1000)
  await sleep(100)
  assert.ok(lines().length >= 1996, `${lines().length} lines`)
  await ask(await client(), INFO, 1)
  await sleep(20)
  assert.match(lines().join('\n'), /\d+ requests without credentials were not logged here/)
})

test('an idle connection is kept for its time, then closed', { timeout: 20_000 }, async (t) => {
  const { client } = await setup(t, { keepAliveMs: 200 })
  const connection = await client()
  connection.send(INFO)
  await connection.answer()
  assert.equal(await connection.end(), '')
})

test('a request that came before its connection was closed is answered, however busy the thread was', {
  timeout: 20_000,
}, async (t) => {
  const { client } = await setup(t, { keepAliveMs: 400 })
  const connection = await client()
  connection.send(INFO)
  assert.match((await connection.answer())!.headers['keep-alive'] ?? '', /^timeout=0$/)
  await sleep(200)
  await new Promise(setImmediate) // timers are next, and what has come is read after them
  connection.send(INFO)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
  assert.equal((await connection.answer())?.status, 200)
})

test('who stops in a body that nobody wants is stalled, not idle', { timeout: 20_000 }, async (t) => {
  const { client } = await setup(t, { stallMs: 200, keepAliveMs: 3_600_000, drainMs: 3_600_000 })
  const connection = await client()
  connection.send(`POST /api/v1/info HTTP/1.1\r\n${HOST}content-length: 10\r\n\r\nx`)
  assert.equal((await connection.answer())?.status, 405)
  assert.equal(await connection.end(), '')
})

test('only TLS 1.2 and 1.3 are spoken, and a client that stops in its handshake is cut off', {
  timeout: 20_000,
}, async (t) => {
  const { listener } = await setup(t, { handshakeMs: 200 })
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const client = await RawClient.connect(listener, { minVersion: version, maxVersion: version })
    assert.equal(client.socket.getProtocol(), version)
    client.destroy()
  }
  await assert.rejects(
    RawClient.connect(listener, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }),
  )
  await assert.rejects(RawClient.connect(listener, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' }))
  const plain = connectPlain(listener.port, '127.0.0.1')
  plain.on('error', () => {})
  plain.resume()
  await once(plain, 'close')
})

test('a new identity is for new connections at once, resumed ones included', async (t) => {
  const api = sampleApi()
  const next = await makeIdentity()
  let current = identity
  const listener = await listenTls({
    app: api.app,
    host: '127.0.0.1',
    port: 0,
    identity: () => current,
    log: api.log,
    now: () => NOW,
    limits: { closeMs: 100 },
  })
  t.after(() => listener.close())
  const fingerprint = (client: RawClient) => client.socket.getPeerX509Certificate()?.fingerprint256
  const old = await RawClient.connect(listener)
  const ticket = once(old.socket, 'session')
  old.send(INFO)
  assert.equal((await old.answer())?.status, 200)
  const [session] = (await ticket) as [Buffer]
  assert.equal(fingerprint(old), new X509Certificate(identity.cert).fingerprint256)
  current = next
  listener.renewIdentity()
  old.send(INFO)
  assert.equal((await old.answer())?.status, 200)
  for (const options of [{}, { session }]) {
    const client = await RawClient.connect(listener, options)
    assert.equal(client.socket.isSessionReused(), false)
    assert.equal(fingerprint(client), new X509Certificate(next.cert).fingerprint256)
    client.destroy()
  }
  old.destroy()
})

test('closing takes no more connections, lets running requests finish and cuts what lasts too long', {
  timeout: 20_000,
}, async (t) => {
  const { listener, client } = await setup(t, {}, {})
  const idle = await client()
  idle.send(INFO)
  await idle.answer()
  const running = await client()
  running.send(
    `PUT /api/v1/keys/k/cert HTTP/1.1\r\n${HOST}${ADMIN}content-type: application/octet-stream\r\ncontent-length: 3\r\n\r\nab`,
  )
  const stuck = await client()
  stuck.send('GET /api/v1/info HTTP/1.1\r\n')
  await sleep(50)
  const closed = listener.close()
  await idle.end()
  running.send('c')
  const last = await running.answer()
  assert.deepEqual([last?.status, last?.headers.connection], [201, 'close'])
  await closed
  await stuck.end()
  await assert.rejects(RawClient.connect(listener))
})

test('requests and answers are logged without their query, and counted', async (t) => {
  const { client, entries, traffic } = await setup(t)
  const connection = await client()
  connection.send(`GET /api/v1/info?passphrase=hunter2 HTTP/1.1\r\n${HOST}\r\n`)
  await connection.answer()
  connection.send(`GET /api/v1/keys HTTP/1.1\r\n${HOST}authorization: ${basic('admin', 'hunter2 again')}\r\n\r\n`)
  await connection.answer()
  connection.send('nonsense\r\n\r\n')
  await connection.answer()
  await sleep(20)
  const lines = entries
    .filter(({ source, level }) => source === 'access' && level === 'info')
    .map(({ message }) => message)
  assert.match(lines[0]!, /^\[1\] request GET \/api\/v1\/info$/)
  assert.match(lines[1]!, /^\[2\] response 200 response time \d+\.\d+$/)
  assert.match(lines.at(-1)!, /response 400 response time/)
  assert.doesNotMatch(JSON.stringify(entries), /hunter2|aHVudGVy/)
  assert.equal(traffic.total, 3)
  assert.deepEqual(
    [...traffic.byStatus],
    [
      [200, 1],
      [401, 1],
      [400, 1],
    ],
  )
  assert.ok(traffic.responseSeconds >= 0 && traffic.responseSeconds < 1)
})

test('the rate limit goes by the address of the socket', async (t) => {
  const { client } = await setup(t)
  const connection = await client()
  const get = (passphrase?: string) =>
    `GET /api/v1/keys HTTP/1.1\r\n${HOST}x-forwarded-for: 9.9.9.${passphrase?.length ?? 0}\r\nauthorization: ${basic('admin', passphrase)}\r\n\r\n`
  connection.send(get('wrong guess'))
  assert.equal((await connection.answer())?.status, 401)
  connection.send(get())
  const limited = await connection.answer()
  assertError(limited, 429, 'Too Many Requests')
  assert.equal(limited?.headers['retry-after'], '1')
})

/** Answer to a client that speaks without TLS; the connection is closed then. */
async function speakPlain(port: number, text: string): Promise<string> {
  const socket = connectPlain(port, '127.0.0.1')
  socket.setEncoding('latin1')
  socket.write(text)
  let received = ''
  for await (const chunk of socket) received += chunk
  return received
}

test('who speaks plain HTTP to the TLS port gets 400 with the right address', async (t) => {
  const { listener, traffic, entries } = await setup(t)
  const { port } = listener
  for (const [request, address] of [
    [`GET /api/v1/info?a=b HTTP/1.1\r\nHost: coffer.example:${port}\r\n\r\n`, `coffer.example:${port}/api/v1/info?a=b`],
    ['DELETE /api/v1/keys/k HTTP/1.1\r\nhost: [::1]:9443\r\n\r\n', '[::1]:9443/api/v1/keys/k'],
    ['POST /x HTTP/1.1\r\nhost: coffer.example\r\ncontent-length: 9\r\n\r\n', `coffer.example:${port}/x`],
    ['GET / HTTP/1.1\r\nhost: coffer.example:443\r\n\r\n', 'coffer.example/'],
    ['GET / HTTP/1.0\r\n\r\n', `127.0.0.1:${port}/`],
    ['BREW /pot HTTP/1.1\r\nhost: h\r\n\r\n', `127.0.0.1:${port}/pot`],
    ['GET / HTTP/1.1\r\nhost: "><script>\r\n\r\n', `127.0.0.1:${port}/`],
  ] as const) {
    const answer = await speakPlain(port, request)
    assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/, request)
    assert.match(answer, /\r\nconnection: close\r\n/i)
    const { message } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
    assert.equal(message, `This port speaks TLS: https://${address}`)
  }
  assert.equal(traffic.byStatus.get(400), 7)
  const logged = entries.map(({ message }) => message).filter((message) => message.includes('without TLS'))
  assert.ok(logged[0]!.endsWith('request GET /api/v1/info without TLS'))
})

test('a client that sends nothing to the TLS port, or nonsense, or half a line, is cut off; others go on', async (t) => {
  const { listener, client } = await setup(t, { handshakeMs: 300 })
  for (const text of ['', 'G', 'GET / HTTP/1.1\r\nhost: h\r\n', '\u0016', '\u0000\u0001\u0002nonsense of some length'])
    assert.equal(await speakPlain(listener.port, text), '', JSON.stringify(text))
  assert.match(await speakPlain(listener.port, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 .*Not an HTTP\/1\.1 request/s)
  const whole = await client()
  whole.send(`GET /api/v1/info HTTP/1.1\r\n${HOST}\r\n`)
  assert.equal((await whole.answer())?.status, 200)
})

test('a handshake that takes too long ends the connection, without an answer to what was not asked', {
  timeout: 20_000,
}, async (t) => {
  const { listener, traffic } = await setup(t, { handshakeMs: 200 })
  const upstream = connectPlain(listener.port, '127.0.0.1')
  await once(upstream, 'connect')
  const [near, far] = duplexPair()
  let sent = 0
  far.on('data', (bytes: Buffer) => {
    if (sent++ === 0) upstream.write(bytes)
    else setTimeout(() => upstream.write(bytes), 400) // the client's last words of the handshake
  })
  upstream.on('data', (bytes) => far.write(bytes))
  upstream.on('error', () => {})
  const secure = connectTls({ socket: near, rejectUnauthorized: false })
  secure.on('error', () => {})
  await once(upstream, 'close')
  assert.ok(sent > 1)
  assert.deepEqual([traffic.total, secure.read()], [0, null])
})

test('a handshake that comes byte by byte is a handshake', async (t) => {
  const { listener } = await setup(t)
  const upstream = connectPlain(listener.port, '127.0.0.1')
  await once(upstream, 'connect')
  const [near, far] = duplexPair()
  far.on('data', async (bytes: Buffer) => {
    for (const byte of bytes.subarray(0, 3)) {
      upstream.write(Buffer.from([byte]))
      await sleep(2)
    }
    upstream.write(bytes.subarray(3))
  })
  upstream.on('data', (bytes) => far.write(bytes))
  t.after(() => upstream.destroy())
  const secure = connectTls({ socket: near, rejectUnauthorized: false })
  await once(secure, 'secureConnect')
})
