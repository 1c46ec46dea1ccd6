/** A client that writes exactly the bytes it is told to, over TLS, for what no HTTP client would send, and reads answers one by one. */

import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'

export interface RawAnswer {
  version: string
  status: number
  reason: string
  headers: Record<string, string>
  bytes: Buffer
  body: string
}

const ANSWERS_MS_MAX = 20_000

export class RawClient {
  readonly socket: TLSSocket
  readonly #openedMs = performance.now()
  /** Bytes not yet read as an answer. Joined when it is read: joining with each chunk takes a time that grows by the square. */
  #chunks: Buffer[] = []
  #endedMs: number | undefined
  readonly #waiting = new Set<() => void>()

  constructor(socket: TLSSocket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk)
      this.#wake()
    })
    for (const event of ['end', 'close', 'error'])
      socket.on(event, () => {
        this.#endedMs ??= performance.now()
        this.#wake()
      })
  }

  static async connect(
    { host = '127.0.0.1', port }: { host?: string; port: number },
    options: ConnectionOptions = {},
  ): Promise<RawClient> {
    // allowHalfOpen is missing from the types of tls.connect.
    const all = { host, port, rejectUnauthorized: false, allowHalfOpen: true, ...options }
    const socket = connect(all as ConnectionOptions)
    await once(socket, 'secureConnect')
    return new RawClient(socket)
  }

  /** Resolves when the system has taken the bytes. */
  send(bytes: string | Uint8Array): Promise<void> {
    return new Promise((done) => {
      if (this.socket.destroyed || this.socket.writableEnded) done()
      else this.socket.write(bytes, () => done())
    })
  }

  received(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0]!
  }

  /** The next answer, or null when the connection ends before one. `head`: it has no body whatever its length says. */
  async answer(head = false): Promise<RawAnswer | null> {
    for (;;) {
      const received = this.received()
      const answer = parseAnswer(received, head)
      if (answer !== null) {
        this.#chunks = [received.subarray(answer.length)]
        return answer
      }
      if (this.#endedMs !== undefined) return null
      await this.#news()
    }
  }

  /** The next `count` answers; rejects when the server closes before or time is over. */
  async answers(count: number, timeoutMs = ANSWERS_MS_MAX): Promise<RawAnswer[]> {
    const read = async () => {
      const answers: RawAnswer[] = []
      while (answers.length < count) {
        const answer = await this.answer()
        if (answer === null) {
          throw new Error(`closed after ${answers.length} of ${count} answers: ${this.received().toString('latin1')}`)
        }
        answers.push(answer)
      }
      return answers
    }
    return inTime(read(), timeoutMs, `${count} answers`)
  }

  /** Waits for the end of the connection; what came before it and was not read as an answer. */
  async end(): Promise<string> {
    while (this.#endedMs === undefined) await this.#news()
    return this.received().toString()
  }

  /** Resolves when the server has closed the connection, with the time it took; rejects after `timeoutMs`. */
  async closed(timeoutMs: number): Promise<number> {
    await inTime(this.end(), timeoutMs, 'end of the connection')
    return this.#endedMs! - this.#openedMs
  }

  destroy(): void {
    this.socket.destroy()
  }

  #news(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve))
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}

/** Connects as often as it is called. After the test the clients go first, then the listener closes. */
export function clientsOf(
  t: TestContext,
  listener: { readonly port: number; close(): Promise<void> },
): () => Promise<RawClient> {
  const clients: RawClient[] = []
  t.after(async () => {
    for (const client of clients) client.destroy()
    await listener.close()
  })
  return async () => {
    const made = await RawClient.connect(listener)
    clients.push(made)
    return made
  }
}

export function parseAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let rest = bytes; ; ) {
    const answer = parseAnswer(rest, false)
    if (answer === null) return answers
    answers.push(answer)
    rest = rest.subarray(answer.length)
  }
}

function parseAnswer(received: Buffer, head: boolean): (RawAnswer & { length: number }) | null {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return null
  const [line = '', ...fields] = received.subarray(0, end).toString('latin1').split('\r\n')
  const match = /^(HTTP\/1\.[01]) (\d{3}) ?(.*)$/.exec(line)
  if (!match) throw new Error(`not a status line: ${line}`)
  const headers: Record<string, string> = {}
  for (const field of fields) {
    const colon = field.indexOf(':')
    headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim()
  }
  if (headers['transfer-encoding'] !== undefined) throw new Error('a chunked answer')
  const status = Number(match[2])
  const start = end + 4
  const length = start + (head || status === 304 ? 0 : Number(headers['content-length'] ?? 0))
  if (received.length < length) return null
  const bytes = received.subarray(start, length)
  return { version: match[1]!, status, reason: match[3]!, headers, bytes, body: bytes.toString(), length }
}

function inTime<T>(done: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no ${what} within ${timeoutMs} ms`)), timeoutMs)
  return Promise.race([done, promise]).finally(() => clearTimeout(timer))
}
