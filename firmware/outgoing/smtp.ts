/**
 * Commands and replies of SMTP on one connection: RFC 5321 section 4. Replies are texts of strangers: they are bounded, and what is shown
 * of them is printable ASCII without secrets.
 */

import type { Socket } from 'node:net'
import { OutgoingError } from './error.ts'

const LINE_CHARACTERS_MAX = 4096 // RFC 5321 section 4.5.3.1.5 has 512, which some servers exceed
const REPLY_LINES_MAX = 100
const SHOWN_CHARACTERS_MAX = 120 // a problem has 200 with the words around it

export interface SmtpReply {
  code: number
  /** Texts behind the code, one for each line. */
  lines: readonly string[]
}

export interface SmtpConnection {
  /** Reads the next reply. Throws `OutgoingError`, and errors of the socket. */
  reply(): Promise<SmtpReply>
  /** Sends a line and reads the reply. The line must have no line break. */
  command(line: string): Promise<SmtpReply>
  /** Sends bytes as they are and reads the reply. */
  send(bytes: Uint8Array): Promise<SmtpReply>
  /** Ends the use of the socket. Throws if anything has arrived that was not asked for: RFC 3207 section 5. */
  release(): void
}

export function createSmtpConnection(socket: Socket): SmtpConnection {
  let received = ''
  let failure: Error | null = null
  let wake = () => {}

  const onData = (piece: Buffer) => {
    received += piece.toString('latin1')
    if (received.length > LINE_CHARACTERS_MAX * REPLY_LINES_MAX) onError(tooLong())
    wake()
  }
  const onError = (error: Error) => {
    failure ??= error
    socket.pause()
    wake()
  }
  const onEnd = () => onError(new OutgoingError('it ended the connection', false))
  socket.on('data', onData).on('error', onError).on('end', onEnd).on('close', onEnd)

  async function line(): Promise<string> {
    for (;;) {
      const end = received.indexOf('\n')
      if (end > LINE_CHARACTERS_MAX || (end < 0 && received.length > LINE_CHARACTERS_MAX)) throw tooLong()
      if (end >= 0) {
        const text = received.slice(0, end).replace(/\r$/, '')
        received = received.slice(end + 1)
        return text
      }
      if (failure !== null) throw failure
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  async function reply(): Promise<SmtpReply> {
    const lines: string[] = []
    for (;;) {
      const [, code, separator, text = ''] = /^([2-5]\d\d)(?:([ -])(.*))?$/.exec(await line()) ?? []
      if (code === undefined) throw new OutgoingError('it does not speak SMTP', true)
      lines.push(text)
      if (separator !== '-') return { code: Number(code), lines }
      if (lines.length >= REPLY_LINES_MAX) throw tooLong()
    }
  }

  return {
    reply,
    command(text) {
      if (/[\r\n]/.test(text)) throw new Error('a command of SMTP has one line')
      socket.write(`${text}\r\n`)
      return reply()
    },
    send(bytes) {
      socket.write(bytes)
      return reply()
    },
    release() {
      socket.off('data', onData).off('error', onError).off('end', onEnd).off('close', onEnd)
      if (failure !== null) throw failure
      if (received !== '') throw new OutgoingError('it sent more than it was asked for before TLS', true)
    },
  }
}

const tooLong = () => new OutgoingError('its answer is too long', true)

/** `isFinal` after replies of 5yz: RFC 5321 section 4.2.1. */
export function refusalOf(what: string, reply: SmtpReply, secrets: readonly string[] = []): OutgoingError {
  return new OutgoingError(`it answered ${what} with ${shown(reply, secrets)}`, reply.code >= 500)
}

/** The text is left out if it repeats a secret. */
export function shown({ code, lines }: SmtpReply, secrets: readonly string[]): string {
  const text = lines.join(' ').slice(0, LINE_CHARACTERS_MAX)
  const isSecret = secrets.some((secret) => text.toLowerCase().includes(secret.toLowerCase()))
  const printable = text.replace(/[^ -~]/g, '').slice(0, SHOWN_CHARACTERS_MAX)
  return isSecret || printable === '' ? `${code}` : `${code} ${printable}`
}
