/** The real process for outgoing connections hands mails to aiosmtpd: both kinds of TLS, logins, and servers that refuse or are silent. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { OutgoingError } from '../../firmware/outgoing/error.ts'
import type { ConnectionSettings, MailJob } from '../../firmware/outgoing/link.ts'
import type { Issued } from '../configuration/authority.ts'
import { type MailServer, needsMailServer, openAuthority, openMailServer } from './mail-server.ts'
import { openProcess } from './started.ts'

const MESSAGE = 'Subject: a test\r\n\r\n.a line that begins with a dot\r\n.\r\nthe end\r\n'
const PASSWORD = 'a-password-of-the-mail-server'
const encode = (text: string) => new TextEncoder().encode(text)

type Job = Omit<MailJob, 'do'>

const jobFor = ({ port }: MailServer, more: Partial<Job> = {}): Job => ({
  ...{ host: 'localhost', port, security: 'tls', login: null },
  ...{ from: 'coffer@example.org', to: ['one@example.org', 'two@example.org'], message: encode(MESSAGE) },
  ...more,
})

async function open(t: TestContext, root: Issued, settings: Partial<ConnectionSettings> = {}) {
  return (await openProcess(t, { authorities: encode(root.pem), ...settings })).client
}

const failure = (promise: Promise<unknown>): Promise<OutgoingError> =>
  promise.then(
    (answer) => assert.fail(`it did not fail: ${JSON.stringify(answer)}`),
    (error: OutgoingError) => error,
  )

for (const security of ['tls', 'starttls'] as const)
  test(`${security}: a mail arrives as it is, after a login and without one`, needsMailServer(), async (t) => {
    const { root, issue } = openAuthority(t)
    const certificate = issue('localhost')
    const client = await open(t, root)
    const bare = await openMailServer(t, { security, certificate })
    assert.deepEqual(await client.mail(jobFor(bare, { security })), { accepted: 2 })
    await bare.until(1)
    assert.deepEqual(bare.mails, [
      {
        from: 'coffer@example.org',
        to: ['one@example.org', 'two@example.org'],
        content: MESSAGE,
        tls: true,
        login: null,
        ehlo: '[127.0.0.1]',
      },
    ])
    const login = { user: 'coffer', password: encode(PASSWORD) }
    for (const without of [[], ['PLAIN']]) {
      const server = await openMailServer(t, { security, certificate, login: ['coffer', PASSWORD], without })
      assert.deepEqual(await client.mail(jobFor(server, { security, login })), { accepted: 2 })
      await server.until(1)
      assert.equal(server.mails[0]!.login, 'coffer')
    }
    const neither = { security, certificate, login: ['coffer', PASSWORD] as [string, string] }
    const strange = await openMailServer(t, { ...neither, without: ['PLAIN', 'LOGIN'] })
    assert.match((await failure(client.mail(jobFor(strange, { security, login })))).message, /no way to log in/)
    const wrong = { user: 'coffer', password: encode(`not-${PASSWORD}`) }
    const strict = await openMailServer(t, neither)
    const { message, isFinal } = await failure(client.mail(jobFor(strict, { security, login: wrong })))
    assert.deepEqual([message, isFinal], ['it answered the user and the password with 535', true])
    assert.match((await failure(client.mail(jobFor(strict, { security })))).message, /^it answered MAIL with 530 /)
  })

for (const security of ['tls', 'starttls'] as const)
  test(`${security}: a certificate for another name, or of an unknown authority`, needsMailServer(), async (t) => {
    const { root, issue } = openAuthority(t)
    const client = await open(t, root)
    const other = await openMailServer(t, { security, certificate: issue('mail.example.org') })
    assert.match((await failure(client.mail(jobFor(other, { security })))).message, /ERR_TLS_CERT_ALTNAME_INVALID/)
    const stranger = openAuthority(t)
    const unknown = await openMailServer(t, { security, certificate: stranger.issue('localhost') })
    assert.match((await failure(client.mail(jobFor(unknown, { security })))).message, /\(UNABLE_TO|\(SELF_SIGNED/)
    assert.deepEqual([other.mails, unknown.mails], [[], []])
  })

test(
  'a server on the same computer is spoken to in the clear where that is set, and by address',
  needsMailServer(),
  async (t) => {
    const { root, issue } = openAuthority(t)
    const client = await open(t, root)
    const plain = await openMailServer(t, { security: 'none' })
    assert.deepEqual(await client.mail(jobFor(plain, { security: 'none' })), { accepted: 2 })
    const secure = await openMailServer(t, { security: 'tls', certificate: issue('127.0.0.1') })
    assert.deepEqual(await client.mail(jobFor(secure, { host: '127.0.0.1' })), { accepted: 2 })
    await Promise.all([plain.until(1), secure.until(1)])
    assert.deepEqual([plain.mails[0]!.tls, secure.mails[0]!.tls], [false, true])
  },
)

test('a device does not reach itself', needsMailServer(), async (t) => {
  const { root } = openAuthority(t)
  const client = await open(t, root, { onHost: false })
  const server = await openMailServer(t, { security: 'none' })
  const { message } = await failure(client.mail(jobFor(server, { host: '127.0.0.1', security: 'none' })))
  assert.match(message, /leads to an address that nothing is sent to/)
})

test('a server that does not offer STARTTLS gets nothing', needsMailServer(), async (t) => {
  const { root } = openAuthority(t)
  const client = await open(t, root)
  const server = await openMailServer(t, { security: 'none' })
  const { message, isFinal } = await failure(client.mail(jobFor(server, { security: 'starttls' })))
  assert.deepEqual([message, isFinal], ['it does not offer STARTTLS', true])
  assert.deepEqual(server.mails, [])
})

const REFUSALS: [stage: string, line: string, what: string, isFinal: boolean][] = [
  ['EHLO', '421 4.3.2 going away', 'EHLO', false],
  ['MAIL', '451 4.3.0 try again', 'MAIL', false],
  ['MAIL', '552 5.3.4 too much', 'MAIL', true],
  ['RCPT', '450 4.2.1 come back later', 'RCPT', false],
  ['RCPT', '550 5.1.1 nobody is here', 'RCPT', true],
  ['DATA', '452 4.3.1 no room', 'the mail', false],
  ['DATA', '554 5.7.1 spam', 'the mail', true],
]

test('each refusal is told with its line, and whether it is for good', needsMailServer(), async (t) => {
  const { root, issue } = openAuthority(t)
  const client = await open(t, root)
  const certificate = issue('localhost')
  for (const [stage, line, what, isFinal] of REFUSALS) {
    const server = await openMailServer(t, { security: 'tls', certificate, answers: { [stage]: line } })
    const error = await failure(client.mail(jobFor(server)))
    assert.deepEqual([error.message, error.isFinal], [`it answered ${what} with ${line}`, isFinal])
    assert.deepEqual(server.mails, [])
  }
})

test('a mail goes to those recipients that the server takes', needsMailServer(), async (t) => {
  const { root, issue } = openAuthority(t)
  const client = await open(t, root)
  const answers = { 'RCPT two@example.org': '550 5.1.1 nobody is here' }
  const server = await openMailServer(t, { security: 'tls', certificate: issue('localhost'), answers })
  assert.deepEqual(await client.mail(jobFor(server)), { accepted: 1, refusal: '550 5.1.1 nobody is here' })
  await server.until(1)
  assert.deepEqual(server.mails[0]!.to, ['one@example.org'])
})
