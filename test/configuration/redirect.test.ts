/** The port of plain HTTP, by raw bytes. */

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import test, { type TestContext } from 'node:test'
import fc from 'fast-check'
import { createLog } from '../../firmware/base/log.ts'
import type { ListenerLimits } from '../../firmware/http/server/limits.ts'
import { listenRedirect } from '../../firmware/http/server/redirect.ts'

const NOW = Date.UTC(2024, 4, 17, 12, 0, 0)

interface Setup {
  port: number
  lines: string[]
  /** Sends, and resolves with all that came until the end of the connection. */
  exchange(bytes: string | Uint8Array): Promise<string>
}

async function setup(
  t: TestContext,
  {
    tlsPort = 8443,
    host = '127.0.0.1',
    limits = {},
  }: { tlsPort?: number; host?: string; limits?: Partial<ListenerLimits> } = {},
): Promise<Setup> {
  const lines: string[] = []
  const log = createLog('info', ({ message }) => lines.push(message))
  const redirect = await listenRedirect({ host, port: 0, tlsPort, log, now: () => NOW, limits })
  t.after(() => redirect.close())
  const exchange = async (bytes: string | Uint8Array) => {
    const socket = connect(redirect.port, host)
    let received = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text
    })
    socket.on('error', () => {})
    socket.write(bytes)
    await new Promise((resolve) => socket.on('close', resolve))
    return received
  }
  return { port: redirect.port, lines, exchange }
}

const location = (answer: string): string | undefined => /^location: (.*)\r$/m.exec(answer)?.[1]

function assertRedirect(answer: string, to: string): void {
  assert.equal(
    answer,
    `HTTP/1.1 301 Moved Permanently\r\ndate: Fri, 17 May 2024 12:00:00 GMT\r\nlocation: ${to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
  )
}

const REQUESTS: [name: string, bytes: string, to: string][] = [
  ['a path', 'GET /api/v1/info HTTP/1.1\r\nhost: box.example\r\n', 'https://box.example:8443/api/v1/info'],
  ['a query', 'GET /a?b=c&d HTTP/1.1\r\nhost: box.example\r\n', 'https://box.example:8443/a?b=c&d'],
  ['a host with a port', 'GET / HTTP/1.1\r\nhost: box.example:80\r\n', 'https://box.example:8443/'],
  ['an IPv6 host', 'GET / HTTP/1.1\r\nhost: [2001:db8::1]:8080\r\n', 'https://[2001:db8::1]:8443/'],
  ['HEAD', 'HEAD /x HTTP/1.1\r\nhost: h\r\n', 'https://h:8443/x'],
  ['DELETE', 'DELETE /x HTTP/1.1\r\nhost: h\r\n', 'https://h:8443/x'],
  ['PATCH', 'PATCH /x HTTP/1.1\r\nhost: h\r\n', 'https://h:8443/x'],
  ['OPTIONS of everything', 'OPTIONS * HTTP/1.1\r\nhost: h\r\n', 'https://h:8443/'],
  ['CONNECT', 'CONNECT h:443 HTTP/1.1\r\nhost: h\r\n', 'https://h:8443/'],
  ['an unknown method', 'BREW /pot HTTP/1.1\r\nhost: h\r\n', 'https://127.0.0.1:8443/pot'],
  ['an upgrade', 'GET /x HTTP/1.1\r\nhost: h\r\nconnection: upgrade\r\nupgrade: websocket\r\n', 'https://h:8443/x'],
  ['an absolute URI', 'GET http://other/x?y HTTP/1.1\r\nhost: h\r\n', 'https://other:8443/x?y'],
  ['an absolute URI without a path', 'GET http://other?y HTTP/1.1\r\nhost: h\r\n', 'https://other:8443/?y'],
  ['HTTP/1.0 without a host', 'GET /x HTTP/1.0\r\n', 'https://127.0.0.1:8443/x'],
  ['HTTP/1.1 without a host', 'GET /x HTTP/1.1\r\n', 'https://127.0.0.1:8443/x'],
  ['an empty host', 'GET /x HTTP/1.1\r\nhost: \r\n', 'https://127.0.0.1:8443/x'],
  ['a host with a space', 'GET /x HTTP/1.1\r\nhost: a b\r\n', 'https://127.0.0.1:8443/x'],
  ['a host with a path', 'GET /x HTTP/1.1\r\nhost: evil.example/\r\n', 'https://127.0.0.1:8443/x'],
  ['a host with a user', 'GET /x HTTP/1.1\r\nhost: me@evil.example\r\n', 'https://127.0.0.1:8443/x'],
  ['a host with a fragment', 'GET /x HTTP/1.1\r\nhost: evil.example#\r\n', 'https://127.0.0.1:8443/x'],
  ['two hosts', 'GET /x HTTP/1.1\r\nhost: a\r\nhost: b\r\n', 'https://a:8443/x'],
  ['bytes above ASCII, of an unknown method', 'BREW /\xe9 HTTP/1.1\r\nhost: h\r\n', 'https://127.0.0.1:8443/%E9'],
  ['a target that looks like a host', 'GET //evil.example/x HTTP/1.1\r\nhost: h\r\n', 'https://h:8443//evil.example/x'],
]

for (const [name, bytes, to] of REQUESTS) {
  test(`${name} is redirected`, async (t) => {
    const { exchange } = await setup(t)
    assertRedirect(await exchange(Buffer.from(`${bytes}\r\n`, 'latin1')), to)
  })
}

test('the port of TLS is left out when it is 443', async (t) => {
  const { exchange } = await setup(t, { tlsPort: 443 })
  assertRedirect(await exchange('GET /x HTTP/1.1\r\nhost: h:80\r\n\r\n'), 'https://h/x')
})

test('without a host, the address of the connection stands in for it, IPv6 in brackets', async (t) => {
  const { exchange } = await setup(t, { host: '::1' })
  assertRedirect(await exchange('GET /x HTTP/1.0\r\n\r\n'), 'https://[::1]:8443/x')
})

test('one answer ends the connection, however many requests came', async (t) => {
  const { exchange } = await setup(t)
  assertRedirect(await exchange('GET /1 HTTP/1.1\r\nhost: h\r\n\r\n'.repeat(50)), 'https://h:8443/1')
})

test('a client that sends a body reads its answer', async (t) => {
  const { exchange } = await setup(t)
  const body = 'x'.repeat(1_000_000)
  const answer = await exchange(`PUT /x HTTP/1.1\r\nhost: h\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  assertRedirect(answer, 'https://h:8443/x')
})

test('an endless body is cut off', { timeout: 60_000 }, async (t) => {
  const { port } = await setup(t)
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {}) // the end may meet a write
  socket.resume().write('PUT /x HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n')
  const more = setInterval(() => socket.writable && socket.write('1\r\nx\r\n'), 20)
  await new Promise((resolve) => socket.on('close', resolve))
  clearInterval(more)
})

test('slow headers are 408, a silent connection ends, headers over 16 KiB are 431', async (t) => {
  const { exchange } = await setup(t, { limits: { headersMs: 200, stallMs: 500 } })
  assert.match(await exchange('GET / HT'), /^HTTP\/1\.1 408 /)
  assert.match(await exchange(''), /^(HTTP\/1\.1 408 |$)/)
  const patient = await setup(t)
  assert.match(await patient.exchange(`GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /)
})

test('what is no HTTP, TLS included, is 400', async (t) => {
  const { exchange } = await setup(t)
  assert.match(await exchange('nonsense\r\n\r\n'), /^HTTP\/1\.1 400 /)
  assert.match(await exchange(Buffer.from('16030100a5010000a10303', 'hex')), /^HTTP\/1\.1 400 /)
})

test('no answer says more than one location, whatever was sent', async (t) => {
  const { exchange } = await setup(t)
  const text = fc.string({
    unit: fc.constantFrom(
      'a',
      '/',
      ':',
      '@',
      '?',
      '#',
      '%',
      '0',
      'd',
      '[',
      ']',
      '.',
      ' ',
      '\t',
      '\\',
      '"',
      '<',
      '\xe9',
      '\x7f',
    ),
  })
  await fc.assert(
    fc.asyncProperty(text, text, async (target, host) => {
      const answer = await exchange(Buffer.from(`GET /${target} HTTP/1.1\r\nhost: ${host}\r\n\r\n`, 'latin1'))
      const [head = '', rest] = answer.split('\r\n\r\n')
      assert.match(head, /^HTTP\/1\.1 (301|400) /)
      if (!head.includes(' 301 ')) return
      assert.equal(rest, '')
      assert.deepEqual(
        head
          .split('\r\n')
          .slice(1)
          .map((line) => line.split(':', 1)[0]),
        ['date', 'location', 'content-length', 'connection'],
      )
      const url = new URL(location(answer)!)
      assert.equal(url.protocol, 'https:')
      assert.equal(url.username, '')
      assert.match(location(answer)!, /^[\x21-\x7e]+$/)
    }),
    { numRuns: 150, examples: [['', '.0']] },
  )
})

test('requests are logged without their query', async (t) => {
  const { exchange, lines } = await setup(t)
  await exchange('GET /api/v1/system/restore?backupPassphrase=secret HTTP/1.1\r\nhost: h\r\n\r\n')
  assert.deepEqual(lines, ['[1] redirected GET /api/v1/system/restore'])
})

test('requests for the chat are logged without the secrets in their paths', async (t) => {
  const { exchange, lines } = await setup(t)
  await exchange('GET /user_uploads/temporary/xk3mZqw9rT5yUiOp1234/a.png HTTP/1.1\r\nhost: h\r\n\r\n')
  assert.deepEqual(lines, ['[1] redirected GET /user_uploads/temporary/.../a.png'])
})

test('each client has a share of the log', async (t) => {
  const { exchange, lines } = await setup(t)
  for (let i = 0; i < 40; i++)
    await Promise.all(Array.from({ length: 25 }, () => exchange('GET /x HTTP/1.1\r\nhost: h\r\n\r\n')))
  assert.ok(lines.length >= 100 && lines.length < 900, `${lines.length}`)
})
