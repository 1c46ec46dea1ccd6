/** Writes answers to a socket directly if the HTTP parser fails before there is a request. RFC 9112 section 3. */

import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { jsonReply, type Reply } from '../reply.ts'

/** The client may still be sending. Closing at once would discard its answer. */
const LINGER_MS = 1000

/** Writes the answer, then closes. Further input is discarded for `LINGER_MS`. */
export function answerRaw(socket: Duplex, reply: Reply, commonHeaders: Readonly<Record<string, string>>): void {
  const headers = { ...commonHeaders, ...reply.headers, connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n${lines.join('')}\r\n`
  socket.removeAllListeners('data')
  socket.on('error', () => {}) // the client may have disconnected
  socket.resume()
  socket.end(Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(reply.body ?? '')]))
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

export interface ParserError extends Error {
  code?: string
  bytesParsed?: number
  rawPacket?: Uint8Array
}

export function parserErrorReply(error: ParserError): Reply | null {
  switch (error.code) {
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return null
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return jsonReply(408, { message: 'The request came too slowly' })
    case 'HPE_HEADER_OVERFLOW':
      return jsonReply(431, { message: 'The request headers are too large' })
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return jsonReply(413, { message: 'The chunk extensions are too large' })
    default:
      return jsonReply(400, { message: 'Not an HTTP/1.1 request' })
  }
}

const REQUEST_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+ (\/\S*) HTTP\/1\.[01]\r?\n/

/** The same bytes, not a copy: a head has credentials, and Node's shared memory for small buffers is never wiped. */
export const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/** Returns the target of a well-formed request line with an unknown method, else null. */
export function targetOfUnknownMethod({ code, bytesParsed = 0, rawPacket }: ParserError): string | null {
  if (code !== 'HPE_INVALID_METHOD' || rawPacket === undefined) return null
  const packet = viewOf(rawPacket).toString('latin1')
  const start = packet.lastIndexOf('\n', bytesParsed - 1) + 1
  return REQUEST_LINE.exec(bytesParsed === 0 ? packet : packet.slice(start))?.[1] ?? null
}
