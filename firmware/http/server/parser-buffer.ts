/**
 * The buffer into which Node's HTTP parsers read, one for all connections of a thread. What came last stays in it, bodies
 * with passphrases and keys among them, and nobody gets at it to wipe it. Connections could be read as streams instead, into
 * buffers of their own: that costs an eighth of the signatures a second.
 */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'

const BODY_BYTES = 1024 * 1024 // of zeros: many times the buffer, which takes 64 KiB at once where so much is there to read

/** Has a request of zeros go through it, on a socket that has no place in the file system. */
export async function wipeParserBuffer(): Promise<void> {
  const path = `\0coffer ${randomBytes(16).toString('hex')}` // abstract, see unix(7)
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
