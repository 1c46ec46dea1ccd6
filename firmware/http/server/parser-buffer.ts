/**
 * Memory of Node's HTTP parsers, which is not reachable from JavaScript. The buffer that all parsers of a thread share keeps the last data
 * read, including passphrases and keys. Reading connections as streams would avoid it, but costs an eighth of the signatures per second.
 */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { defined } from '../../base/defined.ts'

const BODY_BYTES = 1024 * 1024 // zeros, many times the 64 KiB buffer, so that a read fills it completely

/** Overwrites the buffer by sending a request of zeros through an abstract Unix socket. */
export async function wipeParserBuffer(): Promise<void> {
  const path = `\0coffer ${randomBytes(16).toString('hex')}` // abstract socket, see unix(7)
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end())
  })
  server.listen(path)
  await once(server, 'listening')
  const client = connect(path)
  try {
    client.write(`POST / HTTP/1.1\r\nhost: coffer\r\ncontent-length: ${BODY_BYTES}\r\nconnection: close\r\n\r\n`)
    client.write(new Uint8Array(BODY_BYTES))
    client.resume()
    await once(client, 'close')
  } finally {
    client.destroy()
    server.close()
  }
}

/**
 * Deletes each parser with its connection. A parser copies a head that comes in pieces and keeps the copy until it reads another one; Node
 * keeps parsers of ended connections for new ones.
 */
export function keepNoParsers(): void {
  const common = defined(process.getBuiltinModule('_http_common')) as { parsers: { max: number } }
  common.parsers.max = 0
}
