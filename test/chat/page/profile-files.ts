/** Searches the files of a browser's profile for a text: in clear, in base64, and in what HTTP or a cache has compressed. */

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { brotliDecompressSync, constants, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib'

/** `FORM of FILE` of each place where the text is. */
export function findInProfile(profile: string, text: string): string[] {
  const forms = formsOf(text)
  const found: string[] = []
  for (const file of readdirSync(profile, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const path = join(file.parentPath, file.name)
    const content = readFileSync(path)
    for (const [coding, part] of [['', content] as const, ...partsOf(content)])
      for (const [form, bytes] of forms)
        if (part.includes(bytes)) found.push(`${coding}${form} of ${relative(profile, path)}`)
  }
  return found
}

/** In base64 without the characters that depend on the bytes before and after. */
function formsOf(text: string): [form: string, bytes: Buffer][] {
  const bytes = Buffer.from(text)
  const base64 = [0, 1, 2].map((shift): [string, Buffer] => {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    const end = Math.floor(((bytes.length + shift) * 4) / 3) - 1
    return ['base64', Buffer.from(shifted.slice(shift === 0 ? 0 : 4, end))]
  })
  return [['clear', bytes], ['utf16', Buffer.from(text, 'utf16le')], ...base64]
}

const PART_BYTES_MAX = 10_000_000
const GZIP_HEADER_BYTES = 10
const HIGHEST = { maxOutputLength: PART_BYTES_MAX }
const MAGICS: [coding: string, magic: number[], decode: (bytes: Buffer) => Buffer][] = [
  // Without optional fields, as servers write it. Node's gunzip refuses the bytes that a cache has behind it.
  [
    'gzip ',
    [0x1f, 0x8b, 0x08, 0x00],
    (bytes) => inflateRawSync(bytes.subarray(GZIP_HEADER_BYTES), { ...HIGHEST, finishFlush: constants.Z_SYNC_FLUSH }),
  ],
  ...[0x01, 0x5e, 0x9c, 0xda].map((level): (typeof MAGICS)[0] => [
    'zlib ',
    [0x78, level],
    (bytes) => inflateSync(bytes, { ...HIGHEST, finishFlush: constants.Z_SYNC_FLUSH }),
  ]),
  [
    'zstd ',
    [0x28, 0xb5, 0x2f, 0xfd],
    (bytes) => zstdDecompressSync(bytes, { ...HIGHEST, finishFlush: constants.ZSTD_e_flush }),
  ],
]

/** RFC 1952, 1950 and 8878 begin with a magic number; brotli has none, and is looked for where bodies are. */
function* partsOf(content: Buffer): Generator<[coding: string, part: Buffer]> {
  for (const [coding, magic, decode] of MAGICS) {
    const bytes = Buffer.from(magic)
    for (let at = content.indexOf(bytes); at !== -1; at = content.indexOf(bytes, at + 1))
      yield* decoded(coding, () => decode(content.subarray(at)))
  }
  const body = bodyOf(content)
  if (body === null) return
  const options = { ...HIGHEST, finishFlush: constants.BROTLI_OPERATION_FLUSH }
  yield* decoded('brotli ', () => brotliDecompressSync(body, options))
}

function* decoded(coding: string, decode: () => Buffer): Generator<[coding: string, part: Buffer]> {
  try {
    yield [coding, decode()]
  } catch {
    // other bytes that begin alike
  }
}

const ENTRY_MAGIC = 0xfcfb6d1ba7725c30n
const ENTRY_END = Buffer.from('d8410d97456ffaf4', 'hex')
const ENTRY_HEADER_BYTES = 24

/** Body of an answer in Chromium's HTTP cache: `net/disk_cache/simple/simple_entry_format.h`. */
function bodyOf(content: Buffer): Buffer | null {
  if (content.length < ENTRY_HEADER_BYTES || content.readBigUInt64LE(0) !== ENTRY_MAGIC) return null
  const start = ENTRY_HEADER_BYTES + content.readUInt32LE(12)
  const end = content.indexOf(ENTRY_END, start)
  return end === -1 ? content.subarray(start) : content.subarray(start, end)
}
