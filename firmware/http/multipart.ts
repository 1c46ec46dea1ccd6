/** multipart/form-data bodies that fit in memory. RFC 7578; contract sections 4.6 and 5 row 14. */

import { Busboy, type BusboyInstance } from '@fastify/busboy'
import { CofferError } from '../error.ts'
import type { Part } from './endpoint.ts'

const PARTS_MAX = 4 // two are expected; enough to say that there are too many
const PART_NAME_BYTES_MAX = 200
const PART_HEADERS_MAX = 16
const PART_HEADER_BYTES_MAX = 4096

/** The parts in order of arrival, as bytes whatever their type. Throws `invalid`. */
export async function parseMultipart(body: Uint8Array, contentType: string): Promise<Part[]> {
  const parts: Part[] = []
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const parser = createParser(contentType, body.length)
  parser.on('file', (name, stream) => {
    const chunks: Uint8Array[] = []
    const place = parts.length
    parts.push({ name: name ?? '', bytes: new Uint8Array() })
    stream.on('data', (chunk: Uint8Array) => chunks.push(chunk))
    stream.on('limit', () => reject(malformed()))
    stream.on('error', () => reject(malformed()))
    stream.on('end', () => {
      parts[place] = { name: name ?? '', bytes: new Uint8Array(Buffer.concat(chunks)) }
    })
  })
  parser.on('partsLimit', () => reject(new CofferError('invalid', 'The multipart body has too many parts')))
  parser.on('filesLimit', () => reject(new CofferError('invalid', 'The multipart body has too many parts')))
  parser.on('error', () => reject(malformed()))
  parser.on('finish', () => resolve())
  parser.end(body)
  await promise
  return parts
}

function createParser(contentType: string, bytesMax: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      isPartAFile: () => true, // as bytes: text of another charset must not be guessed at
      limits: {
        parts: PARTS_MAX,
        files: PARTS_MAX,
        fields: 0,
        fieldNameSize: PART_NAME_BYTES_MAX,
        headerPairs: PART_HEADERS_MAX,
        headerSize: PART_HEADER_BYTES_MAX,
        fileSize: bytesMax,
      },
    })
  } catch {
    throw malformed()
  }
}

const malformed = () => new CofferError('invalid', 'The multipart body is malformed')
