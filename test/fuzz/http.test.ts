// @test long 30 slow
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { connect } from 'node:tls'
import fc from 'fast-check'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'
import { createTraffic } from '../../firmware/http/server/traffic.ts'
import { basic, sampleApi } from '../http/sample-api.ts'
import { cuts, damaged, forAWhile, pieces, seconds } from './support.ts'

const CONNECTIONS = 16 // at a time

const PATHS = [
  '/api/v1/info',
  '/api/v1/keys',
  '/api/v1/keys/k',
  '/api/v1/keys/k/sign',
  '/api/v1/nothing',
  '/',
  '*',
  '//',
  '/api/v1/keys/%7e',
  '/api/v1/keys/%',
  'http://x/api/v1/info',
  '/api/v1/../info',
  '/api/v1/info?a=b&&=',
  '/%00',
  '/é',
]
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'get', 'CONNECT', 'PRI', 'G\0T', '']
const FIELDS = [
  `authorization: ${basic('admin')}`,
  'authorization: Basic !!!',
  'authorization: Bearer x',
  'content-type: application/json',
  'content-type: application/json; charset="utf-16"',
  'transfer-encoding: chunked',
  'transfer-encoding: gzip, chunked',
  'content-length: 5',
  'content-length: -1',
  'content-length: 5, 5',
  'content-length: 99999999999999999999',
  'connection: close',
  'connection: keep-alive, upgrade',
  'upgrade: h2c',
  'expect: 100-continue',
  'expect: x',
  'host: other',
  'accept: */*;q=2',
  'accept: ,;',
  'if-match: "x", *',
  'if-none-match: W/',
  'if-modified-since: yesterday',
  ' folded',
  'x y: z',
  'x\0: y',
  'trailer: x',
]
const VERSIONS = ['HTTP/1.1', 'HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/1.10', 'http/1.1', '']
const chunk = fc.string({ maxLength: 30 }).map((text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
const body = fc.oneof(
  fc.constant(''),
  fc.string({ maxLength: 60 }),
  fc.json({ maxDepth: 2 }),
  fc.array(chunk, { maxLength: 3 }).map((chunks) => `${chunks.join('')}0\r\n\r\n`),
  fc.constantFrom(
    'ffffffffffffffffff\r\n',
    '-1\r\nx\r\n',
    '5;x="\r\nabcde\r\n0\r\nx: y\r\n\r\n',
    '0\r\ncontent-length: 7\r\n\r\n',
  ),
)
const request = fc
  .record({
    method: fc.oneof(fc.constantFrom(...METHODS.slice(0, 5)), fc.constantFrom(...METHODS)),
    path: fc.oneof(
      fc.constantFrom(...PATHS),
      fc.string({ maxLength: 30 }).map((text) => `/${text}`),
      fc.nat(20_000).map((length) => `/${'x'.repeat(length)}`),
    ),
    version: fc.oneof(
      { weight: 8, arbitrary: fc.constant('HTTP/1.1') },
      { weight: 1, arbitrary: fc.constantFrom(...VERSIONS) },
    ),
    fields: fc.array(
      fc.oneof(fc.constantFrom(...FIELDS.slice(0, 5)), fc.constantFrom(...FIELDS), fc.string({ maxLength: 40 })),
      { maxLength: 3 },
    ),
    body,
  })
  .map(({ method, path, version, fields, body }) =>
    [`${method} ${path} ${version}`, 'host: appliance', ...fields, '', body].join('\r\n'),
  )
const talk = damaged(
  fc.array(request, { minLength: 1, maxLength: 3 }).map((requests) => Buffer.from(requests.join(''))),
)

/** Statuses that any request may get: not implemented are methods that nobody offers. */
const isFit = (status: number): boolean => status < 500 || status === 501 || status === 505

test(`whatever comes over TLS is answered below 500 or not at all, for ${seconds} s`, async (t) => {
  const api = sampleApi({})
  const identity = await makeTlsIdentity((bytes) => new Uint8Array(randomBytes(bytes)))
  const listener = await listenTls({
    app: api.app,
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: api.log,
    now: Date.now,
    traffic: createTraffic(),
  })
  t.after(() => listener.close())
  const statuses = new Map<number, number>()
  let session: Buffer | undefined

  /** Everything that comes back until the server closes, which it does at our end. */
  const say = async (talk: readonly Uint8Array[]): Promise<string> => {
    const socket = connect({
      host: '127.0.0.1',
      port: listener.port,
      rejectUnauthorized: false,
      ...(session && { session }),
    })
    socket.on('session', (newest) => (session = newest))
    socket.on('error', () => {}) // it may be cut off while we talk; 'close' follows
    let answers = ''
    socket.setEncoding('latin1').on('data', (text: string) => (answers += text))
    for (const piece of talk) socket.write(piece)
    socket.end()
    await new Promise((resolve) => socket.on('close', resolve))
    return answers
  }

  const connections = fc.array(fc.tuple(talk, cuts), { minLength: 1, maxLength: CONNECTIONS })
  let talks = 0
  await forAWhile(connections, async (connections) => {
    talks += connections.length
    for (const answers of await Promise.all(connections.map(([talk, cuts]) => say(pieces(talk, cuts))))) {
      for (const [, text] of answers.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)) {
        const status = Number(text)
        assert.ok(isFit(status), answers)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
  })
  assert.match(await say([Buffer.from('GET /api/v1/info HTTP/1.1\r\nhost: appliance\r\n\r\n')]), /^HTTP\/1\.1 200 /)
  t.diagnostic(`${talks} connections, by status: ${JSON.stringify([...statuses].sort())}`)
  assert.ok((statuses.get(400) ?? 0) > 0)
})
