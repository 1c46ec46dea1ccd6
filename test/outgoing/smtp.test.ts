/** Hostile mail servers: what they are sent, and what of theirs is shown. */

import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createConnector } from '../../firmware/outgoing/connect.ts'
import type { OutgoingError } from '../../firmware/outgoing/error.ts'
import type { MailJob } from '../../firmware/outgoing/link.ts'
import { sendMail } from '../../firmware/outgoing/mail.ts'
import { systemNetwork } from '../../firmware/outgoing/resolve.ts'
import { NO_SETTINGS } from '../chat/support/outgoing.ts'

const PASSWORD = 'secret-of-the-server'
const encode = (text: string) => new TextEncoder().encode(text)

/** Answers each line by `answer`, without TLS; `received` is all that came. */
async function openServer(
  t: TestContext,
  answer: (line: string, socket: Socket) => string | null,
  greeting = '220 hello',
) {
  const received: string[] = []
  const server = createServer((socket) => {
    if (greeting !== '') socket.write(`${greeting}\r\n`)
    let rest = ''
    socket
      .on('error', () => {})
      .on('data', (piece) => {
        const lines = `${rest}${piece.toString('latin1')}`.split('\r\n')
        rest = lines.pop()!
        for (const line of lines) {
          received.push(line)
          const text = answer(line, socket)
          if (text !== null) socket.write(`${text}\r\n`)
        }
      })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, received }
}

const connector = createConnector(NO_SETTINGS, systemNetwork(NO_SETTINGS))

const job = (port: number, more: Partial<MailJob> = {}): MailJob => ({
  ...{ do: 'mail', host: '127.0.0.1', port, security: 'none', login: null },
  ...{ from: 'coffer@example.org', to: ['one@example.org'], message: encode('Subject: x\r\n\r\nbody\r\n') },
  ...more,
})

const deliver = (of: MailJob, signal = new AbortController().signal) => sendMail(connector, of, signal)

const failure = (of: MailJob): Promise<OutgoingError> =>
  deliver(of).then(
    () => assert.fail('it did not fail'),
    (error: OutgoingError) => error,
  )

const login = { user: 'coffer', password: encode(PASSWORD) }

/** A server that takes everything. */
const honest = (extensions: string[] = []) => {
  let isData = false
  return (line: string): string | null => {
    if (isData) {
      isData = line !== '.'
      return isData ? null : '250 taken'
    }
    if (line.startsWith('EHLO'))
      return ['250-server', ...extensions.map((one) => `250-${one}`), '250 8BITMIME'].join('\r\n')
    if (line === 'DATA') {
      isData = true
      return '354 go on'
    }
    return line.startsWith('AUTH') ? '235 in' : '250 OK'
  }
}

test('without STARTTLS nothing but EHLO is sent, also where a login is set', async (t) => {
  for (const extensions of [[], ['AUTH PLAIN LOGIN']]) {
    const { port, received } = await openServer(t, honest(extensions))
    assert.equal((await failure(job(port, { security: 'starttls', login }))).message, 'it does not offer STARTTLS')
    assert.deepEqual(received, ['EHLO [127.0.0.1]'])
  }
})

test('what a server sends before TLS does not count as protected', async (t) => {
  const answer = (line: string) =>
    line === 'STARTTLS' ? '220 go on\r\n250-injected\r\n250 AUTH PLAIN' : honest(['STARTTLS'])(line)
  const { port, received } = await openServer(t, answer)
  const { message } = await failure(job(port, { security: 'starttls', login }))
  assert.equal(message, 'it sent more than it was asked for before TLS')
  assert.deepEqual(received, ['EHLO [127.0.0.1]', 'STARTTLS'])
})

test('a server that refuses STARTTLS, or speaks on in the clear, gets nothing', async (t) => {
  for (const reply of ['454 4.7.0 not now', '220 go on']) {
    const answer = (line: string) => (line === 'STARTTLS' ? reply : honest(['STARTTLS'])(line))
    const { port, received } = await openServer(t, (line, socket) => {
      if (line === 'STARTTLS' && reply.startsWith('220')) setImmediate(() => socket.write('250 in the clear\r\n'))
      return answer(line)
    })
    await failure(job(port, { security: 'starttls', login }))
    assert.ok(!received.join('\n').includes('MAIL FROM') && !received.join('\n').includes('AUTH'))
  }
})

test('`none` is for names of loopback only', async (t) => {
  const { port, received } = await openServer(t, honest())
  for (const host of ['192.0.2.1', 'mail.example.org', '127.0.0.2', 'localhost.', 'constructor'])
    assert.match((await failure(job(port, { host }))).message, /nothing is sent to it/, host)
  assert.deepEqual(received, [])
})

const UNSAFE = [
  'a@example.org\r\nRCPT TO:<b@example.org>',
  'a@example.org>',
  '<a@example.org',
  'a b@example.org',
  'a@example.org\n',
  'a',
  '@example.org',
  '"a"@example.org',
  'ä@example.org',
]

test('no address can end a command or a line', async (t) => {
  const { port, received } = await openServer(t, honest())
  for (const address of UNSAFE) {
    assert.equal((await failure(job(port, { from: address }))).message, 'an address of the mail is none', address)
    assert.equal(
      (await failure(job(port, { to: ['a@example.org', address] }))).message,
      'an address of the mail is none',
    )
  }
  assert.deepEqual(received, [])
})

const LINE_ENDS = ['\r\n.\r\n', '\n.\n', '\r.\r', '\n.\r\n', '\r\n.\n', '\r.\r\n']

test('no line of a message ends it', async (t) => {
  for (const end of LINE_ENDS) {
    const { port, received } = await openServer(t, honest())
    await deliver(job(port, { message: encode(`Subject: x\r\n\r\nfirst${end}MAIL FROM:<evil@example.org>\r\n`) }))
    const at = received.indexOf('DATA')
    assert.deepEqual(received.slice(at + 1, at + 7), [
      ...['Subject: x', '', 'first', '..', 'MAIL FROM:<evil@example.org>', '.'],
    ])
    assert.ok(!received.join('').includes('\n') && !received.join('').includes('\r'))
  }
})

test('a login is not repeated in a problem, however the server puts it', async (t) => {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const token = base64(`\0coffer\0${PASSWORD}`)
  for (const echo of [PASSWORD, PASSWORD.toUpperCase(), base64(PASSWORD), token]) {
    for (const stage of ['AUTH', 'MAIL', 'RCPT', 'DATA']) {
      const answer = (line: string) =>
        line.startsWith(stage) ? `550 5.7.8 I was sent ${echo}` : honest(['AUTH PLAIN'])(line)
      const { port } = await openServer(t, answer)
      const { message } = await failure(job(port, { login }))
      assert.match(message, /^it answered [A-Za-z ]+ with 550$/, stage)
    }
  }
})

const MALFORMED: [what: string, greeting: string, expected: RegExp][] = [
  ['another protocol', 'HTTP/1.1 400 Bad Request', /does not speak SMTP/],
  ['a code that is none', '99 hello', /does not speak SMTP/],
  ['a code of four digits', '2200 hello', /does not speak SMTP/],
  ['an endless line', `220 ${'x'.repeat(100_000)}`, /too long/],
  ['endless lines', '220-hello\r\n'.repeat(1000), /too long/],
  ['a refusal with controls', '554 \x1b[2J\u0007go away\u202e', /^it answered the connection with 554 \[2Jgo away$/],
  ['a long refusal', `554 ${'no '.repeat(1000)}`, /^it answered the connection with 554 (no ){39}no/],
]

for (const [what, greeting, expected] of MALFORMED)
  test(`a server that begins with ${what}`, async (t) => {
    const { port, received } = await openServer(t, () => null, greeting)
    const { message } = await failure(job(port))
    assert.match(message, expected)
    assert.match(message, /^[ -~]{1,200}$/)
    assert.deepEqual(received, [])
  })

test('a server that ends the connection at any command', async (t) => {
  for (const stage of ['EHLO', 'MAIL', 'RCPT', 'DATA', '.']) {
    const answer = honest()
    const { port } = await openServer(t, (line, socket) => {
      if (line.startsWith(stage)) socket.destroy()
      return line.startsWith(stage) ? null : answer(line)
    })
    const { message, isFinal } = await failure(job(port))
    assert.match(message, /^it (ended the connection|could not be reached \(E)/, stage)
    assert.equal(isFinal, false)
  }
})

test('a server that is silent at any command is given up in time', async (t) => {
  for (const stage of ['EHLO', 'MAIL', 'RCPT', 'DATA', '.']) {
    const answer = honest()
    const silent = Promise.withResolvers<void>()
    const { port } = await openServer(t, (line) => {
      if (!line.startsWith(stage)) return answer(line)
      silent.resolve()
      return null
    })
    const canceled = new AbortController()
    const sent = deliver(job(port), canceled.signal)
    await silent.promise
    canceled.abort(new Error('the time is over'))
    await assert.rejects(sent, stage)
  }
})

test('a mail is taken whatever the server says to QUIT', async (t) => {
  for (const end of ['silence', 'destroy', '500 what']) {
    const answer = honest()
    const { port } = await openServer(t, (line, socket) => {
      if (line !== 'QUIT') return answer(line)
      if (end === 'destroy') socket.destroy()
      return end.startsWith('5') ? end : null
    })
    assert.deepEqual(await deliver(job(port)), { accepted: 1 })
  }
})
