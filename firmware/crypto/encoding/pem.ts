/** PEM (RFC 7468). Private keys stay in byte arrays, since strings cannot be wiped. */

import { utf8ToBytes } from '@noble/hashes/utils.js'
import { CofferError } from '../../base/error.ts'
import { newSecret, wipe } from '../../base/secret.ts'

const LINE_CHARACTERS = 64
const PEM_BYTES_MAX = 256 * 1024 // the largest key takes 7 KB; leaves room for a certificate chain
const LINE_FEED = 0x0a
const EQUALS_SIGN = 0x3d

/** Wraps base64 at 64 columns and ends with LF. For public structures. */
export function encodePem(label: string, der: Uint8Array): string {
  const lines = Buffer.from(der.buffer, der.byteOffset, der.length)
    .toString('base64')
    .replace(new RegExp(`.{${LINE_CHARACTERS}}(?=.)`, 'g'), '$&\n')
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}

/** As `encodePem`, for private structures. Returns bytes, which the caller wipes. */
export function encodeSecretPem(label: string, der: Uint8Array): Uint8Array {
  const begin = utf8ToBytes(`-----BEGIN ${label}-----\n`)
  const end = utf8ToBytes(`-----END ${label}-----\n`)
  const digits = Math.ceil(der.length / 3) * 4
  const pem = new Uint8Array(begin.length + digits + Math.ceil(digits / LINE_CHARACTERS) + end.length)
  pem.set(begin)
  let at = begin.length
  for (let digit = 0; digit < digits; digit++) {
    const bit = digit * 6
    const byte = bit >> 3
    const pair = ((der[byte] ?? 0) << 8) | (der[byte + 1] ?? 0)
    pem[at++] = bit >= der.length * 8 ? EQUALS_SIGN : characterOf((pair >> (10 - (bit & 7))) & 63)
    if ((digit + 1) % LINE_CHARACTERS === 0 || digit + 1 === digits) pem[at++] = LINE_FEED
  }
  pem.set(end, at)
  return pem
}

/** The base64 of a text with one block, as `encodePem` writes it. */
export const base64InPem = (pem: string): string => pem.replace(/-----[^\n]*-----|\n/g, '')

interface PemBlock {
  label: string
  /** The bytes between the boundary lines, a view of the input. */
  body: Uint8Array
}

/** Splits PEM into blocks; ignores text around them and a byte order mark. Throws CofferError `invalid`. */
export function splitPem(pem: Uint8Array): PemBlock[] {
  if (pem.length > PEM_BYTES_MAX) throw new CofferError('invalid', `PEM: more than ${PEM_BYTES_MAX} bytes`)
  const blocks: PemBlock[] = []
  let open: { label: string; start: number } | undefined
  for (let start = beginsWithMark(pem) ? BYTE_ORDER_MARK.length : 0; start < pem.length; ) {
    const feed = pem.indexOf(LINE_FEED, start)
    const end = feed === -1 ? pem.length : feed
    const boundary = boundaryIn(pem.subarray(start, end))
    if (boundary !== undefined) {
      if (boundary.kind === 'BEGIN' && open === undefined) open = { label: boundary.label, start: end }
      else if (boundary.kind === 'END' && boundary.label === open?.label) {
        blocks.push({ label: open.label, body: pem.subarray(open.start, start) })
        open = undefined
      } else throw new CofferError('invalid', 'PEM: BEGIN and END lines do not match')
    }
    start = end + 1
  }
  if (open !== undefined) throw new CofferError('invalid', 'PEM: an END line is missing')
  return blocks
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] // written by editors on Windows

const beginsWithMark = (pem: Uint8Array): boolean => BYTE_ORDER_MARK.every((byte, at) => pem[at] === byte)

const BOUNDARY = /^-----(BEGIN|END) ([\x20-\x7e]{0,64}?)-----\s*$/
const DASH = 0x2d

function boundaryIn(line: Uint8Array): { kind: string; label: string } | undefined {
  if (line[0] !== DASH || line.length > 100) return undefined
  const match = BOUNDARY.exec(String.fromCharCode(...line))
  return match === null ? undefined : { kind: match[1]!, label: match[2]! }
}

/** Decodes the base64 of a block without creating a string. The caller wipes both arrays. Throws CofferError `invalid`. */
export function decodeBody(body: Uint8Array): Uint8Array {
  const bytes = newSecret(Math.ceil((body.length * 3) / 4))
  let length = 0
  let bits = 0
  let held = 0
  let padding = 0
  let digits = 0
  for (const character of body) {
    if (character === 0x20 || (character >= 0x09 && character <= 0x0d)) continue
    if (character === 0x3d) {
      padding++
      continue
    }
    const digit = digitOf(character)
    if (digit < 0 || padding > 0) return refuseBase64(bytes)
    digits++
    held = ((held << 6) | digit) & 0xffff
    bits += 6
    if (bits >= 8) {
      bits -= 8
      bytes[length++] = held >> bits
    }
  }
  if (digits % 4 === 1 || padding > 2 || (digits + padding) % 4 !== 0) return refuseBase64(bytes)
  return bytes.subarray(0, length)
}

function refuseBase64(bytes: Uint8Array): never {
  wipe(bytes)
  throw new CofferError('invalid', 'PEM: not base64')
}

/** Base64 digit of a value below 64; branch-free, as `digitOf`. */
function characterOf(value: number): number {
  const from = (first: number): number => (first - 1 - value) >> 31
  // A to Z; each term below corrects the offset for a later range.
  return (
    0x41 +
    value +
    (from(26) & (0x61 - 0x41 - 26)) +
    (from(52) & (0x30 - 0x61 - 26)) +
    (from(62) & (0x2b - 0x30 - 10)) +
    (from(63) & (0x2f - 0x2b - 1))
  )
}

/** Value of a base64 digit, or -1. Uses comparisons, since table lookups would leak the key through the cache. */
function digitOf(character: number): number {
  const inRange = (first: number, last: number): number => ((first - 1 - character) & (character - last - 1)) >> 31
  return (
    (inRange(0x41, 0x5a) & (character - 0x41 + 1)) +
    (inRange(0x61, 0x7a) & (character - 0x61 + 27)) +
    (inRange(0x30, 0x39) & (character - 0x30 + 53)) +
    (inRange(0x2b, 0x2b) & 63) +
    (inRange(0x2f, 0x2f) & 64) -
    1
  )
}
