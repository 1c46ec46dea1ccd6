/** The method LIST on the TLS port, by raw bytes: wherever its head is cut, before, between and behind other requests, and too long. */

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import test, { type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLog, type LogEntry } from '../../firmware/base/log.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import type { Connection } from '../../firmware/http/server/exchange.ts'
import type { ListenerLimits } from '../../firmware/http/server/limits.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'
import { createTraffic } from '../../firmware/http/server/traffic.ts'
import { clientsOf, type RawClient } from '../support/raw-client.ts'
import { sampleApi } from './sample-api.ts'

const identity = await makeTlsIdentity((bytes) => new Uint8Array(randomBytes(bytes)))

const HOST = 'host: appliance\r\n'
const request = (method: string, path: string, more = '') => `${method} ${path} HTTP/1.1\r\n${HOST}${more}\r\n`
const post = (body: string) => `${request('POST', '/post', `content-length: ${body.length}\r\n`)}${body}`

const context = new AsyncLocalStorage<string>()

/** Answers with the method, path and body of each request, and with the context in which it began. */
async function echo(t: TestContext, limits: Partial<ListenerLimits> = {}) {
  const entries: LogEntry[] = []
  const traffic = createTraffic()
  const inContext = new Map<string, (incoming: IncomingMessage) => void>()
  const held = new Map<string, PromiseWithResolvers<void>>()
  const listener = await listenTls({
    app: {
      fetch: async ({ method }, { incoming }: Connection) => {
        const path = incoming!.url!
        const began = context.getStore()
        const body = (await incoming!.toArray()).join('')
        await held.get(path)?.promise
        context.run(path, () => inContext.get(path)?.(incoming!))
        return new Response(JSON.stringify({ method, path, body, began }))
      },
    },
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: createLog('debug', (entry) => entries.push(entry)),
    now: () => 0,
    traffic,
    limits: { ...limits, closeMs: 200 },
  })
  const lines = () => entries.filter(({ source }) => source === 'access').map(({ message }) => message)
  const hold = (path: string) => {
    const one = Promise.withResolvers<void>()
    held.set(path, one)
    return one.resolve
  }
  return { client: clientsOf(t, listener), lines, traffic, hold, inContext }
}

async function expectEchoes(connection: RawClient, ...expected: [method: string, path: string, body?: string][]) {
  for (const [method, path, body = ''] of expected) {
    const answer = await connection.answer()
    assert.deepEqual([answer?.status, answer && JSON.parse(answer.body)], [200, { method, path, body }])
  }
}

/** Sends each part as a record of its own, and waits until the other side has had time to read it alone. */
async function sendParts(connection: RawClient, parts: readonly string[]) {
  connection.socket.setNoDelay(true)
  for (const part of parts) {
    await connection.send(part)
    await sleep(2)
  }
}

test('LIST keeps the connection, before and after other requests and itself', async (t) => {
  const { client } = await echo(t)
  const connection = await client()
  const all = ['GET', 'LIST', 'LIST', 'GET', 'LIST', 'HEAD', 'LIST', 'DELETE'] as const
  for (const method of all) {
    connection.send(request(method, '/keys'))
    const answer = await connection.answer(method === 'HEAD')
    assert.equal(answer?.status, 200, method)
    assert.equal(answer.headers.connection, 'keep-alive', method)
    if (method !== 'HEAD') assert.deepEqual(JSON.parse(answer.body), { method, path: '/keys', body: '' })
  }
})

test('LIST may be the first request of a connection, with a body and after empty lines', async (t) => {
  const { client } = await echo(t)
  const connection = await client()
  connection.send(`\r\n\r\n${request('LIST', '/a', 'content-length: 4\r\n')}body${request('LIST', '/b')}`)
  await expectEchoes(connection, ['LIST', '/a', 'body'], ['LIST', '/b'])
  connection.send(
    `${request('LIST', '/c', 'transfer-encoding: chunked\r\n')}2\r\nxy\r\n0\r\n\r\n${request('GET', '/d')}`,
  )
  await expectEchoes(connection, ['LIST', '/c', 'xy'], ['GET', '/d'])
})

test('the head of LIST may be cut at every byte', { timeout: 60_000 }, async (t) => {
  const { client } = await echo(t)
  const list = request('LIST', '/keys?after=a')
  const before = post('LIST')
  await Promise.all(
    Array.from(list, async (_, cut) => {
      const connection = await client()
      await sendParts(connection, [list.slice(0, cut), list.slice(cut)])
      await expectEchoes(connection, ['LIST', '/keys?after=a'])
      await sendParts(connection, [before + list.slice(0, cut), list.slice(cut) + before])
      await expectEchoes(connection, ['POST', '/post', 'LIST'], ['LIST', '/keys?after=a'], ['POST', '/post', 'LIST'])
    }),
  )
  const connection = await client()
  for (let round = 0; round < 2; round++) {
    await sendParts(connection, [...list])
    await expectEchoes(connection, ['LIST', '/keys?after=a'])
  }
})

test('LIST waits behind unanswered requests, and others behind LIST', async (t) => {
  const { client, hold } = await echo(t)
  for (const parts of [[0], [0, 1], [0, 2], [0, 3], [0, 4], [0, 9]]) {
    const release = hold('/post')
    const connection = await client()
    const list = request('LIST', '/keys')
    await sendParts(
      connection,
      parts.map((from, i) => (i === 0 ? post('LIST /a') : '') + list.slice(from, parts[i + 1])),
    )
    const more = request('LIST', '/more') + request('GET', '/end')
    await sendParts(connection, [more.repeat(100)])
    await sleep(20)
    assert.equal(connection.received().length, 0)
    release()
    await expectEchoes(connection, ['POST', '/post', 'LIST /a'], ['LIST', '/keys'])
    for (let n = 0; n < 100; n++) await expectEchoes(connection, ['LIST', '/more'], ['GET', '/end'])
  }
})

test('LIST and requests behind it do not begin in the context of an earlier request', async (t) => {
  const { client, inContext } = await echo(t)
  const connection = await client()
  inContext.set('/first', ({ socket }) => socket.emit('data', Buffer.from(request('LIST', '/a'))))
  connection.send(request('GET', '/first'))
  await expectEchoes(connection, ['GET', '/first'], ['LIST', '/a'])
  connection.send(request('GET', '/b') + request('LIST', '/c'))
  await expectEchoes(connection, ['GET', '/b'], ['LIST', '/c'])
})

test('LIST has the limits of GET: 16 KiB of head, 10 seconds for it', { timeout: 20_000 }, async (t) => {
  const { client } = await echo(t, { headersMs: 400 })
  const padded = (method: string, bytes: number) => request(method, '/keys', `x: ${'x'.repeat(bytes)}\r\n`)
  for (const [bytes, status] of [
    [15 * 1024, 200],
    [16 * 1024, 431],
    [17 * 1024, 431],
  ] as const)
    for (const method of ['GET', 'LIST']) {
      const connection = await client()
      connection.send(padded(method, bytes))
      assert.equal((await connection.answer())?.status, status, `${method} ${bytes}`)
      if (status === 431) assert.equal(await connection.end(), '')
    }
  // The largest head that GET may have is that of LIST, to the byte.
  const fits = async (method: string, bytes: number): Promise<boolean> => {
    const connection = await client()
    connection.send(padded(method, bytes))
    return (await connection.answer())?.status === 200
  }
  let [largest, tooLarge] = [15 * 1024, 16 * 1024]
  while (tooLarge - largest > 1) {
    const middle = (largest + tooLarge) >> 1
    if (await fits('GET', middle)) largest = middle
    else tooLarge = middle
  }
  // The limit counts the target and the header fields of a request, not its method.
  assert.deepEqual([await fits('LIST', largest), await fits('LIST', largest + 1)], [true, false])
  for (const begun of ['LIS', 'LIST', 'LIST /keys HTTP/1.1\r\nhost: a']) {
    const connection = await client()
    connection.send(begun)
    assert.equal((await connection.answer())?.status, 408, begun)
  }
})

test('only LIST is LIST: methods that resemble it are unknown, LINK is LINK', async (t) => {
  const { client } = await echo(t)
  for (const method of ['LISK', 'LISTS', 'LISTK', 'LISt', 'UNLIST', 'BLIST', 'GLIST', 'LINKT', 'LINT', 'LIS'])
    for (const cut of [0, 1, 2, 3, 4]) {
      const connection = await client()
      const sent = request(method, '/keys')
      await sendParts(connection, [sent.slice(0, cut), sent.slice(cut)].filter(Boolean))
      const answer = await connection.answer()
      assert.notDeepEqual(answer?.body, JSON.stringify({ method: 'LIST', path: '/keys', body: '' }))
      if (answer?.status === 200) assert.equal(JSON.parse(answer.body).method, 'UNKNOWN')
      else assert.equal(answer?.status, 400, `${method} ${cut}`)
      assert.equal(await connection.end(), '')
    }
  const connection = await client()
  connection.send(request('LINK', '/a') + request('LIST', '/b') + request('LINK', '/c') + request('UNLINK', '/d'))
  await expectEchoes(connection, ['LINK', '/a'], ['LIST', '/b'], ['LINK', '/c'], ['UNLINK', '/d'])
})

test('behind a LIST the connection ends like any other: by an error, by its client, by both at once', async (t) => {
  const { client } = await echo(t)
  const broken = await client()
  broken.send(`${request('LIST', '/a')}nonsense\r\n\r\n`)
  await expectEchoes(broken, ['LIST', '/a'])
  assert.equal((await broken.answer())?.status, 400)
  assert.equal(await broken.end(), '')
  const closed = await client()
  closed.socket.end(request('LIST', '/a') + request('LIST', '/b'))
  await expectEchoes(closed, ['LIST', '/a'], ['LIST', '/b'])
  assert.equal(await closed.end(), '')
  const last = await client()
  last.send(request('LIST', '/a', 'connection: close\r\n') + request('LIST', '/b'))
  await expectEchoes(last, ['LIST', '/a'])
  assert.equal(await last.end(), '')
  for (let n = 0; n < 50; n++) {
    const reset = await client()
    reset.send(request('LIST', '/a') + request('LIST', '/b').slice(0, n))
    if (n % 2) await sleep(1)
    reset.destroy()
    await once(reset.socket, 'close')
  }
})

test('LIST is logged and counted as GET is', async (t) => {
  const { client, lines, traffic } = await echo(t)
  const connection = await client()
  for (const method of ['GET', 'LIST']) {
    connection.send(request(method, '/keys?after=hidden'))
    await connection.answer()
  }
  await sleep(20)
  const shown = lines().map((line) => line.replace(/[\d.]+$/, 'N').replace(/^\[\d+\] /, ''))
  assert.deepEqual(shown, [
    'request GET /keys',
    'response 200 response time N',
    'request LIST /keys',
    'response 200 response time N',
  ])
  assert.equal(traffic.total, 2)
})

test('paths that know no LIST answer it with 501, those that are none with 404', async (t) => {
  const api = sampleApi()
  const listener = await listenTls({
    app: api.app,
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: api.log,
    now: () => 0,
    limits: { closeMs: 200 },
  })
  const connection = await clientsOf(t, listener)()
  for (const [path, status] of [
    ['/api/v1/keys', 501],
    ['/nowhere', 404],
    ['/v1/transit/keys', 404],
  ] as const) {
    connection.send(request('LIST', path))
    const listed = await connection.answer()
    assert.equal(listed?.status, status, path)
    if (status === 501) continue
    connection.send(request('GET', path))
    assert.deepEqual(listed, await connection.answer())
  }
})
