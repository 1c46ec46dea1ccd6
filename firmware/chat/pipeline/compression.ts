/** Compresses JSON answers. Contract section 1.9. */

import { promisify } from 'node:util'
import { constants, gzip, zstdCompress } from 'node:zlib'
import type { Reply, StreamedReply } from '../../http/reply.ts'

const BYTES_MIN = 4096 // below it headers and the round trip cost more

/** Both run in zlib's threads, at their fastest level. The first one that the client accepts is used. */
const CODINGS = [
  {
    name: 'zstd',
    encode: (body: string, chunkSize: number) =>
      encodeZstd(body, { chunkSize, params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  },
  {
    name: 'gzip',
    encode: (body: string, chunkSize: number) => encodeGzip(body, { chunkSize, level: constants.Z_BEST_SPEED }),
  },
] as const

/** Share of the length of the body: each full chunk takes a turn of the main thread, and JSON rarely stays longer. */
const CHUNK_SHARE = 1 / 2

const encodeZstd = promisify(zstdCompress)
const encodeGzip = promisify(gzip)

/**
 * Members that hold secrets; answers with them are not compressed. The length of a compressed answer tells how much of a secret equals
 * other text in it, which another user may have chosen (BREACH, CVE-2013-3587). Text inside a JSON string cannot match, because its quotes
 * are escaped.
 */
const SECRET = /"(?:(?:api_key|token|link_url|invite_link|export_url)":"[^"]|(?:config_data|storage)":\{")/

export async function compress(
  reply: Reply | StreamedReply,
  acceptEncoding: string | undefined,
): Promise<Reply | StreamedReply> {
  const { headers, body } = reply
  const isJson = headers['content-type']?.startsWith('application/json')
  if (typeof body !== 'string' || !isJson || acceptEncoding === undefined) return reply
  const coding = CODINGS.find(({ name }) => acceptsCoding(acceptEncoding, name))
  const bodyBytes = Number(headers['content-length'])
  if (coding === undefined || bodyBytes < BYTES_MIN || SECRET.test(body)) return reply
  const bytes = await coding.encode(body, Math.ceil(bodyBytes * CHUNK_SHARE))
  const length = String(bytes.length)
  return {
    status: reply.status,
    headers: { ...headers, 'content-encoding': coding.name, 'content-length': length, vary: 'accept-encoding' },
    body: bytes,
  }
}

/** RFC 9110 section 12.5.3: `q=0` refuses a coding. */
export const acceptsCoding = (acceptEncoding: string, name: string): boolean =>
  acceptEncoding.split(',').some((part) => {
    const [coding, quality] = part.split(';').map((piece) => piece.trim().toLowerCase())
    return coding === name && !/^q=0(?:\.0*)?$/.test(quality ?? '')
  })
