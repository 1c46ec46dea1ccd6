// @test long 30
/** Clients that break the rules of TLS and HTTP: each is answered or cut, and nobody else waits. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { connect as connectTcp } from 'node:net'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { expect } from '../support/appliance.ts'
import { BASE, basic } from '../support/client.ts'
import { parseAnswers, RawClient } from '../support/raw-client.ts'
import { ADMIN, type Appliance } from '../support/suite.ts'
import {
  authorization,
  CUT_MS_MAX,
  head,
  infoRequest,
  operator,
  servesOthers,
  startWithKeys,
  statusOf,
} from './hostile.ts'

const SEED = Number(process.env.ACCEPT_SEED ?? Date.now() % 0x7fffffff)

let appliance: Appliance

async function outcomeOf(text: string | Uint8Array): Promise<number | 'closed'> {
  const raw = await RawClient.connect(appliance)
  try {
    await raw.send(text)
    return (await raw.answers(1))[0]!.status
  } catch (error) {
    if (/^closed after 0/.test((error as Error).message)) return 'closed'
    throw error
  } finally {
    raw.destroy()
  }
}

describe('hostile requests', () => {
  before(async () => {
    appliance = await startWithKeys()
  })
  after(() => appliance?.dispose())

  describe('requests', () => {
    test('a method that nobody knows is 501', async () => {
      for (const method of ['PATCH', 'PROPFIND', 'LINK', 'QUERY']) {
        assert.equal(await statusOf(appliance, head(`${method} ${BASE}/info`)), 501, method)
      }
      // Tokens that are no method of any registry.
      for (const method of ['BREW', 'get', 'X', 'M-SEARCHED']) {
        assert.equal(await statusOf(appliance, head(`${method} ${BASE}/info`)), 501, method)
      }
    })

    test('HTTP/1.0 is answered and closed', async () => {
      const raw = await RawClient.connect(appliance)
      await raw.send(`GET ${BASE}/info HTTP/1.0\r\n\r\n`)
      const [answer] = await raw.answers(1)
      assert.equal(answer!.status, 200)
      assert(JSON.parse(answer!.body).product)
      await raw.closed(5000)
      raw.destroy()
    })

    test('the absolute form of a target is understood', async () => {
      const { host, port } = appliance
      assert.equal(await statusOf(appliance, head(`GET https://${host}:${port}${BASE}/info`)), 200)
      assert.equal(await statusOf(appliance, head(`GET https://${host}:${port}${BASE}/keys`, authorization)), 200)
      assert.equal(await statusOf(appliance, head(`GET https://elsewhere.example${BASE}/keys`)), 401)
      assert.equal(await statusOf(appliance, head(`GET https://${host}:${port}/`)), 200)
      assert.equal(await statusOf(appliance, head(`GET https://${host}:${port}/nothing`)), 404)
    })

    test('what is no HTTP request is refused with 400 or cut', async () => {
      const refused: [string, string][] = [
        ['no host', `GET ${BASE}/info HTTP/1.1\r\n\r\n`],
        ['two lengths', head(`POST ${BASE}/random`, 'content-length: 2\r\ncontent-length: 3\r\n')],
        ['length and chunks', head(`POST ${BASE}/random`, 'content-length: 5\r\ntransfer-encoding: chunked\r\n')],
        ['a negative length', head(`POST ${BASE}/random`, 'content-length: -1\r\n')],
        ['a length that is none', head(`POST ${BASE}/random`, 'content-length: 1e3\r\n')],
        ['a bad chunk', `${head(`POST ${BASE}/random`, `${authorization}transfer-encoding: chunked\r\n`)}zz\r\n`],
        ['a space before the colon', head(`GET ${BASE}/info`, 'x-name : value\r\n')],
        ['NUL in a header', head(`GET ${BASE}/info`, 'x-name: a\0b\r\n')],
        ['a folded header', head(`GET ${BASE}/info`, 'x-name: a\r\n b\r\n')],
        ['a bare CR', head(`GET ${BASE}/info`, 'x-name: a\rb\r\n')],
        ['HTTP/9.9', `GET ${BASE}/info HTTP/9.9\r\nhost: x\r\n\r\n`],
        ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
        ['a space in the target', `GET ${BASE}/in fo HTTP/1.1\r\nhost: x\r\n\r\n`],
      ]
      for (const [what, text] of refused) {
        const outcome = await outcomeOf(text)
        assert([400, 505, 'closed'].includes(outcome), `${what}: ${outcome}`)
      }
    })

    test('targets of odd forms let nobody past the door', async () => {
      const odd = ['*', `/${BASE}/keys`, `${BASE}//keys`, `${BASE}/keys/`, `${BASE}/./keys`, `${BASE}/x/../keys`]
      odd.push(
        `${BASE}/%6beys`,
        `${BASE}/keys%2fed`,
        `${BASE}/keys/ed%00`,
        `${BASE}/keys;x`,
        `${BASE}\\keys`,
        '?',
        '/#',
      )
      odd.push(
        `${BASE}/keys#x`,
        `${BASE}/info/../keys`,
        `${BASE}/info%2f..%2fkeys`,
        `/api/v1%2finfo/..;/keys`,
        'x',
        '/%',
      )
      for (const target of odd) {
        const outcome = await outcomeOf(head(`GET ${target}`))
        assert(typeof outcome !== 'number' || (outcome >= 400 && outcome < 500), `${target}: ${outcome}`)
      }
      for (const line of ['OPTIONS *', `CONNECT ${appliance.host}:${appliance.port}`, 'CONNECT *', 'TRACE /']) {
        const outcome = await outcomeOf(head(line))
        assert(outcome === 'closed' || outcome === 501 || (outcome >= 400 && outcome < 500), `${line}: ${outcome}`)
      }
    })

    test('too many headers, or too large ones, are refused', async () => {
      const refused = async (what: string, headers: string) => {
        const outcome = await outcomeOf(head(`GET ${BASE}/info`, headers))
        assert(outcome === 'closed' || (outcome >= 400 && outcome < 500), `${what}: ${outcome}`)
      }
      await refused('one of 100 kB', `x-long: ${'x'.repeat(100_000)}\r\n`)
      await refused('authorization of 100 kB', `authorization: Basic ${'QUFB'.repeat(25_000)}\r\n`)
      await refused('20,000', 'x: y\r\n'.repeat(20_000))
      await refused('a line without end', 'x'.repeat(1_000_000))
      await servesOthers(appliance)
    })

    test('credentials of odd forms are 401 and never counted', async () => {
      const get = (authorization: string) =>
        appliance.call('GET', '/keys', { headers: { authorization }, from: '127.0.3.1' })
      for (const value of [
        '',
        'Basic',
        'Basic ',
        'Basic ***',
        'Bearer abc',
        'Basic Og==', // only a colon
        `Basic ${Buffer.from('operator').toString('base64')}`, // no colon
        `Basic ${Buffer.from('a b:passphrase').toString('base64')}`,
        `Basic ${Buffer.from('.:passphrase').toString('base64')}`,
        `Basic ${Buffer.from([0xff, 0x3a, 0xff]).toString('base64')}`,
        `Basic ${Buffer.from(`${'x'.repeat(500)}:y`).toString('base64')}`,
        basic(operator).slice(0, -4),
        'Negotiate',
        'x'.repeat(5000),
      ]) {
        const { status } = await get(value)
        assert([401, 429].includes(status), `${value.slice(0, 40)}: ${status}`)
      }
      for (let count = 0; count < 5; count++) await expect(401, get(`Basic ${Buffer.from('.:x').toString('base64')}`))
      const headers = { authorization: `bAsIc ${basic(operator).slice(6)}` } // the scheme has no case
      await expect(200, appliance.call('GET', '/keys', { headers, from: '127.0.3.2' }))
    })

    test('expect and upgrade are ordinary headers', async () => {
      const raw = await RawClient.connect(appliance)
      const body = '{"length":4}'
      const headers = `${authorization}content-length: ${body.length}\r\nexpect: 100-continue\r\n`
      await raw.send(head(`POST ${BASE}/random`, headers))
      const answers = await raw.answers(1)
      await raw.send(body)
      answers.push(...(await raw.answers(1)))
      assert.deepEqual(
        answers.map(({ status }) => status),
        [100, 200],
      )
      raw.destroy()
      assert.equal(
        await statusOf(appliance, head(`GET ${BASE}/info`, 'connection: upgrade\r\nupgrade: websocket\r\n')),
        200,
      )
      assert.equal(
        await statusOf(appliance, head(`GET ${BASE}/info`, 'connection: upgrade, http2-settings\r\nupgrade: h2c\r\n')),
        200,
      )
    })

    test('100 requests sent at once are answered in their order', async () => {
      const raw = await RawClient.connect(appliance)
      const kinds: [string, number][] = [
        [infoRequest, 200],
        [head(`GET ${BASE}/keys/missing`, authorization), 404],
        [head(`GET ${BASE}/keys`), 401],
        [`${head(`POST ${BASE}/random`, `${authorization}content-length: 12\r\n`)}{"length":4}`, 200],
        [`${head(`POST ${BASE}/random`, `${authorization}content-length: 13\r\n`)}{"length":-4}`, 400],
        [
          `${head(`POST ${BASE}/keys/ed/sign`, `${authorization}transfer-encoding: chunked\r\n`)}20\r\n{"mode":"EdDSA","message":"AAAA"\r\n1\r\n}\r\n0\r\n\r\n`,
          200,
        ],
        [head(`DELETE ${BASE}/keys`, authorization), 405],
      ]
      const chosen = Array.from(
        { length: 100 },
        (_, index) => kinds[(index * 5 + Math.floor(index / 7)) % kinds.length]!,
      )
      await raw.send(chosen.map(([text]) => text).join(''))
      const answers = await raw.answers(100)
      assert.deepEqual(
        answers.map(({ status }) => status),
        chosen.map(([, status]) => status),
      )
      assert.equal(raw.received().length, 0)
      raw.destroy()
    })

    test(`random requests never bring an internal error (seed ${SEED})`, async () => {
      const methods = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE')
      const segments = fc.oneof(
        fc.constantFrom(
          'keys',
          'users',
          'namespaces',
          'config',
          'health',
          'ed',
          'admin',
          'tags',
          'restrictions',
          'generate',
          '*',
        ),
        fc.string({ unit: 'binary', maxLength: 20 }).map((text) => encodeURIComponent(text.toWellFormed())),
        fc.string({ unit: 'grapheme-ascii', maxLength: 12 }).map((text) => text.replace(/[\s#?]/g, '%')),
      )
      const request = fc.record({
        method: methods,
        path: fc.array(segments, { maxLength: 5 }).map((parts) => `/${parts.join('/')}`),
        query: fc.oneof(
          fc.constant(''),
          fc.webQueryParameters().map((query) => `?${query}`),
          fc.constant('?filter&label=%ff'),
        ),
        headers: fc.dictionary(
          fc.constantFrom(
            'accept',
            'if-match',
            'if-none-match',
            'content-type',
            'authorization',
            'range',
            'cookie',
            'te',
          ),
          fc.string({ unit: 'grapheme-ascii', maxLength: 40 }),
        ),
        as: fc.constantFrom(ADMIN, operator, undefined),
      })
      const property = fc.asyncProperty(request, async ({ method, path, query, headers, as }) => {
        // What would end or hide the rest of the test.
        fc.pre(!/^\/(lock|system)/.test(path) && !(method === 'DELETE' && path.endsWith('/ed')))
        const reply = await appliance.call(method, `${path}${query}`, { as, headers: { ...headers } })
        assert(reply.status < 500, `${reply.status} ${reply.text()}`)
      })
      await fc.assert(property, { seed: SEED, numRuns: 400, endOnFailure: true })
      await servesOthers(appliance)
    })
  })

  describe('bytes', () => {
    const tcp = (bytes: Uint8Array | string | undefined) =>
      new Promise<number>((done, fail) => {
        const opened = Date.now()
        const socket = connectTcp(appliance.port, appliance.host, () => {
          if (bytes !== undefined) socket.write(bytes)
        })
        socket.on('data', () => {})
        socket.on('error', () => {})
        socket.on('close', () => {
          clearTimeout(timer)
          done(Date.now() - opened)
        })
        const timer = setTimeout(() => {
          socket.destroy()
          fail(new Error('still open'))
        }, CUT_MS_MAX)
      })

    test('what is no TLS is cut at once', async () => {
      const closed = await Promise.all([
        tcp(`GET ${BASE}/info HTTP/1.1\r\nhost: x\r\n\r\n`),
        tcp(randomBytes(5000)),
        tcp(Buffer.alloc(100_000)),
        tcp(Buffer.from('16030100ff0100', 'hex') + 'x'.repeat(1000)),
        ...Array.from({ length: 50 }, () => tcp(randomBytes(1 + Math.floor(Math.random() * 300)))),
      ])
      assert(Math.max(...closed) < CUT_MS_MAX)
      await servesOthers(appliance)
    })

    test(`random bytes inside TLS are refused or cut (seed ${SEED})`, async () => {
      const start = fc.constantFrom(
        '',
        `GET ${BASE}/info HTTP/1.1\r\n`,
        infoRequest.slice(0, -2),
        `POST ${BASE}/random HTTP/1.1\r\n`,
      )
      const property = fc.asyncProperty(start, fc.uint8Array({ minLength: 1, maxLength: 300 }), async (text, bytes) => {
        const raw = await RawClient.connect(appliance)
        try {
          await raw.send(Buffer.concat([Buffer.from(text), bytes, Buffer.from('\r\n\r\n\r\n')]))
          raw.socket.end()
          await raw.closed(10_000)
          for (const answer of parseAnswers(raw.received())) {
            assert(answer.status < 500 || answer.status === 501, String(answer.status))
          }
        } finally {
          raw.destroy()
        }
      })
      await fc.assert(property, { seed: SEED, numRuns: 100, endOnFailure: true })
      await servesOthers(appliance)
    })
  })
})
