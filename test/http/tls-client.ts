/** A client that writes exactly the bytes it is told to, over TLS, and reads answers one by one. */

import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'

export interface RawAnswer {
  status: number
  reason: string
  headers: Record<string, string>
  body: string
}

export class TlsClient {
  readonly socket: TLSSocket
  #received = Buffer.alloc(0)
  #ended = false
  #wake: () => void = () => {}

  constructor(socket: TLSSocket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#wake()
    })
    const ended = () => {
      this.#ended = true
      this.#wake()
    }
    socket.on('end', ended)
    socket.on('close', ended)
    socket.on('error', ended)
  }

  static async connect(port: number, options: ConnectionOptions = {}): Promise<TlsClient> {
    const socket = connect({
      host: '127.0.0.1',
      port,
      rejectUnauthorized: false,
      allowHalfOpen: true,
      ...options,
    } as ConnectionOptions)
    await once(socket, 'secureConnect')
    return new TlsClient(socket)
  }

  send(data: string | Uint8Array): void {
    this.socket.write(data)
  }

  /** The next answer, or null when the connection ends before one. `head`: it has no body whatever its length says. */
  async answer(head = false): Promise<RawAnswer | null> {
    for (;;) {
      const end = this.#received.indexOf('\r\n\r\n')
      if (end !== -1) {
        const [line = '', ...fields] = this.#received.subarray(0, end).toString('latin1').split('\r\n')
        const headers = Object.fromEntries(
          fields.map((field) => [
            field.slice(0, field.indexOf(':')).toLowerCase(),
            field.slice(field.indexOf(':') + 1).trim(),
          ]),
        )
        const length = head ? 0 : Number(headers['content-length'] ?? 0)
        if (this.#received.length >= end + 4 + length) {
          const body = this.#received.subarray(end + 4, end + 4 + length).toString()
          this.#received = this.#received.subarray(end + 4 + length)
          const [, status = '', reason = ''] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(line) ?? []
          return { status: Number(status), reason, headers, body }
        }
      }
      if (this.#ended) return null
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** Waits for the end of the connection; what came before it and was not read as an answer. */
  async end(): Promise<string> {
    while (!this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.#received.toString()
  }

  destroy(): void {
    this.socket.destroy()
  }
}

/** Connects as often as it is called. After the test the clients go first, then the listener closes. */
export function clientsOf(
  t: TestContext,
  listener: { readonly port: number; close(): Promise<void> },
): () => Promise<TlsClient> {
  const clients: TlsClient[] = []
  t.after(async () => {
    for (const client of clients) client.destroy()
    await listener.close()
  })
  return async () => {
    const made = await TlsClient.connect(listener.port)
    clients.push(made)
    return made
  }
}
