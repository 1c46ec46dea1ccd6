/** Parses multipart/form-data as it arrives: RFC 7578, RFC 2046 section 5.1; contract sections 4.6 and 5 row 14. */

import { CofferError } from '../../base/error.ts'
import { newSecret, wipe } from '../../base/secret.ts'

const PARTS_MAX = 4 // the key service expects two; four are enough to report the excess
const PART_NAME_BYTES_MAX = 200
const FILE_NAME_BYTES_MAX = 1024 // longer than file systems allow
const PART_HEADER_BYTES_MAX = 4096
const BOUNDARY_MAX = 70 // RFC 2046 section 5.1.1

export interface Part {
  name: string
  bytes: Uint8Array
}

/** A part whose headers are read and whose content is not. */
export interface ArrivingPart {
  name: string
  /** The client's file name; null if the part is not a file. */
  fileName: string | null
  /** Read it before the next part; unread content is then skipped. */
  content: AsyncIterable<Uint8Array>
}

/** Yields parts in order of arrival. Throws `invalid` for malformed input or more than `partsMax` parts, and errors of `chunks`. */
export async function* readParts(
  chunks: AsyncIterable<Uint8Array>,
  contentType: string,
  partsMax = PARTS_MAX,
): AsyncGenerator<ArrivingPart, void> {
  const boundary = boundaryOf(contentType)
  // The line break after the first delimiter decides: some clients end lines with a bare LF.
  let lineBreak = '\n'
  let delimiter = Buffer.from(`${lineBreak}--${boundary}`)
  const source = chunks[Symbol.asyncIterator]()
  let held: Buffer = Buffer.from(lineBreak) // delimiters begin with a line break, which the first one may lack
  let delimited = false // true once the last content was read to its end

  const more = async (): Promise<void> => {
    const { done, value } = await source.next()
    if (done) throw malformed()
    hold(Buffer.concat([held, value]))
  }

  /** Replaces the unparsed bytes and wipes the old ones, which may be part of a key. */
  const hold = (bytes: Buffer): void => {
    wipe(held)
    held = bytes
  }

  /** Yields bytes up to the delimiter and consumes it. Holds back bytes that may begin one. */
  async function* upToDelimiter(): AsyncGenerator<Uint8Array, void> {
    delimited = false
    while (!delimited) {
      const at = held.indexOf(delimiter)
      const end = at === -1 ? held.length - delimiter.length + 1 : at
      if (end > 0) {
        const piece = held.subarray(0, end)
        held = held.subarray(end)
        yield piece
      }
      if (at === -1) await more()
      else {
        held = held.subarray(delimiter.length)
        delimited = true
      }
    }
  }

  const takeLine = async (mark: string, bytesMax: number): Promise<Buffer> => {
    for (;;) {
      const at = held.indexOf(mark)
      if (at > bytesMax || (at === -1 && held.length > bytesMax + mark.length)) throw malformed()
      if (at !== -1) {
        const line = held.subarray(0, at)
        held = held.subarray(at + mark.length)
        return line
      }
      await more()
    }
  }

  try {
    for await (const _preamble of upToDelimiter());
    for (let count = 0; ; count++) {
      while (held.length < 2) await more()
      if (held.toString('latin1', 0, 2) === '--') return // closing delimiter; an epilogue is ignored
      const rest = (await takeLine(lineBreak, PART_HEADER_BYTES_MAX)).toString('latin1')
      if (!(count === 0 ? /^[ \t]*\r?$/ : /^[ \t]*$/).test(rest)) throw malformed()
      if (count === 0 && rest.endsWith('\r')) {
        lineBreak = '\r\n'
        delimiter = Buffer.from(`${lineBreak}--${boundary}`)
      }
      if (count === partsMax) throw new CofferError('invalid', 'The multipart body has too many parts')
      hold(Buffer.concat([Buffer.from(lineBreak), held])) // a part without headers then ends like one with headers
      const headers = await takeLine(lineBreak + lineBreak, PART_HEADER_BYTES_MAX)
      delimited = false // the caller may never read the content
      yield { ...namesOf(headers), content: upToDelimiter() }
      if (!delimited) for await (const _rest of upToDelimiter());
    }
  } finally {
    wipe(held)
    await source.return?.()
  }
}

export async function parseMultipart(body: Uint8Array, contentType: string): Promise<Part[]> {
  const parts: Part[] = []
  async function* chunks() {
    yield body
  }
  for await (const { name, content } of readParts(chunks(), contentType)) {
    const pieces: Uint8Array[] = []
    for await (const piece of content) pieces.push(piece)
    parts.push({ name, bytes: whole(pieces) })
    wipe(...pieces)
  }
  return parts
}

function whole(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = newSecret(pieces.reduce((length, piece) => length + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

const PARAMETER = /;\s*([^=;\s]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;"]*))\s*/gy

/** Parameters of a header value, names in lower case. RFC 9110 section 5.6.6. */
function parametersOf(value: string): Map<string, string> {
  const parameters = new Map<string, string>()
  const start = value.indexOf(';')
  if (start === -1) return parameters
  PARAMETER.lastIndex = start
  for (let match = PARAMETER.exec(value); match !== null; match = PARAMETER.exec(value)) {
    const [, name = '', quoted, bare = ''] = match
    parameters.set(name.toLowerCase(), quoted === undefined ? bare.trim() : quoted.replace(/\\(.)/g, '$1'))
  }
  return parameters
}

function boundaryOf(contentType: string): string {
  const boundary = parametersOf(contentType).get('boundary') ?? ''
  if (boundary === '' || boundary.length > BOUNDARY_MAX) throw malformed()
  return boundary
}

/** Reads `content-disposition: form-data; name="..."; filename="..."`. */
function namesOf(headers: Buffer): { name: string; fileName: string | null } {
  for (const line of headers.toString('utf8').split(/\r?\n/)) {
    const disposition = /^content-disposition:\s*form-data\s*(?=;)(.*)$/i.exec(line)?.[1]
    if (disposition === undefined) continue
    const parameters = parametersOf(disposition)
    const name = parameters.get('name')
    if (name === undefined || Buffer.byteLength(name) > PART_NAME_BYTES_MAX) break
    const fileName = extended(parameters.get('filename*')) ?? parameters.get('filename') ?? null
    if (fileName !== null && Buffer.byteLength(fileName) > FILE_NAME_BYTES_MAX) break
    return { name, fileName }
  }
  throw malformed()
}

/** Decodes RFC 8187. RFC 7578 section 4.2 forbids this form, but Python clients send non-ASCII names in it. */
function extended(value: string | undefined): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(value ?? '')?.[1]
  if (encoded === undefined) return undefined
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}

const malformed = () => new CofferError('invalid', 'The multipart body is malformed')
