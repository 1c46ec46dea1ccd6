/** JSON for pages, smaller on slow lines. Contract section 1.2.1. */

import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Reply, StreamedReply } from '../../http/reply.ts'

const BYTES_MIN = 4096 // below it headers and the round trip cost more

const gzipInThread = promisify(gzip)

/** In zlib's threads, at the level that takes the least time. */
export async function compressed(
  reply: Reply | StreamedReply,
  acceptEncoding: string | undefined,
): Promise<Reply | StreamedReply> {
  const { headers, body } = reply
  const isJson = headers['content-type']?.startsWith('application/json')
  if (typeof body !== 'string' || !isJson || Buffer.byteLength(body) < BYTES_MIN || !accepts(acceptEncoding))
    return reply
  const bytes = Uint8Array.from(await gzipInThread(body, { level: constants.Z_BEST_SPEED }))
  const length = String(bytes.length)
  return {
    status: reply.status,
    headers: { ...headers, 'content-encoding': 'gzip', 'content-length': length, vary: 'accept-encoding' },
    body: bytes,
  }
}

/** RFC 9110 section 12.5.3: `q=0` is a refusal. */
const accepts = (acceptEncoding = ''): boolean =>
  acceptEncoding.split(',').some((part) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)\S+)?\s*$/i.test(part))
