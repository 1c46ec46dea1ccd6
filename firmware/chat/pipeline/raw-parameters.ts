/** Reads parameters from the query and from urlencoded or multipart bodies. Contract section 1.1. */

import { CofferError } from '../../base/error.ts'
import { BODY_BYTES_MAX, type BodyReader, tooLarge } from '../../http/request/body.ts'
import type { Terms } from '../../http/request/body-rate.ts'
import { mediaType } from '../../http/request/media.ts'
import { type ArrivingPart, readParts } from '../../http/request/multipart.ts'
import type { Held } from '../../http/request/reservations.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import { badRequest } from '../base/error.ts'

const PARAMETERS_MAX = 200 // PATCH /realm has a hundred
const PARTS_MAX = 210 // one client sends each parameter as a part

export interface Sent {
  /** The body overrides the query, and the last of repeated names counts. */
  values: Map<string, string>
  file: SentFile | undefined
  /** The raw body of an endpoint with `takesBody`, otherwise empty. */
  body: Uint8Array
}

interface BodyForm {
  /** 0 refuses files. */
  readonly fileBytesMax: number
  readonly isOpaque: boolean
}

/** Read `content` or call `whole`, once. */
export interface SentFile extends Pick<ArrivingPart, 'fileName' | 'content'> {
  /** Reads all of it into memory until the request ends. Throws `busy` beyond the memory bound. */
  whole(): Promise<Uint8Array>
}

const NOTHING = new Uint8Array()

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Throws `invalid` and errors of the reader. The body cannot be read after `use` has returned. */
export async function withSent<T>(
  reader: BodyReader,
  exchange: Exchange,
  query: string,
  { fileBytesMax, isOpaque }: BodyForm,
  terms: Terms,
  use: (sent: Sent) => Promise<T> | T,
): Promise<T> {
  const values = new Map<string, string>()
  take(values, query)
  if (exchange.method === 'GET' || exchange.method === 'HEAD') return use({ values, file: undefined, body: NOTHING })
  const contentType = exchange.header('content-type') ?? ''
  if (isOpaque)
    return use({ values, file: undefined, body: await reader.read(exchange.openBody(), BODY_BYTES_MAX, terms) })
  const type = mediaType(contentType)
  if (type === 'multipart/form-data') return withParts(reader, exchange, contentType, values, fileBytesMax, terms, use)
  const bytes = await reader.read(exchange.openBody(), BODY_BYTES_MAX, terms)
  if (type === 'application/x-www-form-urlencoded') take(values, decode(bytes))
  return use({ values, file: undefined, body: NOTHING })
}

async function withParts<T>(
  reader: BodyReader,
  exchange: Exchange,
  contentType: string,
  values: Map<string, string>,
  fileBytesMax: number,
  terms: Terms,
  use: (sent: Sent) => Promise<T> | T,
): Promise<T> {
  const bytesMax = BODY_BYTES_MAX + fileBytesMax
  // Refuse at once, before the client sends everything and the disk stores it.
  if (Number(exchange.header('content-length') ?? 0) > bytesMax) throw tooLarge(bytesMax)
  const upload = bounded(reader.stream(exchange.openBody, terms), bytesMax)
  const held = reader.hold(terms.user)
  try {
    const parts = readParts(upload, contentType, PARTS_MAX)
    for await (const { name, fileName, content } of parts) {
      if (fileName !== null && fileBytesMax > 0) {
        const file = onlyFile(bounded(content, fileBytesMax), parts)
        return await use({ values, file: { fileName, content: file, whole: () => whole(file, held) }, body: NOTHING })
      }
      const bytes = await whole(bounded(content, BODY_BYTES_MAX), held)
      if (fileName === null) set(values, name, decode(bytes))
    }
    return await use({ values, file: undefined, body: NOTHING })
  } finally {
    held.release()
  }
}

/** Throws at the end of the file if another one follows, before the file is stored. */
async function* onlyFile(
  content: AsyncIterable<Uint8Array>,
  others: AsyncIterable<ArrivingPart>,
): AsyncGenerator<Uint8Array, void> {
  yield* content
  for await (const { fileName } of others)
    if (fileName !== null) throw badRequest('You may only upload one file at a time')
}

async function* bounded(chunks: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array, void> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > bytesMax) throw tooLarge(bytesMax)
    yield chunk
  }
}

async function whole(content: AsyncIterable<Uint8Array>, held: Held): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of content) {
    held.add(piece.length)
    pieces.push(Uint8Array.from(piece))
  }
  return Buffer.concat(pieces)
}

function take(values: Map<string, string>, text: string): void {
  if (text === '') return
  for (const [name, value] of new URLSearchParams(text)) set(values, name, value)
}

function set(values: Map<string, string>, name: string, value: string): void {
  values.set(name, value)
  if (values.size > PARAMETERS_MAX) throw new CofferError('invalid', `More than ${PARAMETERS_MAX} parameters`)
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new CofferError('invalid', 'The request body is not UTF-8')
  }
}
