/** Requests that share connections, over TLS to real servers of this computer, which stand in for those on the network. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { createConnector } from '../../firmware/outgoing/connect.ts'
import { OutgoingError } from '../../firmware/outgoing/error.ts'
import { exchange } from '../../firmware/outgoing/http.ts'
import { createIdleConnections } from '../../firmware/outgoing/idle-connections.ts'
import type { HttpJob } from '../../firmware/outgoing/link.ts'
import { NO_SETTINGS } from '../chat/support/outgoing.ts'

const PUBLIC = '203.0.113.9'
const NAMES = ['push.example.org', 'other.example.org']
const identity = await makeTlsIdentity(systemRandom, undefined, NAMES)

interface Answering {
  /** Number of the connection, and of the request on it; both begin at 1. */
  connection: number
  request: number
  socket: Socket
}

/** A server of both names, which notes the connection of each request. */
async function openServer(
  t: TestContext,
  answer: (asked: Answering, ...rest: Parameters<RequestListener>) => void = (_, __, response) => response.end('{}'),
) {
  const numbers = new Map<Socket, Answering>()
  const asked: string[] = []
  const server = createServer({ key: Buffer.from(identity.key), cert: identity.cert }, async (request, response) => {
    const { socket } = request
    const one = numbers.get(socket) ?? { connection: numbers.size + 1, request: 0, socket }
    numbers.set(socket, one)
    one.request++
    for await (const _ of request);
    asked.push(`${request.headers.host} ${one.connection}`)
    answer(one, request, response)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const network = { addresses: [PUBLIC] as readonly string[] }
  const connector = createConnector(
    { ...NO_SETTINGS, authorities: Buffer.from(identity.cert), publicAuthorities: false },
    { resolve: async () => network.addresses, own: () => [], connect: () => connect(port, '127.0.0.1') },
  )
  t.after(() => connector.idle.close())
  const open = () => new Promise<number>((done) => server.getConnections((_, count) => done(count)))
  const untilOpen = async (count: number) => {
    while ((await open()) !== count) await wait(5)
  }
  return { connector, asked, network, untilOpen }
}

type Server = Awaited<ReturnType<typeof openServer>>

const ask = (
  { connector }: Pick<Server, 'connector'>,
  host = NAMES[0],
  { keepAlive = true, ...others }: { keepAlive?: boolean } & Partial<Omit<HttpJob, 'keepAlive'>> = {},
) =>
  exchange(
    connector,
    {
      ...{ do: 'http', method: 'POST', url: `https://${host}/`, headers: {}, answerHeaders: [] },
      ...{ body: Buffer.from('body'), timeoutMs: 60_000, ...(keepAlive && { keepAlive }), ...others },
    },
    new AbortController().signal,
  )

test('requests to one origin share a connection, and those to another host or port have others', async (t) => {
  const server = await openServer(t)
  for (const host of ['push.example.org', 'push.example.org', 'other.example.org', 'push.example.org:8443'])
    assert.equal((await ask(server, host)).status, 200)
  for (const host of ['push.example.org:8443', 'other.example.org', 'push.example.org']) await ask(server, host)
  assert.deepEqual(server.asked, [
    ...['push.example.org 1', 'push.example.org 1', 'other.example.org 2', 'push.example.org:8443 3'],
    ...['push.example.org:8443 3', 'other.example.org 2', 'push.example.org 1'],
  ])
})

test('without keepAlive each has a connection of its own, which ends', async (t) => {
  const server = await openServer(t)
  await ask(server)
  for (let n = 0; n < 2; n++) await ask(server, NAMES[0], { keepAlive: false })
  assert.deepEqual(server.asked, ['push.example.org 1', 'push.example.org 2', 'push.example.org 3'])
  await server.untilOpen(1)
})

test('two at once need two connections, of which the next one takes either', async (t) => {
  const pending: (() => void)[] = []
  const server = await openServer(t, (_, __, response) => void pending.push(() => response.end()))
  const until = async (count: number) => {
    while (pending.length < count) await wait(1)
  }
  const running = [ask(server), ask(server)]
  await until(2)
  for (const end of pending) end()
  await Promise.all(running)
  const next = ask(server)
  await until(3)
  pending[2]!()
  await next
  const [first, second, third] = server.asked
  assert.notEqual(first, second)
  assert.ok(third === first || third === second)
})

test('a name that leads elsewhere by now is not asked over the earlier connection', async (t) => {
  const server = await openServer(t)
  await ask(server)
  server.network.addresses = ['203.0.113.10']
  await ask(server)
  server.network.addresses = ['127.0.0.1']
  await assert.rejects(ask(server), /leads to an address that nothing is sent to/)
  server.network.addresses = [PUBLIC]
  await ask(server)
  assert.deepEqual(server.asked, ['push.example.org 1', 'push.example.org 2', 'push.example.org 1'])
})

test('a server that closes its connections loses no request', async (t) => {
  const ways: Record<string, Parameters<typeof openServer>[1]> = {
    'after the answer': ({ socket }, _, response) => response.end('{}', () => socket.end()),
    'and says so': (_, __, response) => response.writeHead(200, { connection: 'close' }).end('{}'),
    'at once': ({ socket }, _, response) => response.end('{}', () => socket.destroy()),
    'when the next request comes': ({ request, socket }, _, response) =>
      request === 1 ? response.end('{}') : socket.destroy(),
    'with the status 408': ({ request }, _, response) =>
      response.writeHead(request === 1 ? 200 : 408, request === 1 ? {} : { connection: 'close' }).end('{}'),
  }
  for (const [way, answer] of Object.entries(ways)) {
    const server = await openServer(t, answer)
    for (let n = 0; n < 6; n++) assert.equal((await ask(server)).status, 200, way)
    assert.ok(server.asked.includes('push.example.org 3'), way)
  }
})

test('a request on a new connection is sent once: not again if the server ends that or is silent', async (t) => {
  const ends = await openServer(t, ({ socket }) => socket.destroy())
  await assert.rejects(ask(ends), OutgoingError)
  assert.equal(ends.asked.length, 1)
  const silent = await openServer(t, ({ request }, _, response) => void (request === 1 && response.end('{}')))
  await ask(silent)
  await assert.rejects(ask(silent, NAMES[0], { timeoutMs: 50 }), /did not answer within/)
  assert.deepEqual(silent.asked, ['push.example.org 1', 'push.example.org 1'])
  await silent.untilOpen(0)
})

test('a name that also leads elsewhere by now is asked over the earlier connection', async (t) => {
  const server = await openServer(t)
  for (const addresses of [[PUBLIC], ['203.0.113.10', PUBLIC], [PUBLIC, '203.0.113.11']]) {
    server.network.addresses = addresses
    await ask(server)
  }
  assert.deepEqual(server.asked, Array(3).fill('push.example.org 1'))
})

test('a request on an earlier connection is sent again after three seconds of silence', async (t) => {
  const server = await openServer(t, ({ connection, request }, _, response) => {
    if (connection > 1 || request === 1) response.end('{}')
  })
  await ask(server)
  assert.equal((await ask(server, NAMES[0], { timeoutMs: 10_000 })).status, 200)
  assert.deepEqual(server.asked, ['push.example.org 1', 'push.example.org 1', 'push.example.org 2'])
  await server.untilOpen(1)
})

test('a request on an earlier connection is sent once if its answer is malformed', async (t) => {
  const answers = {
    garbage: 'garbage\r\n\r\n',
    'a long header': `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(40_000)}\r\n\r\n`,
    'another protocol': 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n',
  }
  for (const [name, answer] of Object.entries(answers)) {
    const server = await openServer(t, ({ request, socket }, _, response) => {
      if (request === 1) response.end('{}')
      else socket.write(answer)
    })
    await ask(server)
    await assert.rejects(ask(server), OutgoingError, name)
    assert.deepEqual(server.asked, ['push.example.org 1', 'push.example.org 1'], name)
  }
})

test('a request that cannot be written leaves no connection open', async (t) => {
  const server = await openServer(t)
  const streams: Socket[] = []
  const connectTls: typeof server.connector.connectTls = async (...args) => {
    const stream = await server.connector.connectTls(...args)
    streams.push(stream)
    return stream
  }
  const asked = ask({ connector: { ...server.connector, connectTls } }, NAMES[0], { headers: { topic: 'a\nb' } })
  await assert.rejects(asked, OutgoingError)
  assert.deepEqual(
    streams.map(({ destroyed }) => destroyed),
    [true],
  )
})

test('an answer that comes right after another one is not that to the next request', async (t) => {
  const server = await openServer(t, ({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    socket.write('HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n')
  })
  for (let n = 0; n < 5; n++) assert.equal((await ask(server)).status, 200)
  assert.equal(new Set(server.asked).size, 5)
})

test('an answer that nobody asked for is not that to the next request', async (t) => {
  const server = await openServer(t, ({ socket }, _, response) => {
    response.end('{}', () => socket.write('HTTP/1.1 418 I am a Teapot\r\ncontent-length: 0\r\n\r\n'))
  })
  for (let n = 0; n < 3; n++) {
    assert.equal((await ask(server)).status, 200)
    await server.untilOpen(0)
  }
})

test('an answer that is not read to its end ends the connection', async (t) => {
  const server = await openServer(t, (_, __, response) => response.end('x'.repeat(300_000)))
  await assert.rejects(ask(server), /too long/)
  await server.untilOpen(0)
})

test('eight connections wait at most, and none once the settings have changed', async (t) => {
  const pending: (() => void)[] = []
  const server = await openServer(t, (_, __, response) => void pending.push(() => response.end()))
  const running = Array.from({ length: 12 }, () => ask(server))
  while (pending.length < 12) await wait(5)
  const last = ask(server)
  while (pending.length < 13) await wait(5)
  for (const end of pending.slice(0, 12)) end()
  await Promise.all(running)
  await server.untilOpen(9) // one is in use
  server.connector.idle.close()
  await server.untilOpen(1)
  pending[12]!()
  assert.equal((await last).status, 200)
  await server.untilOpen(0)
})

test('a connection waits for a while only, until bytes come, and not after the end', async (t) => {
  const accepted: Socket[] = []
  const server = createTcpServer((socket) => void accepted.push(socket))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  const open = async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect')
    while (accepted.length === 0) await wait(1)
    return { socket, other: accepted.pop()! }
  }
  const keeping = setInterval(() => {}, 1000) // the timer of the connection does not keep the test
  t.after(() => clearInterval(keeping))

  const connectionOver = (stream: Socket) => ({
    ...{ stream, origin: 'one', address: undefined, connectedMs: performance.now() },
  })

  const short = createIdleConnections(20)
  const { socket: first } = await open()
  await short.put(connectionOver(first))
  assert.equal(await short.take('other', []), null)
  await once(first, 'close')
  assert.equal(await short.take('one', []), null)

  const long = createIdleConnections(1e8)
  const { socket: second, other } = await open()
  await long.put(connectionOver(second))
  other.write('bytes')
  await once(second, 'close')
  const [third, fourth] = [(await open()).socket, (await open()).socket]
  await long.put(connectionOver(third))
  long.close()
  await long.put(connectionOver(fourth))
  assert.deepEqual([third.destroyed, fourth.destroyed], [true, true])
})

test('a connection serves for five minutes at most', async (t) => {
  const server = await openServer(t)
  const { idle } = server.connector
  const takeIdle = async () => (await idle.take('https://push.example.org', [PUBLIC]))!
  await ask(server)
  const first = await takeIdle()
  await idle.put(first)
  await ask(server)
  const again = await takeIdle()
  assert.deepEqual([again.stream === first.stream, again.connectedMs], [true, first.connectedMs])
  await idle.put({ ...again, connectedMs: again.connectedMs - 300_000 })
  await ask(server)
  assert.deepEqual(server.asked, ['push.example.org 1', 'push.example.org 1', 'push.example.org 2'])
})
