/**
 * Hands one mail to a server by SMTP: RFC 5321, over TLS from the start (RFC 8314) or by STARTTLS (RFC 3207), with a password by RFC 4954.
 * Nothing but loopback is told anything in the clear, and nothing of a job can add a command or a header.
 */

import { isIP, type Socket } from 'node:net'
import type { Connector } from './connect.ts'
import { OutgoingError } from './error.ts'
import { loopbackOf } from './hosts.ts'
import { readable } from './http.ts'
import type { MailAnswer, MailJob } from './link.ts'
import { MAIL_ADDRESS } from './mail-address.ts'
import { createSmtpConnection, refusalOf, type SmtpConnection, type SmtpReply, shown } from './smtp.ts'

const MAIL_MS_MAX = 60_000

interface Session {
  smtp: SmtpConnection
  socket: Socket
  /** Lines of the answer to EHLO, in capitals. */
  extensions: readonly string[]
}

/** Throws `OutgoingError`. */
export function sendMail(connector: Connector, job: MailJob, signal: AbortSignal): Promise<MailAnswer> {
  return readable('it did not take the mail', MAIL_MS_MAX, signal, async (limit) => {
    const sockets: Socket[] = []
    const destroy = () => {
      for (const socket of sockets) socket.destroy()
    }
    limit.addEventListener('abort', destroy)
    try {
      expectSafe(job)
      const session = await open(connector, job, limit, (socket) => {
        sockets.push(socket)
        limit.throwIfAborted()
      })
      const secrets = job.login === null ? [] : await logIn(session, job.login)
      return await transfer(session.smtp, job, secrets)
    } finally {
      limit.removeEventListener('abort', destroy)
      destroy()
    }
  })
}

function expectSafe({ host, security, from, to }: MailJob): void {
  if (security === 'none' && loopbackOf(host) === undefined)
    throw new OutgoingError('nothing is sent to it without TLS', true)
  if (![from, ...to].every((address) => MAIL_ADDRESS.test(address)))
    throw new OutgoingError('an address of the mail is none', true)
}

async function open(
  connector: Connector,
  { host, port, security }: MailJob,
  signal: AbortSignal,
  note: (socket: Socket) => void,
): Promise<Session> {
  const plain = await connector.connectToChosen({ host, port }, signal)
  note(plain)
  if (security !== 'tls') {
    const session = await greet(plain, true)
    if (security === 'none') return session
    if (!session.extensions.includes('STARTTLS')) throw new OutgoingError('it does not offer STARTTLS', true)
    const reply = await session.smtp.command('STARTTLS')
    if (reply.code !== 220) throw refusalOf('STARTTLS', reply)
    session.smtp.release()
  }
  const secure = await connector.secure(plain, host, signal)
  note(secure)
  return greet(secure, security === 'tls')
}

/** With `isFirst` the server speaks first. */
async function greet(socket: Socket, isFirst: boolean): Promise<Session> {
  const smtp = createSmtpConnection(socket)
  if (isFirst) {
    const greeting = await smtp.reply()
    if (greeting.code !== 220) throw refusalOf('the connection', greeting)
  }
  const reply = await smtp.command(`EHLO ${literalOf(socket)}`)
  if (reply.code !== 250) throw refusalOf('EHLO', reply)
  return { smtp, socket, extensions: reply.lines.slice(1).map((line) => line.toUpperCase().trim()) }
}

/** The appliance need not have a name: RFC 5321 section 4.1.3. */
function literalOf({ localAddress = '127.0.0.1' }: Socket): string {
  const address = localAddress.replace(/%.*$/, '')
  return isIP(address) === 6 ? `[IPv6:${address}]` : `[${address}]`
}

/** Returns what was sent, which no text may show. */
async function logIn(
  { smtp, extensions }: Session,
  { user, password }: NonNullable<MailJob['login']>,
): Promise<string[]> {
  const [, ...mechanisms] = (extensions.find((line) => /^AUTH[ =]/.test(line)) ?? '').split(/[ =]+/)
  const encode = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
  const secret = encode(password)
  const token = encode(Buffer.concat([Buffer.from(`\0${user}\0`), password]))
  let reply: SmtpReply
  if (mechanisms.includes('PLAIN')) reply = await smtp.command(`AUTH PLAIN ${token}`)
  else if (mechanisms.includes('LOGIN')) {
    reply = await smtp.command('AUTH LOGIN')
    if (reply.code === 334) reply = await smtp.command(encode(Buffer.from(user)))
    if (reply.code === 334) reply = await smtp.command(secret)
  } else throw new OutgoingError('it offers no way to log in that is known here (PLAIN, LOGIN)', true)
  if (reply.code !== 235) throw refusalOf('the user and the password', { ...reply, lines: [] })
  return [token, secret, new TextDecoder().decode(password)].filter((text) => text !== '')
}

async function transfer(smtp: SmtpConnection, job: MailJob, secrets: readonly string[]): Promise<MailAnswer> {
  const sender = await smtp.command(`MAIL FROM:<${job.from}>`)
  if (sender.code !== 250) throw refusalOf('MAIL', sender, secrets)
  let accepted = 0
  let refused = null
  for (const recipient of job.to) {
    const reply = await smtp.command(`RCPT TO:<${recipient}>`)
    if (reply.code === 250 || reply.code === 251) accepted++
    else refused ??= reply
  }
  if (accepted === 0 && refused !== null) throw refusalOf('RCPT', refused, secrets)
  const ready = await smtp.command('DATA')
  if (ready.code !== 354) throw refusalOf('DATA', ready, secrets)
  const taken = await smtp.send(stuffed(job.message))
  if (taken.code !== 250) throw refusalOf('the mail', taken, secrets)
  smtp.command('QUIT').catch(() => {}) // the mail is taken, whatever it says
  return { accepted, ...(refused !== null && { refusal: shown(refused, secrets) }) }
}

/** RFC 5321 section 4.5.2: a line that is a dot ends the mail. */
function stuffed(message: Uint8Array): Uint8Array {
  const text = Buffer.from(message)
    .toString('latin1')
    .replace(/\r?\n|\r/g, '\r\n')
    .replace(/^\./gm, '..')
  return Buffer.from(`${text.replace(/\r\n$/, '')}\r\n.\r\n`, 'latin1')
}
